// demand_sampler.h - demands of the switch's flows, from counters that are sampled every 10 ms.
// Source: Pulsar 4.2; docs/algorithms.md 7.1; docs/protocol.md. Units: tokens (bytes on links); Nanos of a
// monotonic clock. Threads: agent.
//
// Used tokens are the difference of two readings of a cumulative counter; queued and outstanding tokens are
// means over the samples between them. A record states them for a whole interval: a flow that was first seen
// 0.25 s ago and has used 100 tokens since is reported with 400 tokens when the interval is 1 s.
//
// A record also states the limit for which requests waited, if they did so for more than half of the
// interval. A flow that waits 0.7 s for the switch's own limit and 0.3 s for the controller's rate is blocked
// by the first: it could use no more tokens if the controller allowed them.
#pragma once

#include <array>
#include <map>
#include <span>
#include <vector>

#include "common/clock.h"
#include "common/wire/records.h"
#include "vswitch/agent/switch_control.h"

namespace weir {

/// Ids that the controller gave to the ends of the switch's flows.
using FlowKeys = std::map<LocalFlow, wire::FlowKey>;

class DemandSampler {
  public:
    /// Length of the controller's interval. A flow that did nothing for three intervals is idle.
    void set_interval(Nanos interval) { interval_ = interval; }
    /// Whether the controller knows FlowDemand::blocked.
    void set_states_blocked(bool states) { states_blocked_ = states; }

    /// One sample of each flow, every 10 ms.
    void add(std::span<const FlowSample> samples, Nanos now);

    /// Records of all flows that have a key and are not idle, ordered by key, for the interval that ends now.
    [[nodiscard]] std::vector<wire::FlowDemand> end_interval(const FlowKeys& keys, Nanos now) {
        return report(keys, now, true);
    }

    /// The same between two intervals: flows that are new or have a backlog as of now, the others as last
    /// reported.
    [[nodiscard]] std::vector<wire::FlowDemand> update(const FlowKeys& keys, Nanos now) {
        return report(keys, now, false);
    }

    /// Whether an update should not wait for the end of the interval: a flow was not reported yet, or its
    /// queue is more than twice the tokens of its last record.
    [[nodiscard]] bool needs_update(const FlowKeys& keys, Nanos now) const;

    /// A new interval begins for every flow; nothing from before it is reported.
    void restart();

    /// Forgets flows that have no key.
    void forget_unknown(const FlowKeys& keys);

  private:
    /// A flow in the current interval.
    struct Tally {
        FlowSample last;
        FlowSample began;  ///< last sample before the interval
        Nanos since = 0;   ///< when the interval began
        Nanos sampled = 0;
        Nanos active = 0;                           ///< when a sample last differed or had something waiting
        std::array<double, wire::kParts> queued{};  ///< sum over the samples, as the next two
        double outstanding_tokens = 0;
        double outstanding = 0;
        std::array<Nanos, wire::kBlockedBy>
            blocked_ns{};  ///< time of the interval that requests waited for each
        unsigned samples = 0;

        void restart();
    };

    [[nodiscard]] bool is_idle(const Tally& tally, Nanos now) const;
    static void tally_blocked(const FlowSample& sample, Tally& tally);
    [[nodiscard]] static wire::Blocked blocked_in(const Tally& tally, Nanos elapsed);
    [[nodiscard]] wire::FlowDemand record_of(const Tally& tally, wire::FlowKey key, Nanos now) const;
    /// @param whole the interval ends: every flow gets a new record, and a new interval
    [[nodiscard]] std::vector<wire::FlowDemand> report(const FlowKeys& keys, Nanos now, bool whole);

    Nanos interval_ = 0;
    bool states_blocked_ = false;
    std::map<LocalFlow, Tally> tallies_;
    std::map<wire::FlowKey, wire::FlowDemand> reported_;
};

}  // namespace weir
