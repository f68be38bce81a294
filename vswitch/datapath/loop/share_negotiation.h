// share_negotiation.h - one worker's part of the link, each way: its demand reported, its allocation applied.
// Source: docs/algorithms.md 3.6. Units: bytes per second; ns. Threads: owning worker.
#pragma once

#include <span>
#include <vector>

#include "vswitch/datapath/loop/stages.h"
#include "vswitch/qos/link_share.h"

namespace weir {

class ShareNegotiation {
  public:
    /// @param uplink the link that is divided; there are other workers
    ShareNegotiation(WorkerId worker, Stages& stages, const Stages::UplinkPart& uplink)
        : worker_(worker), stages_(stages), out_(uplink.out), in_(uplink.in) {
        spread_.reserve(limits::kVnicsMax);
    }

    /// The worker claims the reservations and shares of these vNICs, its own, from now on. They stay where
    /// they are until the next call.
    void claim(std::span<VnicPath* const> vnics);
    /// Once in LinkShare::kPeriod.
    void negotiate_when_due(Nanos now) {
        if (now >= due_)
            negotiate(now);
    }

    /// The worker needs nothing until the next negotiation.
    void report_idle();

  private:
    void negotiate(Nanos now);
    void negotiate_spread(Nanos span, Nanos now);
    void claim_uplink();

    WorkerId worker_;
    Stages& stages_;
    LinkShare& out_;
    LinkShare& in_;
    std::span<VnicPath* const> vnics_;
    std::vector<VnicPath*> spread_;  // of these, members of vNICs that are spread
    LinkDemand claim_;               // reservations and shares together
    LinkDemand receive_claim_;       // likewise, of the downlink
    Nanos due_ = 0;
    std::uint64_t sent_before_ = 0;  // bytes, at the last negotiation
    std::uint64_t received_before_ = 0;
};

}  // namespace weir
