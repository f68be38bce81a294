// split_ring.h - a split virtqueue in guest memory, as the driver sees it; every field can be written.
// Source: virtio 1.2 2.7. Units: entries. Threads: any; fields that the switch reads too are atomic.
#pragma once

#include <atomic>
#include <cstdint>

#include "test/hostile/guest_memory.h"

namespace weir::hostile {

class SplitRing {
  public:
    /// @param address guest address of the descriptor table; 16 KiB from there on are the ring's
    /// @param size entries, a power of two, at most 256
    SplitRing(GuestMemory& memory, std::uint64_t address, std::uint16_t size)
        : memory_(memory), address_(address), size_(size) {}

    static constexpr std::uint64_t kBytes = 0x4000;
    [[nodiscard]] std::uint64_t descriptors_at() const { return address_; }
    [[nodiscard]] std::uint64_t avail_at() const { return address_ + 0x1000; }
    [[nodiscard]] std::uint64_t used_at() const { return address_ + 0x2000; }
    [[nodiscard]] std::uint16_t size() const { return size_; }
    /// As SET_VRING_ADDR has them.
    [[nodiscard]] RingAddress addresses(std::uint32_t ring) const {
        constexpr std::uint64_t kBase = GuestMemory::kUserBase;
        return {ring, 0, kBase + descriptors_at(), kBase + used_at(), kBase + avail_at(), 0};
    }

    [[nodiscard]] Descriptor& descriptor(unsigned index) {
        return memory_.as<Descriptor>(descriptors_at())[index % size_];
    }
    [[nodiscard]] std::atomic_ref<std::uint16_t> avail_index() { return half(avail_at() + 2); }
    [[nodiscard]] std::atomic_ref<std::uint16_t> avail_entry(unsigned index) {
        return half(avail_at() + 4 + 2 * (index % size_));
    }
    [[nodiscard]] std::atomic_ref<std::uint16_t> used_index() { return half(used_at() + 2); }
    [[nodiscard]] UsedElement& used_element(unsigned index) {
        return memory_.as<UsedElement>(used_at() + 4)[index % size_];
    }
    /// Asks the device not to interrupt, as a driver that polls.
    void mute() { half(avail_at()).store(1); }
    void unmute() { half(avail_at()).store(0); }

    /// Gives the chain that begins with `head` to the switch.
    void publish(std::uint16_t head) {
        const std::uint16_t index = avail_index().load();
        avail_entry(index).store(head);
        avail_index().store(static_cast<std::uint16_t>(index + 1), std::memory_order_release);
    }
    void clear() {
        for (std::uint64_t at = 0; at < kBytes; at += sizeof(std::uint64_t))
            *memory_.as<std::uint64_t>(address_ + at) = 0;
    }

  private:
    [[nodiscard]] std::atomic_ref<std::uint16_t> half(std::uint64_t address) {
        return std::atomic_ref<std::uint16_t>(*memory_.as<std::uint16_t>(address));
    }

    GuestMemory& memory_;
    std::uint64_t address_;
    std::uint16_t size_;
};

}  // namespace weir::hostile
