// link_share.h - one direction of the wire, or an appliance's window, divided among workers every 200 us.
// Source: docs/design.md 2; SRP Algorithm 2; docs/algorithms.md 3.6. Units: the capacity's: accounted bytes
// per second, or tokens outstanding; ns. Threads: report() and allocation() by each worker for itself;
// divide_when_due() by any worker.
//
// Each worker reports the reservations and shares of its vNICs and the amount that it used; the first worker
// that comes in a period divides by them, as others may sleep. Of 9 Gbit/s, a worker that used 1 Gbit/s
// without backlog is counted as wanting 1.5 Gbit/s and a part to start with; the rest goes to the workers
// with a backlog.
//
// Reservations need not follow that: as long as those of all vNICs together fit the capacity, a worker keeps
// the sum of its own vNICs' as `reservable`, however little it used lately, and has it as allocation one
// period after it asks. So reservations are scaled down only when vNICs were promised more than there is, in
// proportion and once.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "common/clock.h"
#include "common/types.h"
#include "vswitch/base/limits.h"

namespace weir {

/// The demand of one worker for the link.
struct LinkDemand {
    std::uint64_t reservation = 0;  ///< sum over its vNICs
    std::uint32_t shares = 0;       ///< sum over its vNICs
    std::uint64_t used = 0;         ///< in the last period
    bool backlogged = false;
};

class LinkShare {
  public:
    static constexpr Nanos kPeriod = 200'000;

    /// Of an equal part, which a worker that used nothing has to start with.
    static constexpr std::uint64_t kStartFraction = 16;

    /// Starts with equal parts.
    /// @param start_fraction 0: a worker that used nothing has a part when it reports a backlog
    LinkShare(std::size_t workers, std::uint64_t capacity, std::uint64_t start_fraction = kStartFraction);

    void report(WorkerId worker, const LinkDemand& demand);
    [[nodiscard]] std::uint64_t allocation(WorkerId worker) const {
        return slots_[worker].allocation.load(std::memory_order_relaxed);
    }
    /// Rate up to which the worker's vNICs' reservations hold.
    [[nodiscard]] std::uint64_t reservable(WorkerId worker) const {
        return slots_[worker].reservable.load(std::memory_order_relaxed);
    }
    /// By the first call of a period.
    void divide_when_due(Nanos now) {
        Nanos due = due_.load(std::memory_order_relaxed);
        if (now >= due && due_.compare_exchange_strong(due, now + kPeriod, std::memory_order_relaxed))
            divide();
    }
    void divide();
    /// Another from now on; where several workers share it, from the next divide() on. By any one thread.
    void set_capacity(std::uint64_t capacity);

  private:
    /// Each word is a latest value of its own; a mix of two periods does no harm.
    struct alignas(64) Slot {
        std::atomic<std::uint64_t> reservation{0};
        std::atomic<std::uint64_t> used{0};
        std::atomic<std::uint32_t> shares{0};
        std::atomic<bool> backlogged{false};
        std::atomic<std::uint64_t> allocation{0};
        std::atomic<std::uint64_t> reservable{0};
    };

    std::size_t workers_;
    std::uint64_t start_fraction_;
    std::atomic<std::uint64_t> capacity_;
    alignas(64) std::atomic<Nanos> due_{0};
    std::array<Slot, limits::kWorkersMax> slots_{};
};

}  // namespace weir
