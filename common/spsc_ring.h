// spsc_ring.h - bounded queue of events from one writer thread to one reader thread.
// Threads: push() by the writer only, pop() by the reader only.
//
// Head and tail count all events ever, so their difference is the length and no slot stays unused. The ring
// never drops events: a push() that finds it full returns false, and the writer tries again later.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <type_traits>

namespace weir {

template <typename T, std::size_t Capacity>
class SpscRing {
    static_assert(Capacity >= 2 && (Capacity & (Capacity - 1)) == 0, "capacity must be a power of two");
    static_assert(std::is_trivially_copyable_v<T>, "events are plain values");

  public:
    /// @return false when the ring is full and the event was not added
    [[nodiscard]] bool push(const T& event) {
        const std::size_t tail = tail_.load(std::memory_order_relaxed);
        if (tail - head_.load(std::memory_order_acquire) == Capacity)
            return false;
        slots_[tail & (Capacity - 1)] = event;
        tail_.store(tail + 1, std::memory_order_release);
        return true;
    }

    /// @return false when the ring is empty; `event` is unchanged
    [[nodiscard]] bool pop(T& event) {
        const std::size_t head = head_.load(std::memory_order_relaxed);
        if (head == tail_.load(std::memory_order_acquire))
            return false;
        event = slots_[head & (Capacity - 1)];
        head_.store(head + 1, std::memory_order_release);
        return true;
    }

    /// By the reader.
    [[nodiscard]] bool empty() const {
        return head_.load(std::memory_order_relaxed) == tail_.load(std::memory_order_acquire);
    }

  private:
    alignas(64) std::atomic<std::size_t> head_{0};
    alignas(64) std::atomic<std::size_t> tail_{0};
    alignas(64) std::array<T, Capacity> slots_{};
};

}  // namespace weir
