// request_gate.cc - RequestGate: which request may leave, and which buckets the others wait for, until when.
#include "vswitch/qos/requests/request_gate.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace weir {

RequestGate::RequestGate(const Setup& setup)
    : wheel_(*setup.wheel),
      wheel_id_(setup.wheel_id),
      shift_(64 - static_cast<unsigned>(std::countr_zero(setup.connections))),
      free_waiters_(setup.connections + setup.flows),
      free_places_(setup.packets + setup.flows),
      idle_flows_(setup.flows),
      flows_(setup.flows),
      waiters_(free_waiters_),
      buckets_(setup.connections, kNone),
      places_(free_places_) {
    assert(std::has_single_bit(setup.connections) && setup.connections > 1 && setup.packets > 0);
    for (WaiterId at = 0; at < free_waiters_; ++at)
        waiters_[at].next = at + 1 < free_waiters_ ? at + 1 : kNone;
    for (PlaceId at = 0; at < free_places_; ++at)
        places_[at].next = at + 1 < free_places_ ? at + 1 : kNone;
}

void RequestGate::set_profile(FlowState& flow, const Profile& profile, Nanos now) {
    flow.profile = profile;
    flow.limited = 0;
    for (std::size_t i = 0; i < kPathResources; ++i) {
        flow.buckets[i].set_profile(profile.limits[i], now);
        if (!profile.limits[i].unlimited() && (profile.multi_resource || flow.limited == 0))
            flow.limited = static_cast<Mask>(flow.limited | 1U << i);
    }
    if (flow.window != nullptr)
        flow.limited |= kWindow;
}

void RequestGate::open(Flow id, const Profile& profile, ApplianceGate* window, Nanos now) {
    FlowState& flow = flows_[id];
    assert(!flow.open);
    flow.open = true;
    flow.window = window;
    flow.looked_at = now;
    if (window != nullptr)
        window->open(static_cast<ApplianceGate::Flow>(id), profile.window, now);
    set_profile(flow, profile, now);
}

void RequestGate::change(Flow id, const Profile& profile, Nanos now) {
    FlowState& flow = flows_[id];
    assert(flow.open);
    if (flow.window != nullptr)
        flow.window->change(static_cast<ApplianceGate::Flow>(id), profile.window, now);
    set_profile(flow, profile, now);
    if (flow.packets != 0)  // a request may leave earlier now
        wait_until(id, now, now);
}

RequestGate::Mask RequestGate::needs(const FlowState& flow, const CostVector& cost) {
    Mask mask = 0;
    for (std::size_t i = 0; i < kRequestHolds; ++i)
        mask = static_cast<Mask>(mask | static_cast<unsigned>(cost[i] != 0) << i);
    return mask & flow.limited;
}

RequestGate::Mask RequestGate::lacks_window(const FlowState& flow, std::uint32_t tokens) {
    return tokens != 0 && flow.window != nullptr && !flow.granted &&
                   (flow.barred || !flow.window->has_room(tokens))
               ? kWindow
               : Mask{0};
}

RequestGate::Mask RequestGate::lacking(const FlowState& flow, const CostVector& cost, Nanos now) {
    Mask mask = lacks_window(flow, cost[kWindowHold]);
    for (std::size_t i = 0; i < kPathResources; ++i)
        mask = static_cast<Mask>(mask | static_cast<unsigned>(!flow.buckets[i].can_pay(cost[i], now)) << i);
    return mask & flow.limited;
}

/// Charges also buckets without a limit, whose tallies show the flow's use.
void RequestGate::pay(FlowState& flow, const CostVector& cost, Nanos now) {
    for (std::size_t i = 0; i < kPathResources; ++i) {
        flow.buckets[i].pay(cost[i], now);
        flow.used[i] += cost[i];
    }
}

bool RequestGate::admit_again(Flow id, const CostVector& cost, Nanos now) {
    const FlowState& flow = flows_[id];
    return (flow.packets == 0 || (needs(flow, cost) & flow.blocked) == 0) && pay_now(id, cost, now);
}

/// lacking() and pay() in one, so that each cost is priced once; enters the window.
bool RequestGate::pay_now(Flow id, const CostVector& cost, Nanos now) {
    FlowState& flow = flows_[id];
    const FineTime fine_now = to_fine(now);
    std::array<FineTime, kPathResources> prices;
    Mask lacks = lacks_window(flow, cost[kWindowHold]);
    for (std::size_t i = 0; i < kPathResources; ++i) {
        prices[i] = flow.buckets[i].price(cost[i]);
        lacks = static_cast<Mask>(lacks | static_cast<unsigned>(!flow.buckets[i].affords(prices[i], fine_now))
                                              << i);
    }
    if ((lacks & flow.limited) != 0)
        return false;
    for (std::size_t i = 0; i < kPathResources; ++i) {
        flow.buckets[i].take(prices[i], fine_now);
        flow.used[i] += cost[i];
    }
    enter(id, cost[kWindowHold], now);
    return true;
}

/// Takes tokens of the window, which has room or has granted them.
void RequestGate::enter(Flow id, std::uint32_t tokens, Nanos now) {
    FlowState& flow = flows_[id];
    if (flow.window == nullptr || tokens == 0)
        return;
    if (flow.granted)
        flow.window->correct(0, tokens);
    else
        flow.window->enter(static_cast<ApplianceGate::Flow>(id), tokens, now);
    flow.granted = false;
}

void RequestGate::hold(Flow id, const Held& held, const CostVector& cost, Span bytes, Nanos now) {
    FlowState& flow = flows_[id];
    assert(has_room(id, held.connection, held.packet.bytes));
    WaiterId at = flow.packets != 0 ? find(held.connection) : kNone;
    const bool first = at == kNone;
    if (first)
        at = add_waiter(flow, held.connection);
    const PlaceId place = take_place(flow, held, cost, bytes.to);
    Waiter& waiter = waiters_[at];
    (waiter.head == kNone ? waiter.head : places_[waiter.tail].next) = place;
    waiter.tail = place;
    waiter.bytes = {first ? bytes.from : waiter.bytes.from, bytes.to};
    WaiterId before = kNone;
    if (first && next_to_go(id, now, before) != kNone)
        wait_until(id, now, now);
    else if ((flow.blocked & kWindow) != 0)
        announce(id, cost[kWindowHold], now);
}

void RequestGate::hold_again(Flow id, const Held& held, const CostVector& cost) {
    FlowState& flow = flows_[id];
    Waiter& waiter = waiters_[find(held.connection)];
    const PlaceId place = take_place(flow, held, cost, waiter.bytes.from);
    places_[place].next = waiter.head;
    waiter.head = place;
}

RequestGate::PlaceId RequestGate::take_place(FlowState& flow, const Held& held, const CostVector& cost,
                                             std::uint32_t end) {
    const PlaceId place = free_place_;
    free_place_ = places_[place].next;
    --free_places_;
    places_[place] = {held.packet, cost, end, held.mark, kNone};
    idle_flows_ -= flow.packets == 0;
    ++flow.packets;
    flow.bytes += held.packet.bytes;
    flow.entrants += cost[kWindowHold] != 0;
    ++flow.held_total;
    for (std::size_t i = 0; i < kPathResources; ++i)
        flow.queued[i] += cost[i];
    return place;
}

/// Announces requests to the window. Two if the flow has as many: with only one in sight it would lose its
/// turn.
void RequestGate::announce(Flow id, std::uint32_t tokens, Nanos now) {
    const FlowState& flow = flows_[id];
    if (flow.barred)
        return;
    const auto window_id = static_cast<ApplianceGate::Flow>(id);
    const std::uint32_t most = std::min(flow.entrants, ApplianceGate::kAnnounced);
    while (tokens != 0 && flow.window->announced(window_id) < most)
        if (!flow.window->announce(window_id, tokens, now))
            return;
}

void RequestGate::bar(Flow id, bool barred, Nanos now) {
    FlowState& flow = flows_[id];
    if (flow.window == nullptr || flow.barred == barred)
        return;
    flow.barred = barred;
    if (barred)  // its announced requests must not keep the window's turn
        flow.window->withdraw(static_cast<ApplianceGate::Flow>(id));
    else if (flow.packets != 0)
        wait_until(id, now, now);
}

RequestGate::WaiterId RequestGate::add_waiter(FlowState& flow, Connection connection) {
    const WaiterId at = free_waiter_;
    free_waiter_ = waiters_[at].next;
    --free_waiters_;
    WaiterId& bucket = buckets_[hash(connection)];
    waiters_[at] = Waiter{.connection = connection, .next_hash = bucket, .bytes = {}};
    bucket = at;
    (flow.head == kNone ? flow.head : waiters_[flow.tail].next) = at;
    flow.tail = at;
    ++flow.connections;
    return at;
}

void RequestGate::remove_waiter(FlowState& flow, WaiterId before, WaiterId at) {
    WaiterId* link = &buckets_[hash(waiters_[at].connection)];
    while (*link != at)
        link = &waiters_[*link].next_hash;
    *link = waiters_[at].next_hash;
    unlink(flow, before, at);
    --flow.connections;
    waiters_[at].next = free_waiter_;
    free_waiter_ = at;
    ++free_waiters_;
}

/// Gives the turn to the other connections.
void RequestGate::put_last(FlowState& flow, WaiterId before, WaiterId at) {
    unlink(flow, before, at);
    waiters_[at].next = kNone;
    waiters_[flow.tail].next = at;
    flow.tail = at;
}

RequestGate::Held RequestGate::pop(FlowState& flow, Waiter& waiter) {
    const PlaceId place = waiter.head;
    const Place taken = places_[place];
    waiter.head = taken.next;
    waiter.bytes.from = taken.end;
    places_[place].next = free_place_;
    free_place_ = place;
    ++free_places_;
    flow.bytes -= taken.packet.bytes;
    flow.released_bytes += taken.packet.bytes;
    --flow.packets;
    idle_flows_ += flow.packets == 0;
    flow.entrants -= taken.cost[kWindowHold] != 0;
    for (std::size_t i = 0; i < kPathResources; ++i)
        flow.queued[i] -= taken.cost[i];
    return {taken.packet, waiter.connection, taken.mark, taken.cost[kWindowHold]};
}

RequestGate::WaiterId RequestGate::next_to_go(Flow id, Nanos now, WaiterId& before) {
    FlowState& flow = flows_[id];
    tally_blocked(flow, now);
    flow.blocked = 0;
    before = kNone;
    Nanos earliest = kNever;
    unsigned looks = kLooks;
    for (WaiterId at = flow.head; at != kNone && looks-- != 0; before = at, at = waiters_[at].next) {
        const CostVector& cost = places_[waiters_[at].head].cost;
        if ((needs(flow, cost) & flow.blocked) != 0)
            continue;  // a request before it waits for the same
        Mask lacks = lacking(flow, cost, now);
        if (lacks == 0)
            return at;
        if (lacks == kWindow)
            announce(id, cost[kWindowHold], now);
        else
            lacks &= static_cast<Mask>(~kWindow);  // the window is asked only when all buckets can pay
        flow.blocked |= lacks;
        if (flow.blocked == flow.limited)
            looks = 0;  // no request behind can leave
        if (lacks != kWindow)
            earliest = std::min(earliest, ready_at(flow, cost, lacks, now));
    }
    if ((flow.blocked & kWindow) == 0 && flow.window != nullptr)
        flow.window->withdraw(static_cast<ApplianceGate::Flow>(id));
    if (earliest != kNever)  // a parked bucket waits for change(), the window for a grant
        wait_until(id, earliest, now);
    return kNone;
}

Nanos RequestGate::ready_at(const FlowState& flow, const CostVector& cost, Mask lacks, Nanos now) {
    Nanos ready = 0;
    for (std::size_t i = 0; i < kPathResources; ++i)
        if ((lacks >> i & 1U) != 0)
            ready = std::max(ready, flow.buckets[i].ready_at(cost[i], now));
    return ready;
}

void RequestGate::wait_until(Flow id, Nanos at, Nanos now) {
    FlowState& flow = flows_[id];
    if (flow.fires_at <= at)
        return;
    if (flow.fires_at != kNever)
        wheel_.remove(wheel_id_ + id);
    flow.fires_at = at;
    wheel_.insert(wheel_id_ + id, at, now);
}

void RequestGate::settle(Flow id, PathResource resource, std::uint32_t charged, std::uint32_t actual,
                         Nanos now) {
    FlowState& flow = flows_[id];
    const auto at = static_cast<std::size_t>(resource);
    flow.used[at] += actual;
    flow.used[at] -= std::min<std::uint64_t>(charged, flow.used[at]);
    if (actual > charged) {
        flow.buckets[at].pay(actual - charged, now);
    } else if (actual < charged) {
        flow.buckets[at].give_back(charged - actual);
        if (flow.packets != 0)
            wait_until(id, now, now);
    }
}

Nanos RequestGate::likely_wait(Flow id, const CostVector& cost, std::uint32_t before, Nanos now) const {
    const FlowState& flow = flows_[id];
    Nanos wait = 0;
    if (flow.head != kNone)
        wait = now - places_[waiters_[flow.head].head].packet.enqueued;
    for (std::size_t i = 0; i < kPathResources; ++i) {
        if ((flow.limited >> i & 1U) == 0)
            continue;
        const std::uint64_t ahead = flow.queued[i] + std::uint64_t{cost[i]} * before;
        const auto most = static_cast<std::uint32_t>(std::min<std::uint64_t>(ahead, UINT32_MAX));
        wait = std::max(wait, flow.buckets[i].wait_behind(most, cost[i], now));
    }
    return wait;
}

void RequestGate::tally_blocked(FlowState& flow, Nanos now) const {
    for (std::size_t i = 0; i < kRequestHolds; ++i)
        if ((flow.blocked >> i & 1U) != 0)
            flow.blocked_ns[i] += now - flow.looked_at;
    flow.looked_at = now;
}

void RequestGate::read(Flow id, Nanos now, RequestFlowStats& stats) const {
    const FlowState& flow = flows_[id];
    stats.used = flow.used;
    stats.queued = flow.queued;
    stats.blocked_ns = flow.blocked_ns;
    for (std::size_t i = 0; i < kRequestHolds; ++i)
        if ((flow.blocked >> i & 1U) != 0 && flow.packets != 0)
            stats.blocked_ns[i] += now - flow.looked_at;
    stats.held = flow.packets;
    stats.held_total = flow.held_total;
}

}  // namespace weir
