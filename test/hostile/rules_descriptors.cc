// rules_descriptors.cc - rules for chains of descriptors.
// Source: virtio 1.2 2.7.5; virtio 1.2 2.8.5; virtio 1.2 2.8.7. Units: bytes; entries.
#include <algorithm>
#include <cstring>

#include "test/hostile/rules.h"

namespace weir::hostile {
namespace {

constexpr std::uint64_t kFrameAt = Guest::kTablesAt + 0x1'0000;
constexpr std::uint32_t kEntryBytes = 16;

/// The chain's descriptors are those before the ring's next one.
Descriptor& split_descriptor(Guest& guest, unsigned back) {
    return guest.tx.descriptor(guest.tx.next() + guest.tx.size() - back);
}
PackedDescriptor& packed_descriptor(Guest& guest, unsigned back) {
    return guest.packed_tx.descriptor(guest.packed_tx.next() + guest.packed_tx.size() - back);
}

/// As many descriptors as the ring has, and the last one says that one more follows.
void endless(Offense& offense) {
    Virtqueue& ring = offense.guest.ring(Guest::kTransmit);
    while (ring.reap()) {
    }
    std::vector<Buffer> chain(ring.free(), offense.place());
    chain.back().flags = kNext;
    ring.add(chain);
}

constexpr Rule kDescriptorRules[] = {
    {"a buffer is in memory", "an address of no region", Layout::kEither, kTransmit, kNone,
     [](Offense& it) {
         it.add({{kNowhere, 112}});
     }},
    {"a buffer is in memory", "a second buffer of no region", Layout::kEither, kTransmit, kNone,
     [](Offense& it) {
         it.add({it.place(), {kNowhere, 112}});
     }},
    {"a buffer is in memory", "an end behind the last region", Layout::kEither, kTransmit, kNone,
     [](Offense& it) {
         it.add({{GuestMemory::kBytes - 50, 112}});
     }},
    {"a buffer is in memory", "address and length overflow", Layout::kEither, kTransmit, kNone,
     [](Offense& it) {
         it.add({{~0ULL - 50, 112}});
     }},
    {"a buffer is in memory", "address 0 and length 0", Layout::kEither, kTransmit, kNone,
     [](Offense& it) {
         it.add({{0, 0}});
     }},
    {"a buffer is in memory", "4 GiB - 1 byte", Layout::kEither, kTransmit, kNone,
     [](Offense& it) {
         it.add({{it.place().address, ~0U}});
     }},
    {"a chain has at most 2^32 bytes", "three buffers of 2 GiB", Layout::kEither, kTransmit, kNone,
     [](Offense& it) {
         const Buffer large{it.place().address, 1U << 31};
         it.add({large, large, large});
     }},
    {"a transmitted buffer is for reading", "a buffer for writing", Layout::kEither, kTransmit, kNone,
     [](Offense& it) {
         const Buffer frame = it.place();
         it.add({{frame.address, frame.bytes, kWrite}});
     }},
    {"buffers for reading come first", "one for writing before one for reading", Layout::kEither, kTransmit,
     kNone,
     [](Offense& it) {
         const Buffer frame = it.place();
         it.add({{frame.address, 12, kWrite}, {frame.address + 12, frame.bytes - 12}});
     }},
    {"a buffer is no part of a ring", "the ring itself as a frame", Layout::kEither, kTransmit, kNone,
     [](Offense& it) {
         it.add({{it.guest.ring(kTransmit).parts().descriptors.address, 112}});
     }},
    {"a chain has at most as many descriptors as the ring", "all of them and no end", Layout::kEither,
     kTransmit, kNone, endless},
    {"a chain has at most as many descriptors as the ring", "a table with one more", Layout::kEither,
     kTransmit, kNone, [](Offense& it) { it.add({it.table(Guest::kRingSize + 1)}); }},
    {"tables are negotiated", "a table without", Layout::kEither, kTransmit, mask(kIndirectDescriptors),
     [](Offense& it) { it.add({it.table(1)}); }},
    {"tables are not nested", "a table in a table", Layout::kEither, kTransmit, kNone,
     [](Offense& it) { it.add({it.table(2, kIndirect)}); }},
    {"a table is a chain's only descriptor", "one behind a table", Layout::kEither, kTransmit, kNone,
     [](Offense& it) {
         it.add({it.table(1), it.place()});
     }},
    {"a table is a chain's only descriptor", "two tables", Layout::kEither, kTransmit, kNone,
     [](Offense& it) {
         it.add({it.table(1), it.table(1)});
     }},
    {"a table has whole entries", "17 bytes", Layout::kEither, kTransmit, kNone,
     [](Offense& it) {
         const Buffer table = it.table(1);
         it.add({{table.address, kEntryBytes + 1, kIndirect}});
     }},
    {"a table has entries", "0 bytes", Layout::kEither, kTransmit, kNone,
     [](Offense& it) {
         it.add({{it.table(1).address, 0, kIndirect}});
     }},
    {"a table is in memory", "an address of no region", Layout::kEither, kTransmit, kNone,
     [](Offense& it) {
         it.add({{kNowhere, kEntryBytes, kIndirect}});
     }},
    {"a table is in memory", "the last entry behind the last region", Layout::kEither, kTransmit, kNone,
     [](Offense& it) {
         it.add({{GuestMemory::kBytes - kEntryBytes, 2 * kEntryBytes, kIndirect}});
     }},
    {"a table is for reading", "one for writing", Layout::kEither, kTransmit, kNone,
     [](Offense& it) {
         const Buffer table = it.table(1);
         it.add({{table.address, table.bytes, kIndirect | kWrite}});
     }},
    {"a table is aligned", "one byte off", Layout::kEither, kTransmit, kNone,
     [](Offense& it) {
         const Buffer table = it.table(1);
         std::uint8_t* bytes = it.guest.memory.at(table.address);
         std::memmove(bytes + 1, bytes, table.bytes);
         it.add({{table.address + 1, table.bytes, kIndirect}});
     }},
    {"the entries of a table end", "the last one goes back to the first", Layout::kSplit, kTransmit, kNone,
     [](Offense& it) {
         const Buffer table = it.table(2);
         auto* entries = it.guest.memory.as<Descriptor>(table.address);
         entries[1].flags = kNext;
         entries[1].next = 0;
         it.add({table});
     }},
    {"the entries of a table are in it", "the next one is behind it", Layout::kSplit, kTransmit, kNone,
     [](Offense& it) {
         const Buffer table = it.table(2);
         it.guest.memory.as<Descriptor>(table.address)[0].next = 2;
         it.add({table});
     }},
    {"the next descriptor is in the ring", "the one behind the last", Layout::kSplit, kTransmit, kNone,
     [](Offense& it) {
         it.add({it.place(), it.place()});
         split_descriptor(it.guest, 2).next = it.guest.tx.size();
     }},
    {"a chain does not loop", "a descriptor is its own next one", Layout::kSplit, kTransmit, kNone,
     [](Offense& it) {
         it.add({it.place(), it.place()});
         Descriptor& second = split_descriptor(it.guest, 1);
         second.flags = kNext;
         second.next = static_cast<std::uint16_t>(&second - &it.guest.tx.descriptor(0));
     }},
    {"a buffer's id is below the ring's size", "the size", Layout::kPacked, kTransmit, kNone,
     [](Offense& it) {
         it.add({it.place()});
         packed_descriptor(it.guest, 1).id = it.guest.packed_tx.size();
     }},
    {"a buffer's id is below the ring's size", "65,535", Layout::kPacked, kTransmit, kNone,
     [](Offense& it) {
         it.add({it.place()});
         packed_descriptor(it.guest, 1).id = 0xFFFF;
     }},
    {"buffers have different ids", "two have the same", Layout::kPacked, kTransmit, kNone,
     [](Offense& it) {
         it.add({it.place()});
         it.add({it.place()});
         packed_descriptor(it.guest, 1).id = packed_descriptor(it.guest, 2).id;
     }},
    {"ids go up in order", "they go down", Layout::kPacked, kTransmit, mask(kInOrder),
     [](Offense& it) {
         it.add({it.place()});
         it.add({it.place()});
         std::swap(packed_descriptor(it.guest, 1).id, packed_descriptor(it.guest, 2).id);
     }},
    {"a chain is whole when its first descriptor is available", "the second one is not yet", Layout::kPacked,
     kTransmit, kNone,
     [](Offense& it) {
         it.add({it.place(), it.place()});
         packed_descriptor(it.guest, 1).flags ^= kAvailable | kUsed;
     }},
    {"reserved bits of a descriptor are 0", "all are set", Layout::kEither, kTransmit, kNone,
     [](Offense& it) {
         const Buffer frame = it.place();
         it.add({{frame.address, frame.bytes, 0x7F78}});
     }},
};

}  // namespace

Buffer Offense::place(const FrameHeader& header) {
    std::memcpy(guest.memory.at(kFrameAt), &header, sizeof(header));
    std::copy(frame.begin(), frame.end(), guest.memory.at(kFrameAt) + sizeof(header));
    return {kFrameAt, static_cast<std::uint32_t>(sizeof(header) + frame.size())};
}

void Offense::add(std::initializer_list<Buffer> chain, std::uint32_t number) {
    Virtqueue& ring = guest.ring(number);
    while (number == Guest::kTransmit && ring.reap()) {
    }
    ring.add(std::span(chain.begin(), chain.size()));
}

Buffer Offense::table(std::uint16_t entries, std::uint16_t flags) {
    const Buffer whole = place();
    for (std::uint16_t i = 0; i < entries; ++i) {
        const auto next = static_cast<std::uint16_t>(i + 1);
        const auto all = static_cast<std::uint16_t>(flags | (next < entries ? kNext : 0U));
        if (guest.packed())
            guest.memory.as<PackedDescriptor>(Guest::kTablesAt)[i] = {whole.address, whole.bytes, 0, all};
        else
            guest.memory.as<Descriptor>(Guest::kTablesAt)[i] = {whole.address, whole.bytes, all, next};
    }
    return {Guest::kTablesAt, entries * kEntryBytes, kIndirect};
}

std::span<const Rule> descriptor_rules() {
    return kDescriptorRules;
}

}  // namespace weir::hostile
