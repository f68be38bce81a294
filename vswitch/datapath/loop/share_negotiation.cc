// share_negotiation.cc - ShareNegotiation: reports the bytes/s used since the last time, applies the part.
#include "vswitch/datapath/loop/share_negotiation.h"

#include <utility>

namespace weir {
namespace {

/// Bytes per second since the last call, which was `span` ago. @param before the total of that call
std::uint64_t rate_of(std::uint64_t total, std::uint64_t& before, Nanos span) {
    const std::uint64_t more = total - std::exchange(before, total);
    return static_cast<std::uint64_t>(Wide{more} * kNanosPerSec / span);
}

}  // namespace

void ShareNegotiation::claim(std::span<VnicPath* const> vnics) {
    vnics_ = vnics;
    spread_.clear();
    receive_claim_ = {};
    for (VnicPath* vnic : vnics) {
        if (vnic->member)
            spread_.push_back(vnic);
        if (!vnic->fixed.is_home())
            continue;  // the home receives
        receive_claim_.reservation += vnic->profile.receive_reservation;
        receive_claim_.shares += vnic->profile.receive_shares;
    }
    claim_uplink();
}

void ShareNegotiation::claim_uplink() {
    claim_ = {};
    for (const VnicPath* vnic : vnics_) {
        claim_.reservation += vnic->uplink.reservation;
        claim_.shares += vnic->uplink.shares;
    }
}

/// The members of vNICs that are spread divide reservation and shares by their use, as workers divide the
/// link.
void ShareNegotiation::negotiate_spread(Nanos span, Nanos now) {
    bool changed = false;
    for (VnicPath* vnic : spread_) {
        SpreadMember& member = *vnic->member;
        member.report(vnic->profile.uplink, rate_of(vnic->stats.uplink_bytes, member.sent_before, span),
                      vnic->backlogged());
        member.spread.parts.divide_when_due(now);
        if (!vnic->refresh_part())
            continue;
        stages_.uplink->change(*vnic, now);
        changed = true;
    }
    if (changed)
        claim_uplink();
}

void ShareNegotiation::report_idle() {
    out_.report(worker_, claim_);
    if (stages_.feedback)
        in_.report(worker_, receive_claim_);
    for (VnicPath* vnic : spread_)
        vnic->member->report(vnic->profile.uplink, 0, false);
}

void ShareNegotiation::negotiate(Nanos now) {
    Uplink& uplink = *stages_.uplink;
    std::optional<RateFeedback>& feedback = stages_.feedback;
    const Nanos span = now + LinkShare::kPeriod - due_;
    due_ = now + LinkShare::kPeriod;
    if (!spread_.empty()) [[unlikely]]
        negotiate_spread(span, now);
    LinkDemand demand = claim_;
    LinkDemand in = receive_claim_;
    demand.used = rate_of(uplink.stats.tx.delivered.bytes, sent_before_, span);
    demand.backlogged = uplink.backlogged();
    out_.report(worker_, demand);
    if (feedback) {
        in.used = rate_of(feedback->received_total(), received_before_, span);
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
