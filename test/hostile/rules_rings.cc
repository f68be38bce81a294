// rules_rings.cc - rules for indices, entries and event indices, sizes and addresses of rings, and features.
// Source: virtio 1.2 2.2; virtio 1.2 2.7.6; virtio 1.2 2.7.8; virtio 1.2 2.8.10; vhost-user protocol. Units:
// entries.
#include "test/hostile/rules.h"

namespace weir::hostile {
namespace {

/// The avail index says `more` than before; every entry names a descriptor with the frame.
void claim(Offense& it, std::uint16_t more) {
    SplitRing& ring = it.guest.tx;
    const Buffer frame = it.place();
    for (std::uint16_t i = 0; i < ring.size(); ++i) {
        ring.descriptor(i) = {frame.address, frame.bytes, 0, 0};
        ring.avail_entry(i).store(i);
    }
    ring.avail_index().fetch_add(more);
}

/// The same in the receive ring, whose buffers are all free.
void claim_receive(Offense& it, std::uint16_t more) {
    it.guest.rx.avail_index().fetch_add(more);
}

void publish_entry(Offense& it, std::uint16_t head) {
    it.add({it.place()});
    it.guest.tx.avail_entry(it.guest.tx.avail_index().load() + 0xFFFFU).store(head);
}

/// A connection whose transmit ring is set up with this size.
void size_ring(Offense& it, std::uint32_t size) {
    Guest& guest = it.guest;
    if (!guest.frontend.reconnect() || !guest.negotiate(guest.features()) || !guest.send_memory())
        return;
    guest.frontend.send_ring(kSetVringNum, kTransmit, size);
    guest.set_up_ring(kReceive);
    guest.frontend.send_ring(kSetVringBase, kTransmit, guest.ring(kTransmit).base());
    guest.frontend.send(kSetVringAddr, guest.ring(kTransmit).addresses(kTransmit));
    guest.frontend.send_ring(kSetVringEnable, kTransmit, 1);
}

/// A connection whose transmit ring has these addresses.
void move_ring(Offense& it, std::uint64_t RingAddress::*part, std::uint64_t to, bool relative = true) {
    Guest& guest = it.guest;
    if (!guest.frontend.reconnect() || !guest.negotiate(guest.features()) || !guest.send_memory())
        return;
    guest.set_up_ring(kReceive);
    guest.set_up_ring(kTransmit);
    RingAddress address = guest.ring(kTransmit).addresses(kTransmit);
    address.*part = relative ? address.*part + to : to;
    guest.frontend.send(kSetVringAddr, address);
}

constexpr Rule kRingRules[] = {
    {"the avail index grows by the chains added", "by the ring's size and one", Layout::kSplit, kTransmit,
     kNone, [](Offense& it) { claim(it, Guest::kRingSize + 1); }},
    {"the avail index grows by the chains added", "by 30,000", Layout::kSplit, kTransmit, kNone,
     [](Offense& it) { claim(it, 30'000); }},
    {"the avail index does not go back", "it goes back by 1", Layout::kSplit, kTransmit, kNone,
     [](Offense& it) { claim(it, 0xFFFF); }},
    {"the avail index does not go back", "it goes back by 36", Layout::kSplit, kTransmit, kNone,
     [](Offense& it) { claim(it, 65'500); }},
    {"the avail index grows by the chains added", "by the ring's size, on receive", Layout::kSplit, kReceive,
     kNone, [](Offense& it) { claim_receive(it, Guest::kRingSize); }},
    {"the avail index does not go back", "by 300, on receive", Layout::kSplit, kReceive, kNone,
     [](Offense& it) { claim_receive(it, 0x1'0000 - 300); }},
    {"an avail entry is a descriptor of the ring", "the size", Layout::kSplit, kTransmit, kNone,
     [](Offense& it) { publish_entry(it, Guest::kRingSize); }},
    {"an avail entry is a descriptor of the ring", "65,535", Layout::kSplit, kTransmit, kNone,
     [](Offense& it) { publish_entry(it, 0xFFFF); }},
    {"a chain is available once", "one of them twice", Layout::kSplit, kTransmit, kNone,
     [](Offense& it) {
         it.add({it.place()});
         it.guest.tx.publish(it.guest.tx.avail_entry(it.guest.tx.avail_index().load() + 0xFFFFU).load());
     }},
    {"reserved bits of the avail flags are 0", "all are set", Layout::kSplit, kTransmit, kNone,
     [](Offense& it) {
         *it.guest.memory.as<std::uint16_t>(it.guest.tx.parts().driver.address) = 0xFFFF;
         it.add({it.place()});
     }},
    {"a driver does not write the used ring", "the index", Layout::kSplit, kTransmit, kNone,
     [](Offense& it) {
         it.guest.tx.used_index().fetch_add(3);
         it.add({it.place()});
     }},
    {"a driver does not write the used ring", "the flags", Layout::kSplit, kTransmit, kNone,
     [](Offense& it) {
         it.guest.tx.used_flags().store(0xFFFF);
         it.add({it.place()});
     }},
    {"a driver does not write the used ring", "an entry", Layout::kSplit, kTransmit, kNone,
     [](Offense& it) {
         it.guest.tx.used_element(it.guest.tx.used_index().load()) = {0xFFFF'FFFF, 0xFFFF'FFFF};
         it.add({it.place()});
     }},
    {"an event index is in the ring", "65,535", Layout::kSplit, kTransmit, mask(kEventIndex),
     [](Offense& it) {
         it.guest.tx.unmute();
         it.guest.tx.used_event().store(0xFFFF);
         it.add({it.place()});
     }},
    {"an event index is in the ring", "the size", Layout::kPacked, kTransmit, mask(kEventIndex),
     [](Offense& it) {
         it.guest.packed_tx.ask_events(Guest::kRingSize, PackedRing::kEventsAt);
         it.add({it.place()});
     }},
    {"event flags are 0 to 2", "3, with all reserved bits", Layout::kPacked, kTransmit, mask(kEventIndex),
     [](Offense& it) {
         it.guest.packed_tx.ask_events(0xFFFF, 0xFFFF);
         it.add({it.place()});
     }},
    {"events at an index are negotiated", "flags of 2 without", Layout::kPacked, kTransmit, kNone,
     [](Offense& it) {
         it.guest.packed_tx.ask_events(0, PackedRing::kEventsAt);
         it.add({it.place()});
     }},
    {"a ring's size is a power of two", "100", Layout::kSplit, kTransmit, kNone,
     [](Offense& it) { size_ring(it, 100); }, Way::kConnection},
    {"a ring has entries", "none", Layout::kEither, kTransmit, kNone, [](Offense& it) { size_ring(it, 0); },
     Way::kConnection},
    {"a ring has at most 32,768 entries", "65,536", Layout::kEither, kTransmit, kNone,
     [](Offense& it) { size_ring(it, 65'536); }, Way::kConnection},
    {"descriptors are aligned", "by 1 byte", Layout::kEither, kTransmit, kNone,
     [](Offense& it) { move_ring(it, &RingAddress::descriptors, 1); }, Way::kConnection},
    {"the driver's part is aligned", "by 1 byte", Layout::kEither, kTransmit, kNone,
     [](Offense& it) { move_ring(it, &RingAddress::avail, 1); }, Way::kConnection},
    {"the device's part is aligned", "by 1 byte", Layout::kEither, kTransmit, kNone,
     [](Offense& it) { move_ring(it, &RingAddress::used, 1); }, Way::kConnection},
    {"a ring is in memory", "descriptors at 0", Layout::kEither, kTransmit, kNone,
     [](Offense& it) { move_ring(it, &RingAddress::descriptors, 0, false); }, Way::kConnection},
    {"a ring is in memory", "the device's part 64 bytes before its end", Layout::kSplit, kTransmit, kNone,
     [](Offense& it) {
         move_ring(it, &RingAddress::used, GuestMemory::kUserBase + GuestMemory::kBytes - 64, false);
     },
     Way::kConnection},
    {"a ring's parts do not overlap", "the device's part in the descriptors", Layout::kEither, kTransmit,
     kNone,
     [](Offense& it) {
         move_ring(it, &RingAddress::used, it.guest.ring(kTransmit).addresses(kTransmit).descriptors, false);
     },
     Way::kConnection},
    {"features are among those that were offered", "segmentation of TCP over IPv6", Layout::kEither,
     kTransmit, mask(kHostTso6),
     [](Offense& it) {
         it.guest.frontend.reconnect();
         it.guest.frontend.send(kSetFeatures, it.guest.features() | mask(kHostTso6));
     },
     Way::kConnection},
    {"features do not change under traffic", "mergeable buffers come", Layout::kEither, kTransmit, kNone,
     [](Offense& it) { it.guest.frontend.send(kSetFeatures, it.guest.features() ^ mask(kMergeable)); },
     Way::kMessage},
};

}  // namespace

std::span<const Rule> ring_rules() {
    return kRingRules;
}

}  // namespace weir::hostile
