// signal_pace.h - whether a worker interrupts a guest's driver itself, or a thread of its own does.
// Source: eventfd(2), epoll(7). Units: cycles of the TSC. Threads: note() by the owning worker; the rest by
// any.
//
// A signal of an eventfd wakes all that wait for it, on the core of the caller: usually one, and with 90,000
// waiters, which a front-end may add by epoll, it takes 7.8 ms. One signal of 1 ms or more, or four of 50 us
// or more, and the vNIC's next ones go by way of the relay (signal_relay.h) for a minute. Then the worker
// tries again; when that is slow within a minute, the relay has them twice as long, an hour at most.
//
// Example: a front-end with 90,000 waiters takes 7.8 ms of the worker six times, then once an hour. A signal
// in which a hypervisor took the core away for 0.2 ms changes nothing.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace weir {

class SignalPace {
  public:
    /// @param cycles_per_sec of the counter
    explicit SignalPace(std::uint64_t cycles_per_sec)
        : usual_(cycles_per_sec / 300'000),
          slow_(cycles_per_sec / 20'000),
          long_(cycles_per_sec / 1000),
          minute_(60 * cycles_per_sec) {}

    /// The next signal goes by way of the relay.
    [[nodiscard]] bool relays(std::uint64_t now) const {
        return now < until_.load(std::memory_order_relaxed);
    }
    /// Cycles beyond those of a signal to one waiter.
    [[nodiscard]] std::uint64_t excess(std::uint64_t cycles) const {
        return cycles > usual_ ? cycles - usual_ : 0;
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
        const std::uint64_t until = until_.load(std::memory_order_relaxed);
        span_ = until != 0 && now - until < minute_ ? std::min(2 * span_, kSpanMost * minute_) : minute_;
        until_.store(now + span_, std::memory_order_relaxed);
        longest_.store(std::max(cycles, longest_.load(std::memory_order_relaxed)), std::memory_order_relaxed);
    }
    /// Cycles of the longest signal since the vNIC's signals were first given to the relay; 0: never.
    [[nodiscard]] std::uint64_t longest() const { return longest_.load(std::memory_order_relaxed); }

  private:
    static constexpr unsigned kSlowMost = 4;
    static constexpr std::uint64_t kSpanMost = 60;  ///< minutes

    std::uint64_t usual_;  ///< 3.3 us
    std::uint64_t slow_;
    std::uint64_t long_;
    std::uint64_t minute_;
    unsigned slow_signals_ = 0;
    std::uint64_t first_ = 0;              ///< of these
    std::uint64_t span_ = 0;               ///< of the relay's last time
    std::atomic<std::uint64_t> until_{0};  ///< the relay's time ends
    std::atomic<std::uint64_t> longest_{0};
};

}  // namespace weir
