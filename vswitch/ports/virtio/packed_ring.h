// packed_ring.h - the device's side of a packed virtqueue, which no contents of guest memory lead outside.
// Source: virtio 1.2 2.8. Units: entries; bytes. Threads: built by vhost's control thread; then the owning
// worker.
//
// The calls and their order are those of SplitRing. A driver makes a descriptor available by its flags, so
// that a chain is found by looking at it; there is no index that could lie.
#pragma once

#include <cstdint>
#include <optional>

#include "common/prefetch.h"
#include "vswitch/ports/virtio/chain.h"
#include "vswitch/ports/virtio/guest_memory.h"
#include "vswitch/ports/virtio/layout.h"
#include "vswitch/ports/virtio/packed_place.h"
#include "vswitch/ports/virtio/ring_fault.h"
#include "vswitch/ports/virtio/ring_watch.h"

namespace weir::virtio {

class PackedRing {
  public:
    static constexpr bool kCountsReady = false;

    PackedRing() = default;
    /// @return false when it does not lie in the guest's memory, or an index is beyond its end
    [[nodiscard]] bool place(const RingPlace& at, const GuestMemory& memory);

    [[nodiscard]] std::uint16_t size() const { return size_; }
    [[nodiscard]] RingFault fault() const { return fault_; }
    void stop(RingFault why) { fault_ = why; }
    /// Bit 15 is the wrap counter.
    [[nodiscard]] std::uint16_t avail() const { return avail_.word(); }
    [[nodiscard]] std::uint16_t used() const { return used_.word(); }
    /// `used` at the last publish(): the descriptor that it writes last.
    [[nodiscard]] std::uint16_t shown() const { return shown_.word(); }

    /// As SplitRing::ready(), but only whether there is one is known: `most` stands for at least one.
    [[nodiscard]] std::uint16_t ready(std::uint16_t most) {
        taken_ = 0;
        return fault_ == RingFault::kNone && is_available() ? (most < size_ ? most : size_)
                                                            : std::uint16_t{0};
    }
    /// Chains that may be there of those that ready() gave: one descriptor in each line is looked at, up to
    /// the first that is not available.
    [[nodiscard]] std::uint16_t bound(std::uint16_t ready) const {
        Position at = avail_;
        for (std::uint16_t chains = kPerLine; chains < ready;
             chains = static_cast<std::uint16_t>(chains + kPerLine)) {
            at.add(kPerLine, size_);
            if (!is_available(at))
                return chains;
        }
        return ready;
    }
    /// @return false when none is available, or the burst would take more descriptors than the ring has
    [[nodiscard]] bool peek(Chain& chain) {
        if (!is_available() || taken_ == size_) [[unlikely]]
            return false;
        const PackedDescriptor first = read(&descriptors_[avail_.index]);
        chain = {first.id, 1, first.flags, first.bytes, first.address};
        return (first.flags & descriptor_flag::kNext) == 0 || measure(chain);
    }
    /// As SplitRing::watch(): the flags of the next descriptor.
    [[nodiscard]] std::optional<RingWatch> watch() const {
        const std::uint16_t* flags = &descriptors_[avail_.index].flags;
        const auto seen = static_cast<std::uint16_t>(load<__ATOMIC_RELAXED>(flags) & kStateMask);
        return seen == available_state(avail_) ? std::nullopt
                                               : std::optional(RingWatch{flags, kStateMask, seen});
    }
    /// Likewise. The driver kicks for each batch of chains while it is wished, also with an event index.
    void wish_kicks(bool wished);
    /// As SplitRing's, for a burst to the driver, whose buffers lie ready: the device writes into the
    /// descriptors that it reads. Of a burst from the driver only the first chain is known to be there, and a
    /// line that is asked for too early is taken from a driver that still writes it.
    void prefetch_chains(std::uint16_t count) const {
        std::uint32_t at = avail_.index;
        for (std::uint32_t i = 0; i < count; i += kPerLine) {
            prefetch_for_write(&descriptors_[at]);
            at += kPerLine;
            if (at >= size_)
                at = 0;
        }
    }
    /// As SplitRing's; the descriptor is the index.
    void prefetch_index() const { __builtin_prefetch(&descriptors_[avail_.index]); }
    void prefetch_descriptor() const { prefetch_for_write(&descriptors_[used_.index]); }
    void prefetch_buffer(const GuestMemory& memory, std::uint32_t header_bytes) const {
        prefetch_receive_buffer(memory.find(read(&descriptors_[avail_.index]).address, header_bytes + 1),
                                header_bytes);
    }
    void advance(const Chain& chain) {
        avail_.add(chain.descriptors, size_);
        taken_ = static_cast<std::uint16_t>(taken_ + chain.descriptors);
    }
    void retreat(const Chain& chain) {
        avail_.subtract(chain.descriptors, size_);
        taken_ = static_cast<std::uint16_t>(taken_ - chain.descriptors);
    }
    [[nodiscard]] bool collect(Chain& chain, std::uint16_t direction, const GuestMemory& memory,
                               Pieces& pieces) const;
    void use(const Chain& chain, std::uint32_t bytes);
    [[nodiscard]] bool publish();
    /// Whether the used chains have to be shown before the next frame, so that all can be noted.
    [[nodiscard]] bool has_to_publish() const { return used_count_ >= PackedPlace::kShownFrom; }
    /// Before use() of several chains of one frame, which the driver sees all or none: announces each, then
    /// commit().
    void announce(const Chain& chain, std::uint32_t bytes);
    void commit();
    /// Of the descriptor at a position, for the log.
    [[nodiscard]] std::uint64_t guest_address(std::uint16_t position) const {
        return guest_address_ + std::uint64_t{static_cast<std::uint16_t>(position & Position::kIndexMask)} *
                                    sizeof(PackedDescriptor);
    }

  private:
    static constexpr std::uint16_t kPerLine = kCacheLineBytes / sizeof(PackedDescriptor);
    struct Position {
        static constexpr std::uint16_t kIndexMask = 0x7FFF;
        std::uint16_t index = 0;
        bool wrap = true;

        [[nodiscard]] std::uint16_t word() const {
            return static_cast<std::uint16_t>(index | (wrap ? kIndexMask + 1 : 0));
        }
        void set(std::uint16_t word) {
            index = word & kIndexMask;
            wrap = (word & ~kIndexMask) != 0;
        }
        /// @param count at most `size`
        void add(std::uint16_t count, std::uint16_t size) {
            const std::uint32_t sum = std::uint32_t{index} + count;
            wrap ^= sum >= size;
            index = static_cast<std::uint16_t>(sum >= size ? sum - size : sum);
        }
        void subtract(std::uint16_t count, std::uint16_t size) {
            wrap ^= index < count;
            index = static_cast<std::uint16_t>(index < count ? index + size - count : index - count);
        }
    };

    static constexpr std::uint16_t kStateMask = descriptor_flag::kAvailable | descriptor_flag::kUsed;
    /// Of a descriptor that the driver has made available in this round.
    [[nodiscard]] static std::uint16_t available_state(const Position& at) {
        return at.wrap ? descriptor_flag::kAvailable : descriptor_flag::kUsed;
    }
    [[nodiscard]] bool is_available(const Position& at) const {
        return (load<__ATOMIC_ACQUIRE>(&descriptors_[at.index].flags) & kStateMask) == available_state(at);
    }
    [[nodiscard]] bool is_available() const { return is_available(avail_); }
    [[nodiscard]] bool measure(Chain& chain);
    [[nodiscard]] bool collect_table(const PackedDescriptor& one, std::uint16_t direction,
                                     const GuestMemory& memory, Pieces& pieces) const;
    [[nodiscard]] bool wants_notification(const Position& before);

    PackedDescriptor* descriptors_ = nullptr;
    std::uint64_t guest_address_ = 0;         ///< of descriptors_
    std::uint16_t* driver_events_ = nullptr;  ///< position, flags
    std::uint16_t* device_events_ = nullptr;  ///< likewise
    std::uint16_t size_ = 0;
    std::uint16_t taken_ = 0;  ///< descriptors of this burst
    Position avail_;
    Position used_;
    PackedPlace* noted_ = nullptr;
    Position shown_;                 ///< `used_` at the last publish()
    std::uint16_t first_flags_ = 0;  ///< of the descriptor at shown_, which is written last
    std::uint16_t used_count_ = 0;   ///< chains from shown_ on
    std::uint16_t announced_ = 0;    ///< chains behind them that are noted
    Position announced_to_;
    bool asked_ = false;  ///< whether the driver wants a notification, since the ring was placed
    bool event_index_ = false;
    bool indirect_ = false;
    RingFault fault_ = RingFault::kNone;
};

}  // namespace weir::virtio
