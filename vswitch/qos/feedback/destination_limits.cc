// destination_limits.cc - flows come with feedback and go in silence.
#include "vswitch/qos/feedback/destination_limits.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace weir {
namespace {

/// What a flow may send at once after a pause: 150 us of its rate and at least two full frames. A receiver
/// measures over 200 us; bursts of that order would look like overload.
std::uint64_t burst_of(std::uint64_t rate) {
    constexpr std::uint64_t kTwoFrames = 2 * 1538;
    constexpr std::uint64_t kBurstsPerSec = 1'000'000 / 150;
    return std::max(kTwoFrames, rate / kBurstsPerSec);
}

/// What a new limiter lets pass at once, less than a frame. A receiver tells many senders within
/// microseconds; in step with each other they would send a frame each at the same moment, again and again.
/// Its numbers differ from sender to sender, and their multiples of the golden ratio spread evenly.
std::uint32_t phase_of(std::uint32_t sequence) {
    constexpr std::uint64_t kFrame = 1538;
    return static_cast<std::uint32_t>(std::uint64_t{sequence * 0x9E37'79B9U} * kFrame >> 32);
}

}  // namespace

DestinationLimits::DestinationLimits(std::uint32_t capacity, std::size_t vnics, const Profile& profile)
    : profile_(profile),
      idle_ticks_(ticks(profile.idle) + 1),
      shift_(64 - static_cast<unsigned>(std::countr_zero(capacity))),
      buckets_(capacity, kNoFlow),
      flows_(capacity),
      rules_(capacity),
      counts_(vnics),
      ruled_counts_(vnics) {
    assert(std::has_single_bit(capacity) && capacity > 1);
}

DestinationLimits::Result DestinationLimits::hear(VnicId vnic, std::uint64_t address, std::uint64_t rate,
                                                  std::uint32_t sequence, Nanos now) {
    const FlowId at = find(vnic, address);
    if (at == kNoFlow)
        return rate >= profile_.line_rate ? Result{Heard::kNoNeed, kNoFlow}
                                          : open(vnic, address, rate, sequence, now);
    Flow& flow = flows_[at];
    const auto ahead = static_cast<std::int32_t>(sequence - flow.sequence);
    if (ahead <= 0 && !flow.silent)
        return {Heard::kStale, kNoFlow};
    flow.sequence = sequence;
    flow.heard_at = now;
    flow.silent = false;
    set_heard(at, rate, now);
    return {Heard::kChanged, at};
}

DestinationLimits::Result DestinationLimits::rule(VnicId vnic, std::uint64_t address, std::uint64_t rate,
                                                  Nanos now) {
    FlowId at = find(vnic, address);
    const bool fresh = at == kNoFlow;
    if (fresh) {
        const Result opened = open(vnic, address, profile_.line_rate, 0, now);
        if (opened.flow == kNoFlow)
            return opened;
        at = opened.flow;
        flows_[at].silent = true;  // whatever its destination says first is news
    }
    Flow& flow = flows_[at];
    if (!flow.ruled)
        rules_[at] = {.heard = flow.rate};
    set_ruled(flow, true);
    rules_[at].cap = std::max<std::uint64_t>(rate, 1);
    set_heard(at, rules_[at].heard, now);
    return {fresh ? Heard::kOpened : Heard::kChanged, at};
}

DestinationLimits::Result DestinationLimits::unrule(VnicId vnic, std::uint64_t address, Nanos now) {
    const FlowId at = find(vnic, address);
    if (at == kNoFlow || !flows_[at].ruled)
        return {Heard::kNoNeed, kNoFlow};
    set_ruled(flows_[at], false);
    set_rate(flows_[at], rules_[at].heard, now);
    return {Heard::kChanged, at};
}

void DestinationLimits::set_ruled(Flow& flow, bool ruled) {
    if (flow.ruled == ruled)
        return;
    flow.ruled = ruled;
    const std::uint32_t step = ruled ? 1 : UINT32_MAX;
    ruled_ += step;
    ruled_counts_[flow.vnic] += step;
}

void DestinationLimits::set_heard(FlowId at, std::uint64_t rate, Nanos now) {
    rate = std::clamp(rate, profile_.rate_min, profile_.line_rate);
    if (flows_[at].ruled) {
        rules_[at].heard = rate;
        rate = std::min(rate, rules_[at].cap);
    }
    set_rate(flows_[at], rate, now);
}

DestinationLimits::Result DestinationLimits::open(VnicId vnic, std::uint64_t address, std::uint64_t rate,
                                                  std::uint32_t sequence, Nanos now) {
    const FlowId at = free_ != kNoFlow ? free_ : end_;
    if (at == capacity())
        return {Heard::kFull, kNoFlow};
    Flow& flow = flows_[at];
    if (at == end_)
        ++end_;
    else
        free_ = flow.next;
    FlowId& head = buckets_[bucket_of(vnic, address)];
    flow = Flow{.address = address,
                .limiter = {},
                .heard_at = now,
                .used_at = ticks(now),
                .next = head,
                .sequence = sequence,
                .vnic = vnic};
    head = at;
    ++size_;
    ++counts_[vnic];
    set_heard(at, rate, now);
    flow.limiter.pay(static_cast<std::uint32_t>(burst_of(flow.rate)) - phase_of(sequence), now);
    return {Heard::kOpened, at};
}

void DestinationLimits::set_rate(Flow& flow, std::uint64_t rate, Nanos now) {
    if (rate == flow.rate)
        return;
    flow.rate = rate;
    flow.limiter.set_profile(make_profile(rate, burst_of(rate)), now);
}

void DestinationLimits::forget(FlowId at) {
    Flow& flow = flows_[at];
    FlowId* link = &buckets_[bucket_of(flow.vnic, flow.address)];
    while (*link != at)
        link = &flows_[*link].next;
    *link = flow.next;
    set_ruled(flow, false);
    --counts_[flow.vnic];
    --size_;
    flow.vnic = kNoVnic;
    flow.next = free_;
    free_ = at;
    if (size_ == 0) {
        end_ = 0;
        free_ = kNoFlow;
    }
}

}  // namespace weir
