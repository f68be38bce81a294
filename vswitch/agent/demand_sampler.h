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
// Traffic to a peer has no requests whose answers are outstanding. Bytes that its rate made the switch drop
// count as its backlog, and so does a quarter of its use for the part of the time in which it was held back:
// TCP offers no more than passes. Where traffic to a peer begins and overflows its queue, no one can see how
// much it wants; it is reported to want all of the uplink, with the mark kNew, until the next record.
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
    /// Bytes per second of the uplink; 0: there is none.
    void set_link(double bytes_per_sec) { link_ = bytes_per_sec; }

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

    /// Whether an update should not wait for the end of the interval: a flow was not reported yet, its queue
    /// is more than twice the tokens of its last record, or the bytes of the last 20 ms to a peer show that
    /// it offers more than twice its last record, and 1% of the uplink more.
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
        unsigned held = 0;  ///< samples in which bytes to a peer waited for its rate, or were dropped for it
        /// Of the two samples before the last one, the older first; not of an interval.
        std::array<FlowSample, 2> before;
        std::array<Nanos, 2> before_at{};
        Nanos presumed_at = 0;  ///< when it was last reported to want all of the uplink

        void restart();
    };

    [[nodiscard]] bool is_idle(const Tally& tally, Nanos now) const;
    static void tally_blocked(const FlowSample& sample, Tally& tally);
    [[nodiscard]] static wire::Blocked blocked_in(const Tally& tally, Nanos elapsed);
    /// Bytes to a peer that the last samples would be in an interval, with those that wait or were dropped.
    [[nodiscard]] double offered(const Tally& tally) const;
    [[nodiscard]] bool has_grown(const Tally& tally, const wire::FlowDemand& stated) const;
    /// Traffic to a peer begins to overflow its queue. @param stated null: it was not reported yet
    [[nodiscard]] bool begins(const Tally& tally, const wire::FlowDemand* stated, Nanos now) const;
    void add_peer_backlog(const Tally& tally, double scale, wire::FlowDemand& record) const;
    [[nodiscard]] wire::FlowDemand record_of(const Tally& tally, wire::FlowKey key, Nanos now) const;
    /// @param whole the interval ends: every flow gets a new record, and a new interval
    [[nodiscard]] std::vector<wire::FlowDemand> report(const FlowKeys& keys, Nanos now, bool whole);

    Nanos interval_ = 0;
    bool states_blocked_ = false;
    double link_ = 0;
    std::map<LocalFlow, Tally> tallies_;
    std::map<wire::FlowKey, wire::FlowDemand> reported_;
};

}  // namespace weir
