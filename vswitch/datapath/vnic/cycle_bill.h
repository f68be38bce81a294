// cycle_bill.h - charges the worker's cycles to the vNICs that caused the work.
// Source: BESS (EECS-2015-155); docs/algorithms.md 3.5. Units: TSC cycles. Threads: owning worker.
//
// The sender pays for a poll of its ring and all that follows from it; the receiver pays for frames from the
// wire or from another worker, for attempts at its full ring, and for its needless descriptors. Of a burst
// from the wire for several VMs, the first pays for classifying it: on average as often as it receives.
// Frames that leave later through the uplink's scheduler are charged to no vNIC: there the link is scarce,
// and it is divided.
//
// Each charge is the time since the last one, so that no cycle is charged twice. Example: a poll of A's ring
// ends 4,000 cycles after the last charge: A pays 4,000. A burst of the wire follows: 900 cycles for its
// classification and the delivery to B, 300 more for that to C: B pays 900, C 300. One call encrypts a frame
// of A that costs 1,500 tokens and one of B that costs 500 in 8,000 cycles: A pays 6,000, B 2,000.
#pragma once

#include <rte_cycles.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <ctime>
#include <span>

#include "vswitch/datapath/vnic/used_cycles.h"
#include "vswitch/datapath/vnic/vnic_path.h"
#include "vswitch/qos/schedulers/cycle_share.h"

namespace weir {

class CycleBill {
  public:
    /// @param counter of cycles, instead of the TSC: a test's; outlives the bill
    explicit CycleBill(const std::atomic<std::uint64_t>* counter = nullptr)
        : share_(limits::kVnicsMax), counter_(counter) {}

    [[nodiscard]] CycleShare& share() { return share_; }

    [[nodiscard]] std::uint64_t read() const {
        return counter_ == nullptr ? rte_rdtsc() : counter_->load(std::memory_order_relaxed);
    }
    /// Begins work at `cycles`, to be charged by the next charge().
    void start(std::uint64_t cycles) { mark_ = cycles; }
    /// Begins work now: the cycles since the mark are charged to no vNIC.
    void restart() { start(read()); }
    [[nodiscard]] std::uint64_t mark() const { return mark_; }

    /// Charges the cycles since the mark to the vNIC.
    void charge(VnicPath& payer) {
        const std::uint64_t after = read();
        if (after > mark_)
            enter(payer, used(after - mark_, after));
        mark_ = after;
    }

    /// Counts the cycles since the mark for the vNIC without a charge: its promise of packets pays for them.
    /// @return how many
    std::uint64_t count(VnicPath& vnic) {
        const std::uint64_t after = read();
        const std::uint64_t cycles = after > mark_ ? used(after - mark_, after) : 0;
        vnic.stats.cycles += cycles;
        mark_ = after;
        return cycles;
    }

    /// Charges `cycles` of those since the mark to this vNIC; the next charge() takes the rest.
    void divert(VnicPath& payer, std::uint64_t cycles) {
        enter(payer, cycles);
        mark_ += cycles;
    }

    /// Charges the span since `start`, which the next charge() leaves out.
    void divert_since(VnicPath& payer, std::uint64_t start) {
        const std::uint64_t after = read();
        enter(payer, used(after - start, after));
        mark_ += after - start;
    }

    /// Work of which one call did several frames' at once.
    struct Part {
        VnicPath* payer;       ///< nullptr: nothing is charged for it
        std::uint32_t weight;  ///< of its share of the cycles
    };
    /// Charges the span since `start` in proportion to the parts' weights. Divides: once per burst. Parts
    /// without a payer are left to the next charge(). @return the span's cycles
    std::uint64_t divert_since(std::span<const Part> parts, std::uint64_t start) {
        constexpr unsigned kFraction = 16;
        const std::uint64_t after = read();
        const std::uint64_t cycles = used(after - start, after);
        mark_ += after - start - cycles;
        std::uint64_t weights = 0;
        for (const Part& part : parts)
            weights += part.weight;
        const std::uint64_t each = (cycles << kFraction) / std::max<std::uint64_t>(weights, 1);
        for (const Part& part : parts)
            if (part.payer != nullptr)
                divert(*part.payer, each * part.weight >> kFraction);
        return cycles;
    }

  private:
    /// @param after the TSC at the end of the span of these cycles
    [[nodiscard]] std::uint64_t used(std::uint64_t cycles, std::uint64_t after) {
        return cycles <= UsedCycles::kBelieved ? cycles : used_of_long(cycles, after);
    }
    [[nodiscard, gnu::cold]] std::uint64_t used_of_long(std::uint64_t cycles, std::uint64_t after) {
        return counter_ == nullptr ? used_cycles_.of(cycles, after, own_cycles()) : cycles;
    }
    /// This thread's time of the core.
    [[nodiscard]] static std::uint64_t own_cycles() {
        timespec time{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        const double seconds = static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
        return static_cast<std::uint64_t>(seconds * static_cast<double>(rte_get_tsc_hz()));
    }
    void enter(VnicPath& vnic, std::uint64_t cycles) {
        share_.charge(vnic.fixed.id, cycles);
        vnic.stats.cycles += cycles;
    }

    CycleShare share_;
    UsedCycles used_cycles_;
    const std::atomic<std::uint64_t>* counter_;
    std::uint64_t mark_ = 0;
};

}  // namespace weir
