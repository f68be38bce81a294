// counter.h - a counter with one writer and any number of readers, without locks.
// Threads: add() and set() by the owner only; value() by any.
#pragma once

#include <atomic>
#include <cstdint>

namespace weir {

/// Compiles to a plain add; the atomic only keeps readers from tearing and the compiler from caching.
class Counter {
  public:
    void add(std::uint64_t n) {
        value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    }
    void set(std::uint64_t n) { value_.store(n, std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

  private:
    std::atomic<std::uint64_t> value_{0};
};

}  // namespace weir
