// request_path.cc - RequestPath: the frames of a burst are looked up, tracked, priced, and pass or are held.
#include "vswitch/datapath/requests/request_path.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <utility>

#include "vswitch/datapath/frame/frame.h"

namespace weir {
namespace {

/// The segment takes sequence numbers behind those before it.
bool is_in_stream(const TcpView& view) {
    return view.payload_bytes != 0 || (view.flags & Segment::kFin) != 0;
}

}  // namespace

/// Sink of the tracker: adds up the cost of a segment's requests, and settles the cost of its responses.
struct RequestPath::Charges {
    RequestPath& path;
    ServiceFlow& flow;
    std::uint32_t id;  ///< of the flow
    const TrackedConnection* connection;
    CostVector& cost;        ///< to which the cost of the requests is added
    std::uint32_t& waiting;  ///< likewise: tokens of those that wait on purpose
    Nanos now;

    /// A request without a record is charged without its response, which is charged when it comes.
    void request(const Request& request) {
        const auto operation = static_cast<std::size_t>(request.operation);
        PendingRequests& pending = path.tracker_.pending();
        const bool recorded = request.answered && pending.is_recorded(*connection);
        const std::uint32_t back = !recorded                ? 0
                                   : request.response_known ? request.response_bytes
                                                            : flow.expected[operation];
        const Access access = flow.cost.see(request, now);
        const std::uint32_t tokens = flow.cost.tokens(request, back, access);
        cost[0] += tokens;
        cost[1] += flow.segments.wire_bytes(request.request_bytes);
        cost[2] += back != 0 ? flow.segments.wire_bytes(back) : 0;
        if (flow.counts_cycles)
            cost[3] += path.appliances_[flow.appliance].cycles->tokens(request.operation,
                                                                       request.request_bytes, back);
        if (recorded) {
            pending.charge(*connection, tokens, back, access);
            cost[kWindowHold] += tokens;
            waiting += request.waits ? tokens : 0;
        }
        ++flow.stats.requests;
        flow.stats.outstanding += request.answered;
    }
    void response(const Response& response, const Answer& answer) {
        ++flow.stats.responses;
        flow.stats.failed += response.failed;
        flow.stats.outstanding -= flow.stats.outstanding != 0;
        if (!answer.matched)
            return charge_back({.operation = Operation::kRead}, response.bytes);
        if (!answer.waits)
            flow.latency->add(answer.latency);
        if (!answer.response_known)
            settle(response.bytes, answer);
    }
    void plain(Side side, std::uint32_t bytes) {
        flow.stats.plain_bytes += bytes;
        if (side == Side::kResponses)
            return charge_back({.operation = Operation::kBytes}, bytes);
        charge_bytes(bytes);
    }
    void repeated(std::uint32_t bytes) {
        flow.stats.repeated_bytes += bytes;
        charge_bytes(bytes);
    }
    /// Charges bytes of the client by their number, independent of their content.
    void charge_bytes(std::uint32_t bytes) {
        cost[0] += flow.cost.tokens({.operation = Operation::kBytes, .request_bytes = bytes}, 0, now);
        cost[1] += flow.segments.wire_bytes(bytes);
    }
    /// Charges bytes of the appliance that no recorded request expects: the work for them is done.
    void charge_back(const Request& request, std::uint32_t bytes) {
        const std::uint32_t tokens = flow.cost.tokens(request, bytes, Access::kPlain);
        path.gate_.settle(id, PathResource::kAppliance, 0, tokens, now);
        path.gate_.settle(id, PathResource::kDownlink, 0, flow.segments.wire_bytes(bytes), now);
    }
    /// Responses of unknown length were charged by an estimate, the average of their operation then. The
    /// difference to the real length is settled here.
    void settle(std::uint32_t actual, const Answer& answer) {
        // The average moves by 1/8 towards each new value.
        constexpr unsigned kAverageShift = 3;
        std::uint32_t& expected = flow.expected[static_cast<std::size_t>(answer.operation)];
        const std::uint32_t charged = answer.charged_bytes;
        if (charged != actual) {
            const Request request{.operation = answer.operation, .request_bytes = answer.request_bytes};
            const std::uint32_t was = flow.cost.tokens(request, charged, answer.access);
            const std::uint32_t is = flow.cost.tokens(request, actual, answer.access);
            path.gate_.settle(id, PathResource::kAppliance, was, is, now);
            path.gate_.settle(id, PathResource::kDownlink,
                              charged != 0 ? flow.segments.wire_bytes(charged) : 0,
                              flow.segments.wire_bytes(actual), now);
        }
        const bool near = expected >> kAverageShift == actual >> kAverageShift;
        expected = expected == 0 || near ? actual
                                         : expected + (actual >> kAverageShift) - (expected >> kAverageShift);
    }
    /// Payload that passed before its price was known is paid for in arrears.
    void charge_late() {
        for (std::size_t i = 0; i < kPathResources; ++i)
            if (cost[i] != 0)
                path.gate_.settle(id, static_cast<PathResource>(i), 0, std::exchange(cost[i], 0), now);
    }
};

/// Finds the segment, the service flow and the connection's slot of each frame, and starts loading their
/// memory.
std::uint32_t RequestPath::look_up(VnicId vnic, Side side, rte_mbuf* const* frames, std::uint16_t count,
                                   Lookups& lookups) const {
    static_assert(limits::kBurst <= 32);
    std::uint32_t unreadable = 0;
    const Lookup* last = nullptr;  // neighbors in a burst are often of one connection
    for (std::uint16_t at = 0; at < count; ++at) {
        Lookup& lookup = lookups[at];
        lookup.flow = kNoFlow;
        if (!read_tcp(frames[at], lookup.view) &&
            !read_unusual_frame(vnic, side, frames[at], lookup.view, 1U << at, unreadable)) [[unlikely]]
            continue;
        if (last != nullptr && lookup.view.same_way(last->view)) {
            lookup.flow = last->flow;
            lookup.connection = last->connection;
        } else {
            find_flow(vnic, side, lookup);
            if (lookup.flow != kNoFlow)
                connections_.prefetch(lookup.connection);
            if (lookup.flow != kNoFlow && (last == nullptr || last->flow != lookup.flow))
                prefetch(lookup.flow);
        }
        last = &lookup;
    }
    last = nullptr;
    for (std::uint16_t at = 0; at < count; ++at) {
        Lookup& lookup = lookups[at];
        if (lookup.flow == kNoFlow)
            continue;
        const bool same = last != nullptr && lookup.connection == last->connection;
        lookup.slot = same ? last->slot : connections_.probe(lookup.connection);
        last = &lookup;
    }
    return unreadable;
}

/// @return whether the frame holds a segment; if not, and it could reach one of the vNIC's appliances all the
/// same, `bit` is set in `unreadable`
bool RequestPath::read_unusual_frame(VnicId vnic, Side side, const rte_mbuf* frame, TcpView& view,
                                     std::uint32_t bit, std::uint32_t& unreadable) const {
    const bool is_request = side == Side::kRequests;
    const TcpReading reading = read_unusual(frame, is_request, view);
    if (reading == TcpReading::kUnreadable && is_request)
        for (const Service& known : services_[vnic])
            if (known.ip6 == view.ip6 && (view.ports == 0 || view.destination_port() == known.port) &&
                std::memcmp(known.address.data(), view.destination(), view.address_bytes()) == 0)
                unreadable |= bit;
    return reading == TcpReading::kTcp;
}

/// Between two bursts, copies of frames and the guest's kernel push this memory out of the caches.
void RequestPath::prefetch(std::uint32_t id) const {
    const ServiceFlow& flow = flows_[id];
    __builtin_prefetch(&flow, 1);
    __builtin_prefetch(&flow.cost, 1);
    __builtin_prefetch(&flow.stats.requests, 1);
    gate_.prefetch(id);
}

void RequestPath::find_flow(VnicId vnic, Side side, Lookup& lookup) const {
    const TcpView& view = lookup.view;
    const bool request = side == Side::kRequests;
    const std::uint8_t* const service = request ? view.destination() : view.source();
    const std::uint8_t* const client = request ? view.source() : view.destination();
    const Ports ports = request ? Ports{view.source_port(), view.destination_port()}
                                : Ports{view.destination_port(), view.source_port()};
    for (const Service& known : services_[vnic]) {
        if (known.port != ports.service || known.ip6 != view.ip6)
            continue;
        if (view.ip6) {
            if (std::memcmp(known.address.data(), service, TcpView::kIp6AddressBytes) != 0)
                continue;
            Ip6Address from;
            std::memcpy(from.data(), client, from.size());
            lookup.connection = hash_(vnic, from, known.address, ports);
        } else {
            std::uint32_t client4 = 0;
            std::uint32_t service4 = 0;
            std::memcpy(&client4, client, sizeof client4);
            std::memcpy(&service4, service, sizeof service4);
            if (std::memcmp(known.address.data(), &service4, sizeof service4) != 0)
                continue;
            lookup.connection = hash_(vnic, client4, service4, ports);
        }
        lookup.flow = known.flow;
        return;
    }
}

/// Adds a connection that look_up() did not find, unless an earlier frame of the burst has added it since.
/// @return nullptr when the table or the vNIC's quota is full
TrackedConnection* RequestPath::connection_of(const Lookup& lookup, Nanos now) {
    TrackedConnection* connection = connections_.find(lookup.connection, now);
    if (connection != nullptr)
        return connection;
    const ServiceFlow& flow = flows_[lookup.flow];
    connection = connections_.add(lookup.connection, flow.vnic, appliances_[flow.appliance].protocol, now);
    if (connection != nullptr)
        connection->service = flow.slot & 7;
    return connection;
}

/// Passes a frame to the tracker. Payload of a connection that has no room in the table is charged as plain
/// bytes.
RequestPath::Tracked RequestPath::track(const Lookup& lookup, TrackedConnection* known, Side side,
                                        const rte_mbuf* frame, Nanos now) {
    const TcpView& view = lookup.view;
    ServiceFlow& flow = flows_[lookup.flow];
    Tracked tracked{.connection = known != nullptr ? known : connection_of(lookup, now)};
    Charges charges{*this, flow, lookup.flow, tracked.connection, tracked.cost, tracked.waiting, now};
    if (tracked.connection == nullptr) {
        if (view.payload_bytes != 0)
            charges.plain(side, view.payload_bytes);
        return tracked;
    }
    TrackedConnection& connection = *tracked.connection;
    tracked.first = connection.requests;
    const std::uint32_t outstanding = connection.outstanding();
    bool continues = true;
    each_piece(frame, view, [&](const Segment& segment) {
        continues = continues && tracker_.segment(connection, side, segment, now, charges);
    });
    tracked.end = connection.requests;
    if ((view.flags & Segment::kSyn) != 0 && connection.outstanding() == 0)  // it may have begun anew
        flow.stats.outstanding -= std::min<std::uint64_t>(flow.stats.outstanding, outstanding);
    if (!continues) {
        // They are not at the service: finish() must not count them.
        tracker_.pending().hold(connection, tracked.first);
        forget(connection, &flow, side == Side::kRequests && (view.flags & Segment::kRst) != 0, now);
        connections_.remove(lookup.connection);
        (void)closed_.open(lookup.flow, lookup.connection);
        tracked.connection = nullptr;
        tracked.cost[kWindowHold] = 0;
        tracked.waiting = 0;
    }
    finish(&flow, now);
    if (side == Side::kResponses || !is_in_stream(view))
        charges.charge_late();
    return tracked;
}

void RequestPath::from_vm(VnicPath& from, Batch& batch, Nanos now) {
    Lookups lookups;
    const std::uint32_t unreadable =
        look_up(from.fixed.id, Side::kRequests, batch.frames.data(), batch.count, lookups);
    std::uint16_t kept = 0;
    for (std::uint16_t at = 0; at < batch.count; ++at) {
        bool stays = true;
        if (lookups[at].flow != kNoFlow)
            stays = passes(from, batch, at, lookups[at], now);
        else if ((unreadable >> at & 1U) != 0) [[unlikely]]
            stays = refuse(from, batch, at, DropReason::kRequestUnreadable);
        if (!stays) {
            batch.bytes_total -= batch.bytes[at];
            batch.wire_frames_total -= batch.wire_frames[at];
            continue;
        }
        if (kept != at) {
            batch.frames[kept] = batch.frames[at];
            batch.bytes[kept] = batch.bytes[at];
            batch.wire_frames[kept] = batch.wire_frames[at];
            batch.to[kept] = batch.to[at];
        }
        ++kept;
    }
    batch.count = kept;
}

/// @return false
bool RequestPath::refuse(VnicPath& from, const Batch& batch, std::uint16_t at, DropReason reason) {
    tap_.drop(from.stats.from_vm, CapturePoint::from_vm(from.fixed.id), batch.frames[at], batch.bytes[at],
              reason);
    return false;
}

/// @return false when the frame is held or was dropped
bool RequestPath::passes(VnicPath& from, Batch& batch, std::uint16_t at, const Lookup& lookup, Nanos now) {
    const TcpView& view = lookup.view;
    TrackedConnection* const known = connections_.at(lookup.connection, lookup.slot, now);
    if (known != nullptr && !gate_.waiting(lookup.flow) &&
        Tracker::pass_body(*known, Side::kRequests, view.seq, view.payload_bytes, view.flags))
        return true;
    rte_mbuf* frame = batch.frames[at];
    const std::uint32_t bytes = batch.bytes[at];
    const RequestGate::Span held = gate_.held(lookup.flow, lookup.connection);
    const std::uint32_t end = view.seq + view.payload_bytes;
    const bool has_held = held.from != held.to;
    if (has_held && view.payload_bytes != 0 && ahead(view.seq, held.from) >= 0 &&
        ahead(end, held.to) <= 0)  // a retransmission of bytes that are held here
        return refuse(from, batch, at, DropReason::kRequestHeld);
    const bool in_stream = is_in_stream(view);
    // Asked before the tracker counts the segment. Behind a segment that was dropped it would only take
    // tokens from others: its client sends it again too.
    const bool behind_gap = has_held ? ahead(view.seq, held.to) > 0
                                     : gate_.waiting(lookup.flow) && known != nullptr &&
                                           known->requests_way.in_step() &&
                                           ahead(view.seq, known->requests_way.next_seq) > 0;
    if (in_stream && (behind_gap || !gate_.has_room(lookup.flow, lookup.connection, bytes)))
        return refuse(from, batch, at, DropReason::kRequestQueueFull);
    const Tracked tracked = track(lookup, known, Side::kRequests, frame, now);
    ServiceFlow& flow = flows_[lookup.flow];
    if (view.payload_bytes != 0)  // a client that sends knows its window, or ignores it
        (void)closed_.open(lookup.flow, lookup.connection);
    if (tracked.end != tracked.first)
        flow.expected_requests -= flow.expected_requests != 0;
    if (!in_stream)
        return true;
    const bool again = has_held && ahead(end, held.to) <= 0;  // from before the held bytes on
    if (again ? gate_.admit_again(lookup.flow, tracked.cost, now)
              : gate_.admit(lookup.flow, lookup.connection, tracked.cost, now)) {
        flow.at_service += tracked.cost[kWindowHold];
        if (flow.overdue != 0) [[unlikely]]
            bar_if_overdue(flow, now);
        if (tracked.waiting != 0) [[unlikely]]
            give_back_later(flow, tracked.waiting, now);
        return true;
    }
    if (tracked.end != tracked.first && tracked.connection != nullptr)
        tracker_.pending().hold(*tracked.connection, tracked.first);
    const RequestGate::Held packet{{frame, now, bytes, batch.wire_frames[at], buffers_of(frame)},
                                   lookup.connection,
                                   std::uint64_t{tracked.end} << 32 | tracked.first};
    if (again)
        gate_.hold_again(lookup.flow, packet, tracked.cost);
    else
        gate_.hold(lookup.flow, packet, tracked.cost, {view.seq, end}, now);
    from.queued_buffers += buffers_of(frame);
    from.stats.from_vm.queued.add(1, bytes);
    return false;
}

void RequestPath::to_vm(const VnicPath& to, const Run& run, Nanos now) {
    Lookups lookups;
    look_up(to.fixed.id, Side::kResponses, run.frames, run.count, lookups);
    for (std::uint16_t at = 0; at < run.count; ++at) {
        const Lookup& lookup = lookups[at];
        const TcpView& view = lookup.view;
        if (lookup.flow == kNoFlow)
            continue;
        TrackedConnection* connection = connections_.at(lookup.connection, lookup.slot, now);
        if (connection == nullptr ||
            !Tracker::pass_body(*connection, Side::kResponses, view.seq, view.payload_bytes, view.flags))
            connection = track(lookup, connection, Side::kResponses, run.frames[at], now).connection;
        else if (!is_paced(lookup.flow))
            continue;
        if (connection != nullptr && gate_.limited(lookup.flow) && !is_shared(run.frames[at]))
            pace_client(lookup, run.frames[at], *connection, now);
    }
}

}  // namespace weir
