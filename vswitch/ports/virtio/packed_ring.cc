// packed_ring.cc - places, chains of several descriptors, returns and notifications.
#include "vswitch/ports/virtio/packed_ring.h"

#include <algorithm>
#include <atomic>

namespace weir::virtio {
namespace {

// Wishes of driver and device about notifications.
constexpr std::uint16_t kAlways = 0;
constexpr std::uint16_t kNever = 1;
constexpr std::uint16_t kAtPosition = 2;
constexpr std::uint16_t kWishMask = 3;
constexpr std::uint64_t kEventsBytes = 2 * sizeof(std::uint16_t);

}  // namespace

bool PackedRing::place(const RingPlace& at, const GuestMemory& memory) {
    if (at.size == 0 || at.size > kRingSizeMax || (at.avail & Position::kIndexMask) >= at.size ||
        (at.used & Position::kIndexMask) >= at.size ||
        !memory.holds(at.descriptors, at.size * sizeof(PackedDescriptor), kDescriptorsAlignment) ||
        !memory.holds(at.driver_area, kEventsBytes, alignof(std::uint16_t)) ||
        !memory.holds(at.device_area, kEventsBytes, alignof(std::uint16_t)))
        return false;
    *this = PackedRing();
    descriptors_ = static_cast<PackedDescriptor*>(at.descriptors);
    driver_events_ = static_cast<std::uint16_t*>(at.driver_area);
    device_events_ = static_cast<std::uint16_t*>(at.device_area);
    size_ = at.size;
    avail_.set(at.avail);
    used_.set(at.used);
    shown_ = used_;
    guest_address_ = at.guest_address;
    noted_ = at.noted;
    if (noted_ != nullptr)
        device_events_[0] = kServed;
    event_index_ = at.event_index;
    indirect_ = at.indirect;
    return true;
}

/// Counts the descriptors of a chain of several, and finds its id, which is in the last one. All of them are
/// available when the first one is. @return false when it does not end within the rest of the ring, or is
/// longer than any frame's
bool PackedRing::measure(Chain& chain) {
    Position at = avail_;
    const auto most = static_cast<std::uint16_t>(std::min(std::size_t{size_} - taken_, Pieces::kMost));
    for (std::uint16_t count = 1; count <= most; ++count) {
        const PackedDescriptor one = read(&descriptors_[at.index]);
        if ((one.flags & descriptor_flag::kNext) == 0) {
            chain.id = one.id;
            chain.descriptors = count;
            return true;
        }
        at.add(1, size_);
    }
    if (taken_ == 0 || most == Pieces::kMost)
        fault_ = RingFault::kChain;
    return false;
}

bool PackedRing::collect_table(const PackedDescriptor& one, std::uint16_t direction,
                               const GuestMemory& memory, Pieces& pieces) const {
    using namespace descriptor_flag;
    const std::uint32_t entries = one.bytes / sizeof(PackedDescriptor);
    const auto* table = reinterpret_cast<const PackedDescriptor*>(memory.find(one.address, one.bytes));
    if (!indirect_ || one.bytes % sizeof(PackedDescriptor) != 0 || entries == 0 || entries > size_ ||
        table == nullptr)
        return false;
    for (std::uint32_t i = 0; i < entries; ++i) {
        const PackedDescriptor entry = read(&table[i]);
        if (!pieces.walk() || (entry.flags & (kWrite | kIndirect)) != direction ||
            !memory.collect(entry.address, entry.bytes, pieces))
            return false;
    }
    return true;
}

bool PackedRing::collect(Chain& chain, std::uint16_t direction, const GuestMemory& memory,
                         Pieces& pieces) const {
    using namespace descriptor_flag;
    Position at = avail_;
    for (std::uint16_t i = 0; i < chain.descriptors; ++i) {
        const PackedDescriptor one = read(&descriptors_[at.index]);
        if ((one.flags & kIndirect) != 0) {
            if (chain.descriptors != 1)  // never together with `next`
                return false;
            return collect_table(one, direction, memory, pieces);
        }
        if (!pieces.walk() || (one.flags & kWrite) != direction ||
            !memory.collect(one.address, one.bytes, pieces))
            return false;
        at.add(1, size_);
    }
    return true;
}

void PackedRing::announce(const Chain& chain, std::uint32_t bytes) {
    if (noted_ == nullptr)
        return;
    const Position at = announced_ == 0 ? used_ : announced_to_;
    announced_to_ = at;
    announced_to_.add(chain.descriptors, size_);
    noted_->used[std::size_t{used_count_} + announced_++] = {at.word(), announced_to_.word(), chain.id,
                                                             bytes};
}

void PackedRing::commit() {
    if (noted_ != nullptr)
        noted_->commit(shown_.word(), std::size_t{used_count_} + announced_);
}

/// The driver looks at descriptors in order: the first one of a burst is marked last, in publish().
void PackedRing::use(const Chain& chain, std::uint32_t bytes) {
    if (announced_ == 0) {
        announce(chain, bytes);
        commit();
    }
    announced_ = static_cast<std::uint16_t>(announced_ - (noted_ != nullptr));
    const Position at = used_;
    used_.add(chain.descriptors, size_);
    PackedDescriptor& slot = descriptors_[at.index];
    slot.id = chain.id;
    slot.bytes = bytes;
    const std::uint16_t flags = used_flags(at.wrap, bytes);
    if (used_count_++ == 0)
        first_flags_ = flags;
    else
        __atomic_store_n(&slot.flags, flags, __ATOMIC_RELEASE);
}

bool PackedRing::publish() {
    if (used_count_ == 0)
        return false;
    const Position before = shown_;
    shown_ = used_;
    used_count_ = 0;
    __atomic_store_n(&descriptors_[before.index].flags, first_flags_, __ATOMIC_RELEASE);
    if (noted_ != nullptr)
        noted_->settle(used_.word());
    return wants_notification(before);
}

void PackedRing::wish_kicks(bool wished) {
    __atomic_store_n(&device_events_[1], wished ? kAlways : kNever, __ATOMIC_RELAXED);
    if (wished)
        std::atomic_thread_fence(std::memory_order_seq_cst);
}

bool PackedRing::wants_notification(const Position& before) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (!asked_) {  // a device before this one may have shown chains without a signal
        asked_ = true;
        return true;
    }
    const auto wish = static_cast<std::uint16_t>(load<__ATOMIC_RELAXED>(&driver_events_[1]) & kWishMask);
    if (wish != kAtPosition || !event_index_)
        return wish != kNever;
    Position wanted;
    wanted.set(load<__ATOMIC_RELAXED>(&driver_events_[0]));
    // All three as positions on a line that grows: one with the other wrap counter is one ring behind.
    const int end = used_.index;
    const int begin = before.index - (before.wrap != used_.wrap ? size_ : 0);
    const int event = wanted.index - (wanted.wrap != used_.wrap ? size_ : 0);
    return begin <= event && event < end;
}

}  // namespace weir::virtio
