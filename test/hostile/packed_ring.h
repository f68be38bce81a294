// packed_ring.h - a packed virtqueue in guest memory, as the driver sees it; every field can be written.
// Source: virtio 1.2 2.8. Units: entries. Threads: add() and reap() one; flags that the switch reads too are
// atomic.
//
// A buffer's id is the number of its first descriptor. Example with 3 entries: a chain of 2 has id 0, the
// next one of 2 has id 2 and wraps, so that its second descriptor is marked with the other wrap counter.
#pragma once

#include <atomic>
#include <cstdint>

#include "test/hostile/virtqueue.h"

namespace weir::hostile {

class PackedRing final : public Virtqueue {
  public:
    /// @param size entries, any number from 1 to 32,768
    PackedRing(GuestMemory& memory, const RingParts& parts, std::uint16_t size)
        : Virtqueue(memory, parts, size) {}

    bool add(std::span<const Buffer> chain) override;
    std::optional<Used> reap() override;
    [[nodiscard]] bool all_used() override;
    void mute() override { events(parts_.driver.address, 0, kEventsOff); }
    void unmute() override { events(parts_.driver.address, 0, kEventsOn); }
    void clear() override;
    [[nodiscard]] std::uint32_t base() const override { return 0x8000; }  // wrap counter 1, descriptor 0

    [[nodiscard]] PackedDescriptor& descriptor(unsigned index) {
        return memory_->as<PackedDescriptor>(parts_.descriptors.address)[index % size_];
    }
    [[nodiscard]] std::atomic_ref<std::uint16_t> flags(unsigned index) {
        return std::atomic_ref<std::uint16_t>(descriptor(index).flags);
    }
    /// The mark of a descriptor that is available in the ring's present round: kAvailable or kUsed.
    [[nodiscard]] std::uint16_t available() const { return wrap_ ? kAvailable : kUsed; }
    /// The driver's event area. @param where an index, with a wrap counter in bit 15
    void ask_events(std::uint16_t where, std::uint16_t flags) { events(parts_.driver.address, where, flags); }

    // Flags of an event area.
    static constexpr std::uint16_t kEventsOn = 0;
    static constexpr std::uint16_t kEventsOff = 1;
    static constexpr std::uint16_t kEventsAt = 2;

  private:
    void events(std::uint64_t address, std::uint16_t where, std::uint16_t flags) {
        memory_->as<std::uint16_t>(address)[0] = where;
        memory_->as<std::uint16_t>(address)[1] = flags;
    }
    std::uint16_t take_back();

    bool wrap_ = true;          // of next_
    std::uint16_t reaped_ = 0;  // the descriptor that the device marks next
    bool reaped_wrap_ = true;
    std::uint16_t in_order_to_ = 0;  // with `in_order_left_` chains left of those that one mark gave back
    bool in_order_ = false;
    std::uint32_t in_order_bytes_ = 0;
};

}  // namespace weir::hostile
