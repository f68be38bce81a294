// split_ring.h - the device's side of a split virtqueue, which no contents of guest memory lead outside.
// Source: virtio 1.2 2.7. Units: entries; bytes. Threads: built by vhost's control thread; then the owning
// worker.
//
// Order of calls for a burst: ready(), then for each chain peek() and collect(), use(), and at the end
// publish(): its result is whether the driver wants a notification. The driver sees no used chain before
// publish().
#pragma once

#include <cstdint>
#include <optional>

#include "common/prefetch.h"
#include "vswitch/ports/virtio/chain.h"
#include "vswitch/ports/virtio/guest_memory.h"
#include "vswitch/ports/virtio/layout.h"
#include "vswitch/ports/virtio/ring_fault.h"
#include "vswitch/ports/virtio/ring_watch.h"

namespace weir::virtio {

class SplitRing {
  public:
    static constexpr bool kCountsReady = true;  ///< ready() is the number of chains that there are
    static constexpr std::uint64_t kIndexOffset = sizeof(std::uint16_t);  ///< of the index in the used ring

    SplitRing() = default;
    /// @return false when it does not lie in the guest's memory, or its size is no power of two up to 32,768
    [[nodiscard]] bool place(const RingPlace& at, const GuestMemory& memory);

    [[nodiscard]] std::uint16_t size() const { return size_; }
    [[nodiscard]] RingFault fault() const { return fault_; }
    void stop(RingFault why) { fault_ = why; }
    /// For the library, and for the next place().
    [[nodiscard]] std::uint16_t avail() const { return avail_; }
    [[nodiscard]] std::uint16_t used() const { return used_; }
    /// `used` at the last publish(); the driver's index.
    [[nodiscard]] std::uint16_t shown() const { return used_; }

    /// Chains that may be read, at most `most`; 0 also for a ring that is stopped.
    [[nodiscard]] std::uint16_t ready(std::uint16_t most) {
        const auto claimed = static_cast<std::uint16_t>(load<__ATOMIC_ACQUIRE>(&avail_ring_[1]) - avail_);
        if (claimed > size_ || fault_ != RingFault::kNone) [[unlikely]]
            return refuse_claim();
        return claimed < most ? claimed : most;
    }
    /// Chains that may be there of those that ready() gave: all.
    [[nodiscard]] static std::uint16_t bound(std::uint16_t ready) { return ready; }
    /// The next chain; one was ready. @return false when the ring has to stop
    [[nodiscard]] bool peek(Chain& chain) {
        const std::uint16_t head = load<__ATOMIC_RELAXED>(&avail_ring_[2 + (avail_ & mask_)]);
        if (head >= size_) [[unlikely]] {
            fault_ = RingFault::kHead;
            return false;
        }
        const Descriptor first = read(&descriptors_[head]);
        chain = {head, 1, first.flags, first.bytes, first.address};
        return true;
    }
    /// To be looked at while no chain is ready; none: there is one.
    [[nodiscard]] std::optional<RingWatch> watch() const {
        const RingWatch index{&avail_ring_[1], 0xFFFF, avail_};
        return index.changed() ? std::nullopt : std::optional(index);
    }
    /// Whether the driver is to kick when it makes the next chain available. A driver with an event index
    /// kicks at one position: there is nothing to take back.
    void wish_kicks(bool wished);
    /// Before a burst of `count` chains that are ready: the lines of their first descriptors, and those of
    /// their used elements. Drivers use most descriptors in the table's order, so that one chain in four
    /// stands for its line.
    void prefetch_chains(std::uint16_t count) const {
        for (std::uint32_t i = 0; i < count; i += kCacheLineBytes / sizeof(Descriptor)) {
            const std::uint16_t* head = &avail_ring_[2 + ((avail_ + i) & mask_)];
            __builtin_prefetch(&descriptors_[load<__ATOMIC_RELAXED>(head) & mask_]);
        }
        for (std::uint32_t i = 0; i < count; i += kCacheLineBytes / sizeof(UsedElement))
            prefetch_for_write(&used_elements_[(used_ + i) & mask_]);
    }
    /// The parts of the next chain, each found by the one before; a lie of the driver brings nothing else.
    void prefetch_index() const {
        __builtin_prefetch(&avail_ring_[1]);
        __builtin_prefetch(&avail_ring_[2 + (avail_ & mask_)]);
        prefetch_for_write(&used_elements_[used_ & mask_]);
    }
    void prefetch_descriptor() const {
        __builtin_prefetch(&descriptors_[load<__ATOMIC_RELAXED>(&avail_ring_[2 + (avail_ & mask_)]) & mask_]);
    }
    void prefetch_buffer(const GuestMemory& memory, std::uint32_t header_bytes) const {
        const std::uint16_t head = load<__ATOMIC_RELAXED>(&avail_ring_[2 + (avail_ & mask_)]) & mask_;
        prefetch_receive_buffer(memory.find(read(&descriptors_[head]).address, header_bytes + 1),
                                header_bytes);
    }
    /// Goes on behind a chain.
    void advance(const Chain&) { ++avail_; }
    /// Goes back behind chains of which nothing was used, the last one first.
    void retreat(const Chain&) { --avail_; }
    /// The buffers of the chain, added to `pieces`. @param direction descriptor_flag::kWrite or 0
    /// @return false when it breaks a rule
    [[nodiscard]] bool collect(Chain& chain, std::uint16_t direction, const GuestMemory& memory,
                               Pieces& pieces) const;
    /// Returns a chain to the driver, of which `bytes` were written.
    void use(const Chain& chain, std::uint32_t bytes) {
        UsedElement& element = used_elements_[used_ & mask_];
        element.head = chain.id;
        element.bytes = bytes;
        ++used_;
    }
    /// Shows the driver the used chains. @return whether the driver wants a notification
    [[nodiscard]] bool publish() {
        __atomic_store_n(&used_ring_[1], used_, __ATOMIC_RELEASE);
        return wants_notification();
    }
    [[nodiscard]] bool has_to_publish() const { return false; }
    // The used index says how far the driver may look: nothing else is noted.
    void announce(const Chain&, std::uint32_t) {}
    void commit() {}
    /// Bytes of the used ring from its begin to the element of `used`, and of an element, for the log.
    [[nodiscard]] std::uint64_t used_offset(std::uint16_t used) const {
        return 2 * sizeof(std::uint16_t) +
               std::uint64_t{static_cast<std::uint16_t>(used & mask_)} * sizeof(UsedElement);
    }

  private:
    std::uint16_t refuse_claim();
    [[nodiscard]] bool wants_notification();

    Descriptor* descriptors_ = nullptr;
    std::uint16_t* avail_ring_ = nullptr;  ///< flags, index, entries, used_event
    std::uint16_t* used_ring_ = nullptr;   ///< flags, index, elements, avail_event
    UsedElement* used_elements_ = nullptr;
    std::uint16_t* avail_event_ = nullptr;  ///< there with an event index only
    std::uint16_t size_ = 0;
    std::uint16_t mask_ = 0;
    std::uint16_t avail_ = 0;
    std::uint16_t used_ = 0;
    std::uint16_t notified_ = 0;  ///< `used` when the driver was asked last
    bool event_index_ = false;
    bool indirect_ = false;
    bool asked_ = false;
    RingFault fault_ = RingFault::kNone;
};

}  // namespace weir::virtio
