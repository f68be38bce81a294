// capture_ring.h - copies of frames on their way from a worker to the agent, in slots of one size.
// Units: bytes. Threads: the functions of the worker by it only, those of the agent likewise.
//
// The worker writes slots behind the last one that it has published, so that it may copy frames before it
// knows which of them a ring takes. A full ring refuses: the worker never waits.
//
// Example: of three frames that were written, the VM's ring takes two: publish(2), and the next write()
// overwrites the third.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "vswitch/base/capture.h"

namespace weir {

class CaptureRing {
  public:
    /// @param bytes of all slots together, at least one slot is made  @param snap bytes of a frame's copy
    CaptureRing(std::size_t bytes, std::uint32_t snap)
        : slot_(sizeof(CaptureRecord) + snap),
          mask_(std::bit_floor(std::max<std::size_t>(bytes / slot_, 1)) - 1),
          bytes_((mask_ + 1) * slot_) {}

    // The worker.

    /// Room for a record and its copy, `ahead` slots behind the last published; nullptr: the ring is full.
    [[nodiscard]] std::byte* write(std::size_t ahead = 0) {
        const std::size_t at = tail_.load(std::memory_order_relaxed) + ahead;
        return at - head_.load(std::memory_order_acquire) > mask_ ? nullptr : slot(at);
    }
    void publish(std::size_t slots = 1) {
        tail_.store(tail_.load(std::memory_order_relaxed) + slots, std::memory_order_release);
    }

    // The agent.

    /// The oldest record with its copy, valid until pop(); empty: there is none.
    [[nodiscard]] std::span<const std::byte> front() const {
        const std::size_t head = head_.load(std::memory_order_relaxed);
        if (head == tail_.load(std::memory_order_acquire))
            return {};
        return {bytes_.data() + (head & mask_) * slot_, slot_};
    }
    void pop() { head_.store(head_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }

    [[nodiscard]] std::size_t slots() const { return mask_ + 1; }
    [[nodiscard]] std::size_t slot_bytes() const { return slot_; }

  private:
    [[nodiscard]] std::byte* slot(std::size_t at) { return bytes_.data() + (at & mask_) * slot_; }

    std::size_t slot_;
    std::size_t mask_;
    std::vector<std::byte> bytes_;
    alignas(64) std::atomic<std::size_t> head_{0};
    alignas(64) std::atomic<std::size_t> tail_{0};
};

}  // namespace weir
