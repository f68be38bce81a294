// signal_pace.h - whether a worker interrupts a guest's driver itself, or a thread of its own does.
// Source: eventfd(2), epoll(7). Units: cycles of the TSC. Threads: note() by the owning worker; the rest by
// any.
//
// A signal of an eventfd wakes all that wait for it, on the core of the caller: usually one, and with 90,000
// waiters, which a front-end may add by epoll, it takes 7.8 ms. One signal of 1 ms or more, or four of 50 us
// or more, and the vNIC's next ones go by way of the relay (signal_relay.h) for a minute. Then the worker
// tries again.
//
// Example: a front-end with 90,000 waiters takes 7.8 ms of the worker in each minute. A signal in which a
// hypervisor took the core away for 0.2 ms changes nothing.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace weir {

class SignalPace {
  public:
    /// @param cycles_per_sec of the counter
    explicit SignalPace(std::uint64_t cycles_per_sec)
        : slow_(cycles_per_sec / 20'000), long_(cycles_per_sec / 1000), minute_(60 * cycles_per_sec) {}

    /// The next signal goes by way of the relay.
    [[nodiscard]] bool relays(std::uint64_t now) const {
        return relays_.load(std::memory_order_relaxed) && now - began_ < minute_;
    }
    [[nodiscard]] bool is_slow(std::uint64_t cycles) const { return cycles >= slow_; }
    /// A signal was slow. @param cycles that it took
    void note(std::uint64_t cycles, std::uint64_t now) {
        if (now - first_ >= minute_ || slow_signals_ == 0) {
            slow_signals_ = 0;
            first_ = now;
        }
        ++slow_signals_;
        if (cycles < long_ && slow_signals_ < kSlowMost)
            return;
        slow_signals_ = 0;
        began_ = now;
        longest_.store(std::max(cycles, longest_.load(std::memory_order_relaxed)), std::memory_order_relaxed);
        relays_.store(true, std::memory_order_relaxed);
    }
    /// Cycles of the longest signal since the vNIC's signals were first given to the relay; 0: never.
    [[nodiscard]] std::uint64_t longest() const { return longest_.load(std::memory_order_relaxed); }

  private:
    static constexpr unsigned kSlowMost = 4;

    std::uint64_t slow_;
    std::uint64_t long_;
    std::uint64_t minute_;
    unsigned slow_signals_ = 0;
    std::uint64_t first_ = 0;  ///< of these
    std::uint64_t began_ = 0;  ///< of the minute
    std::atomic<bool> relays_{false};
    std::atomic<std::uint64_t> longest_{0};
};

}  // namespace weir
