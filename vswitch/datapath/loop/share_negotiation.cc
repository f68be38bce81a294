// share_negotiation.cc - ShareNegotiation: reports the bytes/s used since the last time, applies the part.
#include "vswitch/datapath/loop/share_negotiation.h"

#include <utility>

namespace weir {

void ShareNegotiation::claim(std::span<VnicPath* const> vnics) {
    claim_ = {};
    receive_claim_ = {};
    for (const VnicPath* vnic : vnics) {
        claim_.reservation += vnic->profile.uplink.reservation;
        claim_.shares += vnic->profile.uplink.shares;
        receive_claim_.reservation += vnic->profile.receive_reservation;
        receive_claim_.shares += vnic->profile.receive_shares;
    }
}

void ShareNegotiation::report_idle() {
    out_.report(worker_, claim_);
    if (stages_.feedback)
        in_.report(worker_, receive_claim_);
}

void ShareNegotiation::negotiate(Nanos now) {
    Uplink& uplink = *stages_.uplink;
    std::optional<RateFeedback>& feedback = stages_.feedback;
    const Nanos span = now + LinkShare::kPeriod - due_;
    due_ = now + LinkShare::kPeriod;
    const auto rate = [span](std::uint64_t total, std::uint64_t& before) {
        const std::uint64_t more = total - std::exchange(before, total);
        return static_cast<std::uint64_t>(Wide{more} * kNanosPerSec / span);
    };
    LinkDemand demand = claim_;
    LinkDemand in = receive_claim_;
    demand.used = rate(uplink.stats.tx.delivered.bytes, sent_before_);
    demand.backlogged = uplink.backlogged();
    out_.report(worker_, demand);
    if (feedback) {
        in.used = rate(feedback->received_total(), received_before_);
        in.backlogged = feedback->backlogged();
        in_.report(worker_, in);
    }
    out_.divide_when_due(now);
    in_.divide_when_due(now);
    uplink.egress().set_capacity(out_.allocation(worker_), out_.reservable(worker_), now);
    if (feedback)
        feedback->set_capacity(in_.allocation(worker_));
}

}  // namespace weir
