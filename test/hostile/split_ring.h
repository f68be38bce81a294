// split_ring.h - a split virtqueue in guest memory, as the driver sees it; every field can be written.
// Source: virtio 1.2 2.7. Units: entries. Threads: add() and reap() one; fields that the switch reads too are
// atomic.
#pragma once

#include <atomic>
#include <cstdint>

#include "test/hostile/virtqueue.h"

namespace weir::hostile {

class SplitRing final : public Virtqueue {
  public:
    /// @param size entries, a power of two, at most 32,768
    SplitRing(GuestMemory& memory, const RingParts& parts, std::uint16_t size)
        : Virtqueue(memory, parts, size) {}

    bool add(std::span<const Buffer> chain) override;
    std::optional<Used> reap() override;
    [[nodiscard]] bool all_used() override { return used_index().load() == avail_index().load(); }
    void mute() override { half(parts_.driver.address).store(1); }
    void unmute() override { half(parts_.driver.address).store(0); }
    void clear() override { clear_parts(), reaped_ = 0; }
    [[nodiscard]] std::uint32_t base() const override { return 0; }

    [[nodiscard]] Descriptor& descriptor(unsigned index) {
        return memory_->as<Descriptor>(parts_.descriptors.address)[index % size_];
    }
    [[nodiscard]] std::atomic_ref<std::uint16_t> avail_index() { return half(parts_.driver.address + 2); }
    [[nodiscard]] std::atomic_ref<std::uint16_t> avail_entry(unsigned index) {
        return half(parts_.driver.address + 4 + 2 * (index % size_));
    }
    /// With event indices: the device interrupts when it has used the chain of this index.
    [[nodiscard]] std::atomic_ref<std::uint16_t> used_event() {
        return half(parts_.driver.address + 4 + 2ULL * size_);
    }
    [[nodiscard]] std::atomic_ref<std::uint16_t> used_flags() { return half(parts_.device.address); }
    [[nodiscard]] std::atomic_ref<std::uint16_t> used_index() { return half(parts_.device.address + 2); }
    [[nodiscard]] UsedElement& used_element(unsigned index) {
        return memory_->as<UsedElement>(parts_.device.address + 4)[index % size_];
    }

    /// Gives the chain that begins with `head` to the switch.
    void publish(std::uint16_t head) {
        const std::uint16_t index = avail_index().load();
        avail_entry(index).store(head);
        avail_index().store(static_cast<std::uint16_t>(index + 1), std::memory_order_release);
    }

  private:
    [[nodiscard]] std::atomic_ref<std::uint16_t> half(std::uint64_t address) {
        return std::atomic_ref<std::uint16_t>(*memory_->as<std::uint16_t>(address));
    }

    std::uint16_t reaped_ = 0;
};

}  // namespace weir::hostile
