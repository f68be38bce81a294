// demand_sampler.cc - tallies of the flows, and the records that are made from them.
#include "vswitch/agent/demand_sampler.h"

#include <algorithm>

namespace weir {
namespace {

/// Time from which a shorter part of an interval is extrapolated: one sampling period.
constexpr Nanos kElapsedMin = 10'000'000;
constexpr Nanos kIdleIntervals = 3;
/// Part of the interval that a flow's requests wait for a limit before that limit counts as the one that
/// holds the flow.
constexpr Nanos kBlockedPart = 2;

bool is_active(const FlowSample& sample, const FlowSample& before) {
    return sample.used != before.used || sample.queued != FlowTokens{} || sample.outstanding != 0;
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
                                          sample.used[wire::kThere] < tally.last.used[wire::kThere]);
        if (is_new || is_reset) {
            tally = Tally{};
            tally.last = sample;
            tally.sampled = now;
            tally.restart();
        }
        if (is_active(sample, tally.last)) {
            if (is_idle(tally, now))
                tally.restart();
            tally.active = now;
        }
        tally_blocked(sample, tally);
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
        const bool is_stale = whole || is_new || tally.last.queued[wire::kTokens] > 0;
        wire::FlowDemand& record = records[key->second];
        record = is_stale ? record_of(tally, key->second, now) : last->second;
        record.marks = is_new ? wire::FlowDemand::kNew : 0;
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
