// destination_limits.h - the flows that have a limiter of their own, because their destination asked for it,
// or the controller rules them: then the lower of both rates holds, and what passes is counted. Source:
// EyeQ 3.3 (per-destination limiters only on feedback, halving in silence, garbage collection). Units: tokens
// are accounted bytes; tokens per second; ns. Threads: one owner (a worker). Allocates only when built.
//
// A flow is what one vNIC sends to one address (its VLAN is the vNIC's). The table knows who they are and
// what they may send; their packets wait in the scheduler, which asks for the limiter. Flows take the lowest
// places, so that a sweep passes over those that were in use of late and not over the whole table.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/clock.h"
#include "common/ids.h"
#include "vswitch/qos/buckets/token_bucket.h"

namespace weir {

/// Index of a flow with a limiter.
using FlowId = std::uint32_t;
inline constexpr FlowId kNoFlow = UINT32_MAX;
/// A rate that is none.
inline constexpr std::uint64_t kUnbounded = UINT64_MAX;

class DestinationLimits {
  public:
    struct Profile {
        std::uint64_t rate_min = 1'250'000;       ///< silence never takes a flow below: 10 Mbit/s
        std::uint64_t line_rate = 1'250'000'000;  ///< a flow that may send so much needs no limiter
        Nanos silence = 100'000'000;              ///< without feedback for so long, the rate halves
        Nanos idle = 2'000'000'000;  ///< without traffic for so long (and 2 ms), the flow is forgotten
    };
    enum class Heard : std::uint8_t {
        kOpened,   ///< a new flow
        kChanged,  ///< its rate is another now
        kNoNeed,   ///< no flow, and a rate that needs none
        kStale,    ///< the sequence is not newer than the last
        kFull      ///< no room for another flow
    };
    struct Result {
        Heard heard;
        FlowId flow;  ///< kNoFlow unless opened or changed
    };

    /// @param capacity flows, a power of two  @param vnics VnicIds are 0 .. vnics-1
    DestinationLimits(std::uint32_t capacity, std::size_t vnics, const Profile& profile);

    /// One compare for a vNIC that has no flow here.
    [[nodiscard]] FlowId find(VnicId vnic, std::uint64_t address) const {
        if (counts_[vnic] == 0)
            return kNoFlow;
        FlowId flow = buckets_[bucket_of(vnic, address)];
        while (flow != kNoFlow && (flows_[flow].address != address || flows_[flow].vnic != vnic))
            flow = flows_[flow].next;
        return flow;
    }
    [[nodiscard]] bool any(VnicId vnic) const { return counts_[vnic] != 0; }
    [[nodiscard]] bool any_ruled(VnicId vnic) const { return ruled_counts_[vnic] != 0; }

    /// Feedback for a vNIC from an address. Sequences compare as serial numbers (RFC 1982); after `silence`
    /// any is taken, so that a receiver that has restarted is heard.
    Result hear(VnicId vnic, std::uint64_t address, std::uint64_t rate, std::uint32_t sequence, Nanos now);

    /// The controller's word: the flow may use no more than `rate` from now on, and is counted; kUnbounded:
    /// it is only counted. @return opened, changed, or full
    Result rule(VnicId vnic, std::uint64_t address, std::uint64_t rate, Nanos now);
    /// The controller says nothing of it any more. @return changed, or no need when there is no such flow
    Result unrule(VnicId vnic, std::uint64_t address, Nanos now);
    [[nodiscard]] bool ruled(FlowId flow) const { return flows_[flow].ruled; }
    /// What has passed since the flow is ruled.
    [[nodiscard]] std::uint64_t bytes(FlowId flow) const { return rules_[flow].bytes; }

    /// The flow has no limiter any more; nothing waits in it.
    void forget(FlowId flow);

    [[nodiscard]] TokenBucket& limiter(FlowId flow) { return flows_[flow].limiter; }
    [[nodiscard]] VnicId vnic_of(FlowId flow) const { return flows_[flow].vnic; }
    [[nodiscard]] std::uint64_t rate(FlowId flow) const { return flows_[flow].rate; }
    /// The flow has traffic.
    void use(FlowId flow, Nanos now) { flows_[flow].used_at = ticks(now); }
    /// So much of it passes.
    void count(FlowId flow, std::uint32_t bytes) {
        if (flows_[flow].ruled)
            rules_[flow].bytes += bytes;
    }

    /// Looks at the next `budget` places: halves rates in silence, and forgets flows that are idle or free,
    /// if let_go(flow) agrees (nothing waits in it). changed(flow) tells of other rates.
    template <typename LetGo, typename Changed>
    void sweep(Nanos now, unsigned budget, LetGo&& let_go, Changed&& changed);
    /// Forgets the vNIC's flows, calling closed(flow) for each.
    template <typename Closed>
    void remove(VnicId vnic, Closed&& closed);

    [[nodiscard]] std::uint32_t size() const { return size_; }
    /// Without those that are ruled.
    [[nodiscard]] std::uint32_t asked() const { return size_ - ruled_; }
    [[nodiscard]] std::uint32_t asked(VnicId vnic) const { return counts_[vnic] - ruled_counts_[vnic]; }
    [[nodiscard]] std::uint32_t capacity() const { return static_cast<std::uint32_t>(flows_.size()); }

  private:
    /// Coarse time, 2^20 ns: 32 bits of it go round in 52 days. Compared by difference.
    using Ticks = std::uint32_t;
    static constexpr unsigned kTickBits = 20;

    struct alignas(64) Flow {
        std::uint64_t address = 0;
        TokenBucket limiter;
        std::uint64_t rate = 0;
        Nanos heard_at = 0;  ///< or when its rate was halved last
        Ticks used_at = 0;
        FlowId next = kNoFlow;  ///< in its bucket, or among the free
        std::uint32_t sequence = 0;
        VnicId vnic = kNoVnic;
        bool silent = false;  ///< its rate was halved since it was heard
        bool ruled = false;
    };
    /// Of a flow that is ruled; read where rates change, not where frames pass a limit.
    struct Rule {
        std::uint64_t cap = 0;
        std::uint64_t heard = 0;  ///< what the destination asked for; the line rate when it asks for nothing
        std::uint64_t bytes = 0;
    };
    static_assert(sizeof(Flow) == 64);

    [[nodiscard]] static Ticks ticks(Nanos time) { return static_cast<Ticks>(time >> kTickBits); }

    [[nodiscard]] std::size_t bucket_of(VnicId vnic, std::uint64_t address) const {
        return ((address ^ static_cast<std::uint64_t>(vnic) << 48) * 0x9E37'79B9'7F4A'7C15) >> shift_;
    }
    Result open(VnicId vnic, std::uint64_t address, std::uint64_t rate, std::uint32_t sequence, Nanos now);
    void set_rate(Flow& flow, std::uint64_t rate, Nanos now);
    void set_ruled(Flow& flow, bool ruled);
    /// What the destination asks for, under the rule.
    void set_heard(FlowId at, std::uint64_t rate, Nanos now);
    [[nodiscard]] std::uint64_t heard(FlowId at) const {
        return flows_[at].ruled ? rules_[at].heard : flows_[at].rate;
    }
    [[nodiscard]] bool unused(const Flow& flow, Nanos now) const {
        return ticks(now) - flow.used_at > idle_ticks_;
    }
    [[nodiscard]] bool dispensable(const Flow& flow, Nanos now) const {
        return !flow.ruled && (flow.rate >= profile_.line_rate || unused(flow, now));
    }

    Profile profile_;
    Ticks idle_ticks_;  ///< at least `idle`
    unsigned shift_;
    std::uint32_t size_ = 0;
    std::uint32_t ruled_ = 0;
    FlowId end_ = 0;         ///< places from here on were not in use since the table was empty
    FlowId free_ = kNoFlow;  ///< places before that are free
    FlowId cursor_ = 0;      ///< the sweep's next place
    std::vector<FlowId> buckets_;
    std::vector<Flow> flows_;
    std::vector<Rule> rules_;            // by flow
    std::vector<std::uint32_t> counts_;  // by vNIC
    std::vector<std::uint32_t> ruled_counts_;
};

template <typename LetGo, typename Changed>
void DestinationLimits::sweep(Nanos now, unsigned budget, LetGo&& let_go, Changed&& changed) {
    for (budget = std::min(budget, end_); budget > 0 && size_ != 0; --budget) {
        if (cursor_ >= end_)
            cursor_ = 0;
        const FlowId at = cursor_++;
        Flow& flow = flows_[at];
        if (flow.vnic == kNoVnic)
            continue;
        if (dispensable(flow, now) && let_go(at)) {
            forget(at);
        } else if (heard(at) < profile_.line_rate && now >= flow.heard_at + profile_.silence) {
            flow.silent = true;
            flow.heard_at = now;
            // A ruled flow stays; what was asked of it while it was in use is forgotten alike.
            set_heard(at, flow.ruled && unused(flow, now) ? profile_.line_rate : heard(at) / 2, now);
            changed(at);
        }
    }
}

template <typename Closed>
void DestinationLimits::remove(VnicId vnic, Closed&& closed) {
    for (FlowId at = 0; counts_[vnic] != 0; ++at) {
        if (flows_[at].vnic != vnic)
            continue;
        closed(at);
        forget(at);
    }
}

}  // namespace weir
