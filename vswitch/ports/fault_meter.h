// fault_meter.h - time of a worker's bursts on one guest's rings in which pages of its memory were not there.
// Source: docs/algorithms.md 3.20; proc(5). Units: ns of the thread's own time. Threads: the worker; time()
// by any.
//
// One burst in 32 is measured while GuestAccess wishes it: two system calls take as long as a burst. A burst
// counts from 60 us for each fault on. A page of 4 KiB that an honest guest has not used yet takes 1 us, and
// is the guest's by its cycles; a page of 2 MiB takes 100 us and more.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

#include "common/clock.h"

namespace weir {

class FaultMeter {
  public:
    /// Before a burst. @return whether it is measured, and end() follows
    [[gnu::cold]] bool begin() {
        if (++bursts_ % kOneIn != 0)
            return false;
        burst_ = spent_now();
        return true;
    }
    /// Behind it. @param counts not when another guest's memory was read, too
    [[gnu::cold]] void end(bool counts) {
        const std::uint64_t time = costly_since(burst_);
        if (counts)
            time_.fetch_add(std::min(time * kOneIn, kMost), std::memory_order_relaxed);
    }
    /// Payloads of this burst are left with the guest; is_loan_costly() follows.
    void lend() { loan_ = burst_; }
    [[nodiscard]] bool lends() const { return loan_.has_value(); }
    /// From the begin of the burst until all its payloads were copied. @return whether costly pages were not
    /// there
    [[gnu::cold]] bool is_loan_costly() { return costly_since(*std::exchange(loan_, std::nullopt)) != 0; }

    /// All that counted: each measured burst stands for 32, and for 100 ms at most.
    [[nodiscard]] std::uint64_t time() const { return time_.load(std::memory_order_relaxed); }

  private:
    /// By this thread so far.
    struct Spent {
        std::uint64_t time;
        std::uint64_t faults;
    };
    static constexpr std::uint64_t kOneIn = 32;
    static constexpr std::uint64_t kMost = 100'000'000;
    static constexpr std::uint64_t kCostly = 60'000;

    [[nodiscard]] static Spent spent_now() {
        constexpr std::uint64_t kNanosPerMicro = 1000;
        rusage usage{};
        getrusage(RUSAGE_THREAD, &usage);
        const auto nanos = [](const timeval& time) {
            return static_cast<std::uint64_t>(time.tv_sec) * kNanosPerSec +
                   static_cast<std::uint64_t>(time.tv_usec) * kNanosPerMicro;
        };
        return {nanos(usage.ru_utime) + nanos(usage.ru_stime), static_cast<std::uint64_t>(usage.ru_minflt)};
    }
    /// @return 0: no fault since, or none that took long
    [[nodiscard]] static std::uint64_t costly_since(const Spent& before) {
        const Spent now = spent_now();
        const std::uint64_t faults = now.faults - before.faults;
        const std::uint64_t time = now.time - before.time;
        return faults != 0 && time >= faults * kCostly ? time : 0;
    }

    std::uint64_t bursts_ = 0;
    Spent burst_{};              ///< before this one, if it is measured
    std::optional<Spent> loan_;  ///< before the burst whose payloads are left
    std::atomic<std::uint64_t> time_{0};
};

}  // namespace weir
