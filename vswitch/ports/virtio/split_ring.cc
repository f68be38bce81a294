// split_ring.cc - places, chains of several descriptors and notifications.
#include "vswitch/ports/virtio/split_ring.h"

#include <atomic>
#include <bit>

namespace weir::virtio {
namespace {

constexpr std::uint16_t kNoInterrupt = 1;  // flag of the avail ring
constexpr std::uint16_t kNoKick = 1;       // flag of the used ring

}  // namespace

bool SplitRing::place(const RingPlace& at, const GuestMemory& memory) {
    const std::uint64_t events = at.event_index ? sizeof(std::uint16_t) : 0;
    if (at.size == 0 || at.size > kRingSizeMax || !std::has_single_bit(at.size) ||
        !memory.holds(at.descriptors, at.size * sizeof(Descriptor), kDescriptorsAlignment) ||
        !memory.holds(at.driver_area, (2 + std::uint64_t{at.size}) * sizeof(std::uint16_t) + events,
                      alignof(std::uint16_t)) ||
        !memory.holds(at.device_area, 2 * sizeof(std::uint16_t) + at.size * sizeof(UsedElement) + events,
                      alignof(UsedElement)))
        return false;
    *this = SplitRing();
    descriptors_ = static_cast<Descriptor*>(at.descriptors);
    avail_ring_ = static_cast<std::uint16_t*>(at.driver_area);
    used_ring_ = static_cast<std::uint16_t*>(at.device_area);
    used_elements_ = reinterpret_cast<UsedElement*>(used_ring_ + 2);
    avail_event_ = reinterpret_cast<std::uint16_t*>(used_elements_ + at.size);
    size_ = at.size;
    mask_ = static_cast<std::uint16_t>(at.size - 1);
    avail_ = at.avail;
    used_ = at.used;
    event_index_ = at.event_index;
    indirect_ = at.indirect;
    return true;
}

std::uint16_t SplitRing::refuse_claim() {
    if (fault_ == RingFault::kNone)
        fault_ = RingFault::kIndex;
    return 0;
}

bool SplitRing::collect(Chain& chain, std::uint16_t direction, const GuestMemory& memory,
                        Pieces& pieces) const {
    using namespace descriptor_flag;
    Descriptor one{chain.address, chain.bytes, chain.flags, 0};
    const Descriptor* table = descriptors_;
    std::uint32_t entries = size_;
    if ((one.flags & kIndirect) != 0) {
        entries = one.bytes / sizeof(Descriptor);
        table = reinterpret_cast<const Descriptor*>(memory.find(one.address, one.bytes));
        if (!indirect_ || (one.flags & kNext) != 0 || one.bytes % sizeof(Descriptor) != 0 || entries == 0 ||
            entries > size_ || table == nullptr)
            return false;
        one = read(table);
    } else if ((one.flags & kNext) != 0) {
        one = read(&table[chain.id]);
    }
    for (std::uint32_t seen = 1;; ++seen) {
        if (!pieces.walk() || (one.flags & kWrite) != direction || (one.flags & kIndirect) != 0 ||
            !memory.collect(one.address, one.bytes, pieces))
            return false;
        if ((one.flags & kNext) == 0)
            return true;
        if (one.next >= entries || seen == entries)
            return false;
        one = read(&table[one.next]);
    }
}

/// The driver reads the wish after it has written the avail index, and the caller looks at the index after
/// this.
void SplitRing::wish_kicks(bool wished) {
    if (!event_index_)
        __atomic_store_n(&used_ring_[0], wished ? std::uint16_t{0} : kNoKick, __ATOMIC_RELAXED);
    else if (wished)
        __atomic_store_n(avail_event_, avail_, __ATOMIC_RELAXED);
    if (wished)
        std::atomic_thread_fence(std::memory_order_seq_cst);
}

/// The driver's wish is read after the used index is written, and the driver looks at the index after it
/// wrote the wish: one of the two sees the other.
bool SplitRing::wants_notification() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (!event_index_)
        return (load<__ATOMIC_RELAXED>(&avail_ring_[0]) & kNoInterrupt) == 0;
    const std::uint16_t event = load<__ATOMIC_RELAXED>(&avail_ring_[2 + size_]);
    const std::uint16_t before = notified_;
    notified_ = used_;
    if (!asked_) {
        asked_ = true;
        return true;
    }
    return static_cast<std::uint16_t>(used_ - event - 1) < static_cast<std::uint16_t>(used_ - before);
}

}  // namespace weir::virtio
