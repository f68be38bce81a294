// demand_sampler.cc - tallies of the flows, and the records that are made from them.
#include "vswitch/agent/demand_sampler.h"

#include <algorithm>

#include "vswitch/base/limits.h"

namespace weir {
namespace {

/// Time from which a shorter part of an interval is extrapolated: one sampling period.
constexpr Nanos kElapsedMin = 10'000'000;
constexpr Nanos kIdleIntervals = 3;
/// Part of the interval that a flow's requests wait for a limit before that limit counts as the one that
/// holds the flow.
constexpr Nanos kBlockedPart = 2;
/// Part of its use that a peer's traffic is taken to want more while it is held back.
constexpr double kGrowth = 0.25;
/// Growth beyond this part of the uplink's bytes in an interval is worth a message; the least
/// `resolve_change` is as much.
constexpr double kLinkPart = 0.01;
/// Waiting bytes from which on a queue to a peer counts as full: it takes 128 KiB.
constexpr std::uint64_t kOverflow = limits::kQueueBytesMax / 2;
/// Intervals until the same traffic may again be taken to want all of the uplink.
constexpr Nanos kPresumeIntervals = 10;

bool is_active(const FlowSample& sample, const FlowSample& before) {
    return sample.used != before.used || sample.queued != FlowTokens{} || sample.outstanding != 0;
}

bool is_peer(const FlowSample& sample) {
    return !sample.flow.peer.empty();
}

/// Bytes to a peer that came from the vNIC so far.
double arrived(const FlowSample& sample) {
    return static_cast<double>(sample.used[wire::kThere]) + static_cast<double>(sample.refused) +
           static_cast<double>(sample.queued[wire::kThere]);
}

float tokens(double value) {
    return static_cast<float>(std::clamp(value, 0.0, double{wire::kTokensMax}));
}

}  // namespace

void DemandSampler::Tally::restart() {
    Tally next;
    next.last = next.began = last;
    next.since = next.sampled = sampled;
    next.active = active;
    next.before = before;
    next.before_at = before_at;
    next.presumed_at = presumed_at;
    *this = next;
}

bool DemandSampler::is_idle(const Tally& tally, Nanos now) const {
    return tally.active == 0 || now - tally.active > kIdleIntervals * interval_;
}

void DemandSampler::add(std::span<const FlowSample> samples, Nanos now) {
    for (const FlowSample& sample : samples) {
        auto [at, is_new] = tallies_.try_emplace(sample.flow);
        Tally& tally = at->second;
        // Counters that fell belong to a vNIC that was removed and added again.
        const bool is_reset = !is_new && (sample.used[wire::kTokens] < tally.last.used[wire::kTokens] ||
                                          sample.used[wire::kThere] < tally.last.used[wire::kThere] ||
                                          sample.refused < tally.last.refused);
        if (is_new || is_reset) {
            tally = Tally{};
            tally.last = sample;
            tally.sampled = now;
            tally.before.fill(sample);
            tally.before_at.fill(now);
            tally.restart();
        }
        if (is_active(sample, tally.last)) {
            if (is_idle(tally, now))
                tally.restart();
            tally.active = now;
        }
        tally_blocked(sample, tally);
        if (is_peer(sample)) {
            tally.held += sample.queued[wire::kThere] != 0 || sample.refused != tally.last.refused ? 1U : 0U;
            tally.before = {tally.before[1], tally.last};
            tally.before_at = {tally.before_at[1], tally.sampled};
        }
        tally.last = sample;
        tally.sampled = now;
        for (std::size_t i = 0; i < wire::kParts; ++i)
            tally.queued[i] += static_cast<double>(sample.queued[i]);
        tally.outstanding_tokens += static_cast<double>(sample.outstanding_tokens);
        tally.outstanding += static_cast<double>(sample.outstanding);
        ++tally.samples;
    }
}

/// Each limit's time goes to the side whose limit it is at present.
void DemandSampler::tally_blocked(const FlowSample& sample, Tally& tally) {
    for (std::size_t i = 0; i < kRequestHolds; ++i)
        tally.blocked_ns[static_cast<std::size_t>(sample.blocked_by[i])] +=
            sample.blocked_ns[i] - std::min(sample.blocked_ns[i], tally.last.blocked_ns[i]);
}

wire::Blocked DemandSampler::blocked_in(const Tally& tally, Nanos elapsed) {
    using enum wire::Blocked;
    wire::Blocked longest = kNotStated;
    Nanos most = elapsed / kBlockedPart;
    for (const wire::Blocked by : {kAppliance, kWay, kOwnLimit})
        if (const Nanos waited = tally.blocked_ns[static_cast<std::size_t>(by)]; waited > most) {
            longest = by;
            most = waited;
        }
    return longest;
}

double DemandSampler::offered(const Tally& tally) const {
    const Nanos span = std::max(tally.sampled - tally.before_at[0], kElapsedMin);
    return std::max(0.0, arrived(tally.last) - arrived(tally.before[0])) * static_cast<double>(interval_) /
           static_cast<double>(span);
}

bool DemandSampler::has_grown(const Tally& tally, const wire::FlowDemand& stated) const {
    if (!is_peer(tally.last))
        return false;
    const double was = double{stated.used[wire::kThere]} + double{stated.backlog[wire::kThere]};
    const double is = offered(tally);
    return is > 2 * was && is - was > kLinkPart * link_ * to_seconds(interval_);
}

bool DemandSampler::begins(const Tally& tally, const wire::FlowDemand* stated, Nanos now) const {
    if (!is_peer(tally.last))
        return false;
    const bool was_held = stated != nullptr && stated->backlog[wire::kThere] > 0;
    const bool was_presumed =
        tally.presumed_at != 0 && now - tally.presumed_at < kPresumeIntervals * interval_;
    return !was_held && !(stated != nullptr && was_presumed) &&
           (tally.last.refused != tally.before[0].refused || tally.last.queued[wire::kThere] >= kOverflow);
}

void DemandSampler::add_peer_backlog(const Tally& tally, double scale, wire::FlowDemand& record) const {
    const double refused = static_cast<double>(tally.last.refused - tally.began.refused) * scale;
    const double held = static_cast<double>(tally.held) / std::max(1U, tally.samples);
    record.backlog[wire::kThere] = tokens(double{record.backlog[wire::kThere]} + refused +
                                          kGrowth * held * double{record.used[wire::kThere]});
}

wire::FlowDemand DemandSampler::record_of(const Tally& tally, wire::FlowKey key, Nanos now) const {
    const Nanos elapsed = std::max(now - tally.since, kElapsedMin);
    const double scale = static_cast<double>(interval_) / static_cast<double>(elapsed);
    const double samples = std::max(1U, tally.samples);
    wire::FlowDemand record{.flow = key};
    if (states_blocked_)
        record.blocked = blocked_in(tally, elapsed);
    for (std::size_t i = 0; i < wire::kParts; ++i) {
        record.used[i] = tokens(static_cast<double>(tally.last.used[i] - tally.began.used[i]) * scale);
        record.backlog[i] = tokens(static_cast<double>(tally.last.queued[i]));
        record.queued[i] = tokens(tally.queued[i] / samples);
    }
    if (is_peer(tally.last))
        add_peer_backlog(tally, scale, record);
    // Only answered requests count as used; outstanding ones do not, so that the use of an overloaded
    // appliance is its throughput.
    const double unanswered = static_cast<double>(tally.last.outstanding_tokens) -
                              static_cast<double>(tally.began.outstanding_tokens);
    record.used[wire::kTokens] =
        tokens(std::max(0.0, double{record.used[wire::kTokens]} - unanswered * scale));
    record.outstanding[wire::kTokens] = tokens(tally.outstanding_tokens / samples);
    // Outstanding bytes are not known; in proportion to the tokens, eq. 6 gives the same demand for each
    // part.
    for (std::size_t i = 0; i < wire::kParts; ++i)
        if (i != wire::kTokens && record.used[wire::kTokens] > 0)
            record.outstanding[i] = tokens(double{record.outstanding[wire::kTokens]} *
                                           double{record.used[i]} / double{record.used[wire::kTokens]});
    // Little's law: mean latency = mean outstanding requests * elapsed time / responses.
    const auto responses = static_cast<double>(tally.last.responses - tally.began.responses);
    if (responses > 0)
        record.latency_us = static_cast<std::uint32_t>(
            std::min(tally.outstanding / samples * static_cast<double>(elapsed) / 1e3 / responses, 4e9));
    return record;
}

bool DemandSampler::needs_update(const FlowKeys& keys, Nanos now) const {
    return std::any_of(tallies_.begin(), tallies_.end(), [&](const auto& each) {
        const auto& [flow, tally] = each;
        const auto key = keys.find(flow);
        if (key == keys.end() || is_idle(tally, now))
            return false;
        const auto last = reported_.find(key->second);
        if (last == reported_.end())
            return true;
        if (has_grown(tally, last->second) || begins(tally, &last->second, now))
            return true;
        const double stated =
            double{last->second.used[wire::kTokens]} + double{last->second.backlog[wire::kTokens]};
        return static_cast<double>(tally.last.queued[wire::kTokens]) > 2 * stated;
    });
}

std::vector<wire::FlowDemand> DemandSampler::report(const FlowKeys& keys, Nanos now, bool whole) {
    std::map<wire::FlowKey, wire::FlowDemand> records;
    for (auto& [flow, tally] : tallies_) {
        const auto key = keys.find(flow);
        if (key == keys.end() || is_idle(tally, now))
            continue;
        const auto last = reported_.find(key->second);
        const bool is_new = last == reported_.end();
        const bool has_begun = begins(tally, is_new ? nullptr : &last->second, now);
        const bool has_more = !whole && !is_new && has_grown(tally, last->second);
        const bool is_stale =
            whole || is_new || has_begun || has_more || tally.last.queued[wire::kTokens] > 0;
        wire::FlowDemand& record = records[key->second];
        record = is_stale ? record_of(tally, key->second, now) : last->second;
        record.marks = is_new || has_begun ? wire::FlowDemand::kNew : 0;
        float& backlog = record.backlog[wire::kThere];
        if (has_more)
            backlog = std::max(backlog, tokens(offered(tally) - double{record.used[wire::kThere]}));
        if (has_begun) {
            backlog = std::max(backlog, tokens(link_ * to_seconds(interval_)));
            tally.presumed_at = now;
        }
        if (whole)
            tally.restart();
    }
    reported_ = std::move(records);
    std::vector<wire::FlowDemand> all;
    all.reserve(reported_.size());
    for (const auto& [key, record] : reported_)
        all.push_back(record);
    return all;
}

void DemandSampler::restart() {
    for (auto& [flow, tally] : tallies_)
        tally.restart();
}

void DemandSampler::forget_unknown(const FlowKeys& keys) {
    std::erase_if(tallies_, [&](const auto& each) { return !keys.contains(each.first); });
}

}  // namespace weir
