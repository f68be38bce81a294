// request_gate.h - requests wait here until every resource of their path can pay: the appliance, the way to
// it, the way back. Source: Pulsar 4.4 (multi-resource token bucket); corner cases of algorithms 1.7.
// Units: appliance tokens; accounted bytes; Nanos. Threads: one owner (a worker). Allocates only when built.
//
// A request is charged to all its resources at once or to none. What it asks of a bucket is no more than the
// bucket holds; it then pays in full, and debt keeps the long-run rate exact. Order holds within a
// connection. A connection whose first request has to wait is passed by others as far as these need nothing
// of what it waits for: a read that waits for the way back does not hold back a write. Where the appliance
// has a window, a request that every bucket can pay for enters by way of its ApplianceGate.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/clock.h"
#include "vswitch/qos/buckets/timing_wheel.h"
#include "vswitch/qos/buckets/token_bucket.h"
#include "vswitch/qos/requests/appliance_gate.h"
#include "vswitch/qos/schedulers/packet_queue.h"
#include "vswitch/stats.h"

namespace weir {

/// What a packet's requests cost, by PathResource; the last is what they take of the appliance's window.
using CostVector = std::array<std::uint32_t, kRequestHolds>;

class RequestGate {
  public:
    using Flow = std::uint32_t;
    using Connection = std::uint64_t;  ///< any number that tells connections apart

    struct Setup {
        std::uint32_t flows = 0;         ///< Flows are 0 .. flows-1
        std::uint32_t connections = 64;  ///< that have something waiting at once, a power of two
        std::uint32_t packets = 256;     ///< that may wait in all
        TimingWheel* wheel = nullptr;    ///< outlives the gate
        std::uint32_t wheel_id = 0;      ///< id of flow 0 in that wheel
    };
    struct Profile {
        std::array<BucketProfile, kPathResources> limits;
        std::uint32_t bytes_max = 256 * 1024;  ///< that may wait
        bool multi_resource = true;            ///< false: the first that has a limit decides alone
        GateProfile window;                    ///< its part of the appliance's, where that has one
    };
    /// What waits.
    struct Held {
        PacketRef packet;
        Connection connection;
        std::uint64_t mark;          ///< its owner's
        std::uint32_t entering = 0;  ///< tokens of the appliance's window: set when it is let go
    };
    /// What waits of one connection: sequence numbers of its first and behind its last byte.
    struct Span {
        std::uint32_t from = 0;
        std::uint32_t to = 0;
    };

    explicit RequestGate(const Setup& setup);

    // Changes; not per packet.

    /// @param window of the appliance, shared by the flows to it; nullptr: it has none
    void open(Flow flow, const Profile& profile, ApplianceGate* window, Nanos now);
    /// What it holds is kept, as far as the new buckets hold so much.
    void change(Flow flow, const Profile& profile, Nanos now);
    /// Gives all that waits to take(const PacketRef&); the flow may be opened again.
    template <class Take>
    void close(Flow flow, Nanos now, Take&& take);

    // Per packet.

    /// Fetches what admit() will read.
    void prefetch(Flow flow) const {
        const auto* const at = reinterpret_cast<const char*>(&flows_[flow]);
        for (std::size_t line = 0; line < offsetof(FlowState, looked_at); line += 64)
            __builtin_prefetch(at + line, 1);
    }
    /// The packet may pass and has been charged. If not, it is to be held.
    [[nodiscard]] bool admit(Flow flow, Connection connection, const CostVector& cost, Nanos now);
    /// One that is not admitted can be held. Ask before it is charged to anything else.
    [[nodiscard]] bool has_room(Flow flow, Connection connection, std::uint32_t bytes) const {
        const FlowState& of = flows_[flow];
        return of.packets == 0 ? free_place_ != kNone && free_waiter_ != kNone
                               : free_place_ != kNone && of.bytes + bytes <= of.profile.bytes_max &&
                                     (free_waiter_ != kNone || find(connection) != kNone);
    }
    /// After has_room().
    void hold(Flow flow, const Held& held, const CostVector& cost, Span bytes, Nanos now);
    /// What of the connection waits; from == to when nothing does.
    [[nodiscard]] Span held(Flow flow, Connection connection) const {
        const WaiterId at = flows_[flow].packets != 0 ? find(connection) : kNone;
        return at == kNone ? Span{} : waiters_[at].bytes;
    }
    /// The wheel fired: gives what may leave now to give(const Held&), a burst of it at most.
    template <class Give>
    void wake(Flow flow, Nanos now, Give&& give) {
        flows_[flow].fires_at = kNever;
        let_go(flow, now, give);
    }
    /// The appliance's window has room for one more, which is let go if it is still there and all can pay.
    template <class Give>
    void grant(const ApplianceGate::Grant& grant, Nanos now, Give&& give);
    /// A request was charged by an estimate; this is what it was.
    void settle(Flow flow, PathResource resource, std::uint32_t charged, std::uint32_t actual, Nanos now);

    /// The flow's tallies: used, queued, blocked_ns, limit, held, held_total.
    void read(Flow flow, Nanos now, RequestFlowStats& stats) const;
    /// Something may have to wait.
    [[nodiscard]] bool limited(Flow flow) const { return flows_[flow].limited != 0; }
    [[nodiscard]] bool waiting(Flow flow) const { return flows_[flow].packets != 0; }
    /// How long a request of this cost is likely to wait, if it came now behind all that waits and `before`
    /// more like it: no less than the first in turn has waited.
    [[nodiscard]] Nanos likely_wait(Flow flow, const CostVector& cost, std::uint32_t before, Nanos now) const;
    /// Connections with something waiting.
    [[nodiscard]] std::uint32_t waiting_connections(Flow flow) const { return flows_[flow].connections; }
    /// Of all that has waited and been let go.
    [[nodiscard]] std::uint64_t let_go_bytes(Flow flow) const { return flows_[flow].let_go_bytes; }

  private:
    using WaiterId = std::uint32_t;
    using PlaceId = std::uint32_t;
    using Mask = std::uint8_t;
    static constexpr std::uint32_t kNone = UINT32_MAX;
    /// Connections that are looked at in one go, and packets that leave.
    static constexpr unsigned kLooks = 64;
    static constexpr unsigned kBurst = 32;

    /// What admit() reads comes first.
    struct alignas(64) FlowState {
        std::array<TokenBucket, kPathResources> buckets;
        Mask limited = 0;  ///< resources that are asked
        Mask blocked = 0;  ///< ... and could not pay when last looked at
        bool open = false;
        bool granted = false;  ///< the window has been paid for the next to go
        std::uint32_t packets = 0;
        ApplianceGate* window = nullptr;
        std::array<std::uint64_t, kPathResources> used{};
        Nanos looked_at = 0;
        Nanos fires_at = kNever;  ///< in the wheel until then
        WaiterId head = kNone;    ///< connections in turn
        WaiterId tail = kNone;
        std::uint32_t bytes = 0;
        std::uint32_t connections = 0;
        std::uint64_t let_go_bytes = 0;
        std::uint32_t entrants = 0;  ///< ... that take something of the window
        std::uint64_t held_total = 0;
        Profile profile;
        std::array<std::uint64_t, kPathResources> queued{};
        std::array<Nanos, kRequestHolds> blocked_ns{};
    };
    /// A connection with something waiting.
    struct Waiter {
        Connection connection = 0;
        PlaceId head = kNone;
        PlaceId tail = kNone;
        WaiterId next = kNone;  ///< of its flow, or among the free
        WaiterId next_hash = kNone;
        Span bytes;
    };
    struct Place {
        PacketRef packet;
        CostVector cost;
        std::uint64_t mark;
        PlaceId next;
    };
    static constexpr Mask kWindow = 1U << kWindowHold;

    static void set_profile(FlowState& flow, const Profile& profile, Nanos now);
    [[nodiscard]] static Mask needs(const FlowState& flow, const CostVector& cost);
    [[nodiscard]] static Mask lacking(const FlowState& flow, const CostVector& cost, Nanos now);
    [[nodiscard]] static Nanos ready_at(const FlowState& flow, const CostVector& cost, Mask lacks);
    [[nodiscard]] static Mask lacks_window(const FlowState& flow, std::uint32_t tokens);
    [[nodiscard]] bool pay_now(Flow flow, const CostVector& cost, Nanos now);
    static void pay(FlowState& flow, const CostVector& cost, Nanos now);
    [[nodiscard]] std::size_t hash(Connection connection) const {
        return connection * 0x9E37'79B9'7F4A'7C15 >> shift_;
    }
    [[nodiscard]] WaiterId find(Connection connection) const {
        WaiterId at = buckets_[hash(connection)];
        while (at != kNone && waiters_[at].connection != connection)
            at = waiters_[at].next_hash;
        return at;
    }
    [[nodiscard]] WaiterId add_waiter(FlowState& flow, Connection connection);
    void remove_waiter(FlowState& flow, WaiterId before, WaiterId at);
    void put_last(FlowState& flow, WaiterId before, WaiterId at);
    void unlink(FlowState& flow, WaiterId before, WaiterId at) {
        (before == kNone ? flow.head : waiters_[before].next) = waiters_[at].next;
        if (flow.tail == at)
            flow.tail = before;
    }
    Held pop(FlowState& flow, Waiter& waiter);
    template <class Give>
    void let_go(Flow flow, Nanos now, Give&& give);
    void enter(Flow flow, std::uint32_t tokens, Nanos now);
    /// The first connection in turn that may go, and whom it follows; kNone: sets the wheel, and says who
    /// waits for the window.
    [[nodiscard]] WaiterId next_to_go(Flow flow, Nanos now, WaiterId& before);
    void announce(Flow flow, std::uint32_t tokens, Nanos now);
    void wait_until(Flow flow, Nanos at, Nanos now);
    void tally_blocked(FlowState& flow, Nanos now) const;

    TimingWheel& wheel_;
    std::uint32_t wheel_id_;
    unsigned shift_;
    WaiterId free_waiter_ = 0;
    PlaceId free_place_ = 0;
    std::vector<FlowState> flows_;
    std::vector<Waiter> waiters_;
    std::vector<WaiterId> buckets_;
    std::vector<Place> places_;
};

template <class Take>
void RequestGate::close(Flow id, Nanos now, Take&& take) {
    FlowState& flow = flows_[id];
    if (flow.fires_at != kNever)
        wheel_.remove(wheel_id_ + id);
    while (flow.head != kNone) {
        Waiter& waiter = waiters_[flow.head];
        while (waiter.head != kNone)
            take(pop(flow, waiter).packet);
        remove_waiter(flow, kNone, flow.head);
    }
    if (flow.window != nullptr)
        flow.window->close(static_cast<ApplianceGate::Flow>(id), now);
    flow = FlowState{};
}

template <class Give>
void RequestGate::let_go(Flow id, Nanos now, Give&& give) {
    FlowState& flow = flows_[id];
    for (unsigned given = 0;;) {
        WaiterId before = kNone;
        const WaiterId at = next_to_go(id, now, before);
        if (at == kNone)
            return;
        Waiter& waiter = waiters_[at];
        const CostVector cost = places_[waiter.head].cost;
        pay(flow, cost, now);
        enter(id, cost[kWindowHold], now);
        do {  // the request, and what follows it without another one
            give(pop(flow, waiter));
            ++given;
        } while (waiter.head != kNone && needs(flow, places_[waiter.head].cost) == 0);
        if (waiter.head == kNone)
            remove_waiter(flow, before, at);
        else if (flow.tail != at)
            put_last(flow, before, at);
        if (given >= kBurst) {
            if (flow.packets != 0)
                wait_until(id, now, now);
            return;
        }
    }
}

template <class Give>
void RequestGate::grant(const ApplianceGate::Grant& grant, Nanos now, Give&& give) {
    FlowState& flow = flows_[grant.flow];
    flow.granted = true;
    flow.window->correct(grant.tokens, 0);  // enter() takes what it really is
    let_go(grant.flow, now, give);
    flow.granted = false;
}

}  // namespace weir
