// used_cycles.h - cycles of a long span that a thread used itself: others may have had the core in between.
// Source: docs/algorithms.md 3.5. Units: TSC cycles. Threads: one owner (the worker).
//
// A span of up to 2^20 cycles is believed. From a longer one the time is taken off for which the thread was
// suspended since the last long one: at least that of this span. So no vNIC pays for the time of other
// programs, and one whose polls are long again and again pays for all of it, but for the first.
//
// Example: at 3 GHz a poll ends 9,000,000 cycles after it began. Since the last long one 30,000,000 cycles
// have passed, in which the thread ran for 28,000,000: it was suspended for 2,000,000, and 7,000,000 count.
#pragma once

#include <algorithm>
#include <cstdint>

namespace weir {

class UsedCycles {
  public:
    /// More than all polls that nothing disturbs: a piece of super-frames takes 100 us.
    static constexpr std::uint64_t kBelieved = 1 << 20;

    /// @param cycles more than kBelieved: a span that ends now
    /// @param now of the TSC  @param own the thread's time of the core until now, in cycles
    /// @return kBelieved to `cycles`
    [[nodiscard]] std::uint64_t of(std::uint64_t cycles, std::uint64_t now, std::uint64_t own) {
        const std::uint64_t passed = now - now_;
        const std::uint64_t ran = own - own_;
        const std::uint64_t suspended = !known_ ? cycles : passed > ran ? passed - ran : 0;
        known_ = true;
        now_ = now;
        own_ = own;
        return suspended < cycles ? std::max(kBelieved, cycles - suspended) : kBelieved;
    }

  private:
    std::uint64_t now_ = 0;  // at the last long span's end
    std::uint64_t own_ = 0;
    bool known_ = false;
};

}  // namespace weir
