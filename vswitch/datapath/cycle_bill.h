// cycle_bill.h - who pays for a worker's time: work since a mark is charged to a vNIC, its share follows.
// Source: design section 1 (switch cycles as a resource). Units: TSC cycles. Threads: owning worker.
//
// The sender pays for a poll of its ring and all that follows from it; the receiver pays for what comes from
// the wire or from another worker, and for attempts at its full ring. Of a burst from the wire for several
// VMs, the first pays for classifying it: on average as often as it receives. What leaves later through the
// uplink's scheduler costs nobody: there the link is what is scarce, and divided.
#pragma once

#include <rte_cycles.h>

#include <cstdint>

#include "vswitch/datapath/vnic_path.h"
#include "vswitch/qos/schedulers/cycle_share.h"

namespace weir {

class CycleBill {
  public:
    CycleBill() : share_(limits::kVnicsMax) {}

    [[nodiscard]] CycleShare& share() { return share_; }

    /// Work from `cycles` on is for whom charge() names next.
    void start(std::uint64_t cycles) { mark_ = cycles; }
    [[nodiscard]] std::uint64_t mark() const { return mark_; }

    /// The work since the mark was for this vNIC.
    void charge(VnicPath& payer) {
        const std::uint64_t after = rte_rdtsc();
        if (after > mark_)
            enter(payer, after - mark_);
        mark_ = after;
    }

    /// `cycles` of the work since the mark were this vNIC's doing, whoever pays for the rest.
    void divert(VnicPath& culprit, std::uint64_t cycles) {
        enter(culprit, cycles);
        mark_ += cycles;
    }

  private:
    void enter(VnicPath& vnic, std::uint64_t cycles) {
        share_.charge(vnic.fixed.id, cycles);
        vnic.stats.cycles += cycles;
    }

    CycleShare share_;
    std::uint64_t mark_ = 0;
};

}  // namespace weir
