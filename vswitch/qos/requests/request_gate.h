// request_gate.h - requests to appliances wait here until every resource of their path can pay.
// Source: Pulsar 4.4; Choudhury and Hahne (ToN'98); docs/algorithms.md 5.3. Units: appliance tokens;
// accounted bytes; ns. Threads: one owner (a worker). Allocates only when built.
//
// A request uses several resources: the appliance (tokens), the uplink that carries it (bytes), the downlink
// that carries the response (bytes), the worker (cycles). Each service flow has a token bucket for each. A
// request is charged to all of them at once or to none; a bucket that holds less than one request's cost lets
// it pass when full and goes into debt, which keeps the rate exact.
//
// Example: a read of 64 KiB costs 65,536 tokens at the appliance and 66,000 bytes of downlink. The
// appliance's bucket could pay, but the downlink's, at 10 MB/s, is 33,000 bytes short: the read waits for 3.3
// ms, and no token is taken meanwhile. A write behind it on another connection needs no downlink and passes.
//
// Room is divided so that no flow takes it from another: each flow has a place and a waiter of its own, and
// takes more of the common ones only while it has fewer than are free. Example: with 2,048 common waiters one
// flow alone holds 1,024 connections; a second one gets 512 more of the rest, and a flow that holds nothing
// always has room.
//
// Order holds within a connection; between connections a request passes all that wait for something that it
// does not need. Where the appliance has a window (a bound on outstanding tokens), a request for which every
// bucket can pay enters by its ApplianceGate.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/clock.h"
#include "vswitch/base/stats.h"
#include "vswitch/qos/buckets/timing_wheel.h"
#include "vswitch/qos/buckets/token_bucket.h"
#include "vswitch/qos/requests/appliance_gate.h"
#include "vswitch/qos/schedulers/packet_queue.h"

namespace weir {

/// Cost of a packet's requests, by PathResource; the last is their tokens in the appliance's window.
using CostVector = std::array<std::uint32_t, kRequestHolds>;

class RequestGate {
  public:
    using Flow = std::uint32_t;        ///< a service flow
    using Connection = std::uint64_t;  ///< unique per connection

    struct Setup {
        std::uint32_t flows = 0;         ///< Flows are 0 .. flows-1
        std::uint32_t connections = 64;  ///< with waiting packets at once, a power of two; and one per flow
        std::uint32_t packets = 256;     ///< that may wait in all flows together; and one per flow
        TimingWheel* wheel = nullptr;    ///< outlives the gate
        std::uint32_t wheel_id = 0;      ///< id of flow 0 in that wheel
    };
    struct Profile {
        std::array<BucketProfile, kPathResources> limits;
        std::uint32_t bytes_max = 256 * 1024;  ///< of packets that may wait
        bool multi_resource = true;            ///< false: only the first resource with a limit decides
        GateProfile window;  ///< its reservation and shares in the appliance's window, if any
    };
    /// A packet that waits.
    struct Held {
        PacketRef packet;
        Connection connection;
        std::uint64_t mark;          ///< the caller's
        std::uint32_t entering = 0;  ///< tokens of the appliance's window; set when it is released
    };
    /// Bytes of one connection that wait, without a gap: sequence numbers of the first and behind the last.
    struct Span {
        std::uint32_t from = 0;
        std::uint32_t to = 0;
    };

    explicit RequestGate(const Setup& setup);

    // Changes; not per packet.

    /// @param window the appliance's, shared by the flows to it; nullptr: it has none
    void open(Flow flow, const Profile& profile, ApplianceGate* window, Nanos now);
    /// Levels of the buckets are kept, up to the new capacities.
    void change(Flow flow, const Profile& profile, Nanos now);
    /// Passes all packets that wait to take(const PacketRef&). The flow may be opened again.
    template <class Take>
    void close(Flow flow, Nanos now, Take&& take);

    // Per packet.

    /// Prefetches the lines that admit() reads.
    void prefetch(Flow flow) const {
        const auto* const at = reinterpret_cast<const char*>(&flows_[flow]);
        for (std::size_t line = 0; line < offsetof(FlowState, looked_at); line += 64)
            __builtin_prefetch(at + line, 1);
    }
    /// @return whether the packet may pass, and was charged; if not, it is to be held
    [[nodiscard]] bool admit(Flow flow, Connection connection, const CostVector& cost, Nanos now) {
        return (flows_[flow].packets == 0 || find(connection) == kNone) && admit_again(flow, cost, now);
    }
    /// The same for a retransmission of bytes before all that the connection has waiting.
    [[nodiscard]] bool admit_again(Flow flow, const CostVector& cost, Nanos now);
    /// A packet that admit() refuses could be held. To be asked before the packet is charged to anything.
    [[nodiscard]] bool has_room(Flow flow, Connection connection, std::uint32_t bytes) const {
        const FlowState& of = flows_[flow];
        return of.packets == 0 ||
               (of.packets < common(free_places_) && of.bytes + bytes <= of.profile.bytes_max &&
                (of.connections < common(free_waiters_) || find(connection) != kNone));
    }
    /// Keeps a packet that was refused; has_room() was true. Its bytes follow those of the connection that
    /// wait.
    void hold(Flow flow, const Held& held, const CostVector& cost, Span bytes, Nanos now);
    /// Keeps a packet that admit_again() refused, before those that wait.
    void hold_again(Flow flow, const Held& held, const CostVector& cost);
    /// Bytes of the connection that wait; from == to: none.
    [[nodiscard]] Span held(Flow flow, Connection connection) const {
        const WaiterId at = flows_[flow].packets != 0 ? find(connection) : kNone;
        return at == kNone ? Span{} : waiters_[at].bytes;
    }
    /// The wheel fired: releases the packets that may leave now, at most a burst, to give(const Held&).
    template <class Give>
    void wake(Flow flow, Nanos now, Give&& give) {
        flows_[flow].fires_at = kNever;
        release(flow, now, give);
    }
    /// The appliance's window has room for one more request, which is released if it still waits and every
    /// bucket can pay.
    template <class Give>
    void grant(const ApplianceGate::Grant& grant, Nanos now, Give&& give);
    /// Keeps the flow's requests from the appliance's window, or lets them enter again. Others are not kept.
    void bar(Flow flow, bool barred, Nanos now);
    /// Corrects a charge that was an estimate: `charged` tokens were taken, `actual` were used.
    void settle(Flow flow, PathResource resource, std::uint32_t charged, std::uint32_t actual, Nanos now);

    /// Fills in used, queued, blocked_ns, held and held_total.
    void read(Flow flow, Nanos now, RequestFlowStats& stats) const;
    /// A resource has a limit, so a request may have to wait.
    [[nodiscard]] bool limited(Flow flow) const { return flows_[flow].limited != 0; }
    [[nodiscard]] bool waiting(Flow flow) const { return flows_[flow].packets != 0; }
    /// Expected wait in ns of a request of this cost that arrives now, behind all that wait and `before` more
    /// like it; at least as long as the first has waited already.
    [[nodiscard]] Nanos likely_wait(Flow flow, const CostVector& cost, std::uint32_t before, Nanos now) const;
    /// Connections with waiting packets.
    [[nodiscard]] std::uint32_t waiting_connections(Flow flow) const { return flows_[flow].connections; }
    /// Bytes of all packets that waited and were released, since open().
    [[nodiscard]] std::uint64_t released_bytes(Flow flow) const { return flows_[flow].released_bytes; }

  private:
    using WaiterId = std::uint32_t;
    using PlaceId = std::uint32_t;
    using Mask = std::uint8_t;
    static constexpr std::uint32_t kNone = UINT32_MAX;
    /// Bounds of one call: connections looked at, and packets released.
    static constexpr unsigned kLooks = 64;
    static constexpr unsigned kBurst = 32;

    /// The fields that admit() reads come first.
    struct alignas(64) FlowState {
        std::array<TokenBucket, kPathResources> buckets;
        Mask limited = 0;  ///< resources with a limit, which are asked
        Mask blocked = 0;  ///< limited resources that could not pay when last asked
        bool open : 1 = false;
        bool granted : 1 = false;  ///< the window granted its tokens to the next request
        bool barred : 1 = false;   ///< from the window
        std::uint32_t packets = 0;
        ApplianceGate* window = nullptr;
        std::array<std::uint64_t, kPathResources> used{};
        Nanos looked_at = 0;
        Nanos fires_at = kNever;  ///< in the wheel until then
        WaiterId head = kNone;    ///< connections in turn
        WaiterId tail = kNone;
        std::uint32_t bytes = 0;
        std::uint32_t connections = 0;
        std::uint64_t released_bytes = 0;
        std::uint32_t entrants = 0;  ///< packets that wait and take tokens of the window
        std::uint64_t held_total = 0;
        Profile profile;
        std::array<std::uint64_t, kPathResources> queued{};
        std::array<Nanos, kRequestHolds> blocked_ns{};
    };
    /// A connection with waiting packets.
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
        std::uint32_t end;  ///< sequence number behind its bytes; of a retransmission, of the first that wait
        std::uint64_t mark;
        PlaceId next;
    };
    static_assert(sizeof(Place) == 64);
    static constexpr Mask kWindow = 1U << kWindowHold;

    static void set_profile(FlowState& flow, const Profile& profile, Nanos now);
    [[nodiscard]] static Mask needs(const FlowState& flow, const CostVector& cost);
    [[nodiscard]] static Mask lacking(const FlowState& flow, const CostVector& cost, Nanos now);
    [[nodiscard]] static Nanos ready_at(const FlowState& flow, const CostVector& cost, Mask lacks, Nanos now);
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
    /// Of the free ones, those that are not set aside for flows that hold nothing.
    [[nodiscard]] std::uint32_t common(std::uint32_t free) const { return free - idle_flows_; }
    PlaceId take_place(FlowState& flow, const Held& held, const CostVector& cost, std::uint32_t end);
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
    void release(Flow flow, Nanos now, Give&& give);
    void enter(Flow flow, std::uint32_t tokens, Nanos now);
    /// The first connection in turn whose first packet may leave, and in `before` the one that it follows.
    /// kNone: none may; the wheel is set, and requests that lack only the window are announced to it.
    [[nodiscard]] WaiterId next_to_go(Flow flow, Nanos now, WaiterId& before);
    void announce(Flow flow, std::uint32_t tokens, Nanos now);
    void wait_until(Flow flow, Nanos at, Nanos now);
    void tally_blocked(FlowState& flow, Nanos now) const;

    TimingWheel& wheel_;
    std::uint32_t wheel_id_;
    unsigned shift_;
    WaiterId free_waiter_ = 0;
    PlaceId free_place_ = 0;
    std::uint32_t free_waiters_;
    std::uint32_t free_places_;
    std::uint32_t idle_flows_;  ///< that hold nothing
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
void RequestGate::release(Flow id, Nanos now, Give&& give) {
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
        do {  // the request, and the packets behind it that begin no other request
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
    flow.window->correct(grant.tokens, 0);  // enter() takes the tokens of the request that is released
    release(grant.flow, now, give);
    flow.granted = false;
}

}  // namespace weir
