// request_path.cc - frames: tracked, priced, admitted or held; settled on the way back.
#include "vswitch/datapath/requests/request_path.h"

#include <rte_mbuf.h>

#include <algorithm>

#include "vswitch/datapath/frame.h"

namespace weir {
namespace {

/// Payload of a full segment, as most paths carry it.
constexpr std::uint32_t kSegmentBytes = 1448;
/// An average follows a new value by an eighth.
constexpr unsigned kAverageShift = 3;

void account_queued(VnicPath& from, const rte_mbuf* frame, std::uint32_t bytes) {
    from.queued_buffers += frame->nb_segs;
    from.stats.from_vm.queued.add(1, bytes);
}

}  // namespace

/// Gathers what the requests of one segment cost, and settles what its responses did.
class RequestPath::Charges {
  public:
    /// @param cost where what they cost is added up
    Charges(RequestPath& path, Flow& flow, std::uint32_t id, const TrackedConnection* connection,
            CostVector& cost, Nanos now)
        : path_(path), flow_(flow), id_(id), connection_(connection), cost_(cost), now_(now) {}

    void request(const Request& request) {
        const auto operation = static_cast<std::size_t>(request.operation);
        const std::uint32_t back = !request.answered        ? 0
                                   : request.response_known ? request.response_bytes
                                                            : flow_.expected[operation];
        const std::uint32_t tokens = flow_.cost.tokens(request, back, now_);
        cost_[0] += tokens;
        cost_[1] += path_.wire_bytes(request.request_bytes);
        cost_[2] += back != 0 ? path_.wire_bytes(back) : 0;
        if (flow_.counts_cycles)
            cost_[3] += path_.appliances_[flow_.appliance].cycles->tokens(request.operation,
                                                                          request.request_bytes, back);
        if (request.answered)
            cost_[kWindowHold] += path_.tracker_.pending().charge(*connection_, tokens);
        ++flow_.stats.requests;
        flow_.stats.outstanding += request.answered;
    }
    void response(const Response& response, const Answer& answer) {
        ++flow_.stats.responses;
        flow_.stats.failed += response.failed;
        flow_.stats.outstanding -= flow_.stats.outstanding != 0;
        if (!answer.matched)
            return;
        flow_.latency->add(answer.latency);
        settle(response, answer);
    }
    void plain(Side side, std::uint32_t bytes) {
        flow_.stats.plain_bytes += bytes;
        if (side == Side::kResponses) {
            path_.gate_.settle(id_, PathResource::kDownlink, 0, path_.wire_bytes(bytes), now_);
            return;
        }
        cost_[0] += flow_.cost.tokens({.operation = Operation::kBytes, .request_bytes = bytes}, 0, now_);
        cost_[1] += path_.wire_bytes(bytes);
    }

  private:
    /// Responses whose length was not known were charged by the average; what it errs by over some responses
    /// cancels, as it follows them.
    void settle(const Response& response, const Answer& answer) {
        std::uint32_t& expected = flow_.expected[static_cast<std::size_t>(answer.operation)];
        const std::uint32_t charged = expected;
        const std::uint32_t actual = response.bytes;
        if (charged != actual && !answer.response_known) {
            const Request request{.operation = answer.operation, .request_bytes = answer.request_bytes};
            const std::uint32_t was = flow_.cost.tokens(request, charged, Access::kPlain);
            const std::uint32_t is = flow_.cost.tokens(request, actual, Access::kPlain);
            path_.gate_.settle(id_, PathResource::kAppliance, was, is, now_);
            path_.gate_.settle(id_, PathResource::kDownlink, charged != 0 ? path_.wire_bytes(charged) : 0,
                               path_.wire_bytes(actual), now_);
            const bool near = charged >> kAverageShift == actual >> kAverageShift;
            expected = charged == 0 || near
                           ? actual
                           : charged + (actual >> kAverageShift) - (charged >> kAverageShift);
        }
    }

    RequestPath& path_;
    Flow& flow_;
    std::uint32_t id_;
    const TrackedConnection* connection_;
    CostVector& cost_;
    Nanos now_;
};

/// Every full segment has headers of its own.
std::uint32_t RequestPath::wire_bytes(std::uint32_t payload) const {
    constexpr std::uint64_t kPerSegment = (std::uint64_t{1} << 32) / kSegmentBytes;
    const auto more = static_cast<std::uint32_t>(payload * kPerSegment >> 32);
    return payload + (1 + more) * header_bytes_;
}

/// The frames' segments, whose they are, and where their connections are remembered.
void RequestPath::look(VnicId vnic, Side side, rte_mbuf* const* frames, std::uint16_t count,
                       Looks& looks) const {
    const Look* last = nullptr;  // a burst is often one connection's
    for (std::uint16_t at = 0; at < count; ++at) {
        Look& look = looks[at];
        look.flow = kNoFlow;
        if (!read_tcp(frames[at], look.view))
            continue;
        if (last != nullptr && look.view.same_way(last->view)) {
            look.flow = last->flow;
            look.connection = last->connection;
        } else {
            find(vnic, side, look);
            if (look.flow != kNoFlow)
                connections_.prefetch(look.connection);
            if (look.flow != kNoFlow && (last == nullptr || last->flow != look.flow))
                prefetch(look.flow);
        }
        last = &look;
    }
    last = nullptr;
    for (std::uint16_t at = 0; at < count; ++at) {
        Look& look = looks[at];
        if (look.flow == kNoFlow)
            continue;
        const bool same = last != nullptr && look.connection == last->connection;
        look.slot = same ? last->slot : connections_.probe(look.connection);
        last = &look;
    }
}

/// All that stands between two bursts, copies of frames or a guest's kernel, pushes this out of the caches.
void RequestPath::prefetch(std::uint32_t id) const {
    const Flow& flow = flows_[id];
    __builtin_prefetch(&flow, 1);
    __builtin_prefetch(&flow.cost, 1);
    __builtin_prefetch(&flow.stats.requests, 1);
    gate_.prefetch(id);
}

void RequestPath::find(VnicId vnic, Side side, Look& look) const {
    const TcpView& view = look.view;
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
            look.connection = hash_(vnic, from, known.address, ports);
        } else {
            std::uint32_t client4 = 0;
            std::uint32_t service4 = 0;
            std::memcpy(&client4, client, sizeof client4);
            std::memcpy(&service4, service, sizeof service4);
            if (std::memcmp(known.address.data(), &service4, sizeof service4) != 0)
                continue;
            look.connection = hash_(vnic, client4, service4, ports);
        }
        look.flow = known.flow;
        return;
    }
}

/// One that look() has not found; it may have come into the table since, by an earlier frame of the burst.
TrackedConnection* RequestPath::connection_of(const Look& look, Nanos now) {
    TrackedConnection* connection = connections_.find(look.connection, now);
    if (connection != nullptr)
        return connection;
    const Flow& flow = flows_[look.flow];
    connection = connections_.add(look.connection, flow.vnic, appliances_[flow.appliance].protocol, now);
    if (connection != nullptr)
        connection->service = flow.slot & 7;
    return connection;
}

/// Without room to remember the connection its bytes cost something.
RequestPath::Tracked RequestPath::track(const Look& look, TrackedConnection* known, Side side,
                                        const rte_mbuf* frame, Nanos now) {
    const TcpView& view = look.view;
    Flow& flow = flows_[look.flow];
    Tracked tracked{.connection = known != nullptr ? known : connection_of(look, now)};
    Charges charges(*this, flow, look.flow, tracked.connection, tracked.cost, now);
    if (tracked.connection == nullptr) {
        if (view.payload_bytes != 0)
            charges.plain(side, view.payload_bytes);
        return tracked;
    }
    TrackedConnection& connection = *tracked.connection;
    tracked.first = connection.requests;
    bool goes_on = true;
    each_piece(frame, view, [&](const Segment& segment) {
        goes_on = goes_on && tracker_.segment(connection, side, segment, now, charges);
    });
    tracked.end = connection.requests;
    if (!goes_on) {
        tracker_.pending().hold(connection, tracked.first);  // what has not left is not at the service
        forget(connection, &flow);
        connections_.remove(look.connection);
        (void)closed_.open(look.flow, look.connection);
        tracked.connection = nullptr;
        tracked.cost[kWindowHold] = 0;
    }
    finish(&flow);
    return tracked;
}

void RequestPath::from_vm(VnicPath& from, Batch& batch, Nanos now) {
    Looks looks;
    look(from.fixed.id, Side::kRequests, batch.frames.data(), batch.count, looks);
    std::uint16_t kept = 0;
    for (std::uint16_t at = 0; at < batch.count; ++at) {
        if (looks[at].flow != kNoFlow && !passes(from, batch, at, looks[at], now)) {
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

/// @return false when the frame waits or is gone
bool RequestPath::passes(VnicPath& from, Batch& batch, std::uint16_t at, const Look& look, Nanos now) {
    const TcpView& view = look.view;
    TrackedConnection* const known = connections_.at(look.connection, look.slot, now);
    if (known != nullptr && !gate_.waiting(look.flow) &&
        Tracker::has_nothing_new(*known, Side::kRequests, view.seq, view.payload_bytes, view.flags))
        return true;
    rte_mbuf* frame = batch.frames[at];
    const std::uint32_t bytes = batch.bytes[at];
    const RequestGate::Span waits = gate_.held(look.flow, look.connection);
    const std::uint32_t end = view.seq + view.payload_bytes;
    const bool something_waits = waits.from != waits.to;
    if (something_waits && view.payload_bytes != 0 && ahead(view.seq, waits.from) >= 0 &&
        ahead(end, waits.to) <= 0) {  // the guest sends again what is still here
        from.stats.from_vm.drop(DropReason::kRequestHeld, 1, bytes);
        rte_pktmbuf_free(frame);
        return false;
    }
    const bool in_stream = view.payload_bytes != 0 || (view.flags & Segment::kFin) != 0;
    if (in_stream && !gate_.has_room(look.flow, look.connection, bytes)) {  // before it has been charged
        from.stats.from_vm.drop(DropReason::kRequestQueueFull, 1, bytes);
        rte_pktmbuf_free(frame);
        return false;
    }
    const Tracked tracked = track(look, known, Side::kRequests, frame, now);
    Flow& flow = flows_[look.flow];
    if (view.payload_bytes != 0)  // sent before it was told to wait, or after it was told to go on
        (void)closed_.open(look.flow, look.connection);
    if (tracked.end != tracked.first)
        flow.invited -= flow.invited != 0;
    if (!in_stream || (something_waits && ahead(end, waits.from) <= 0))
        return true;
    if (gate_.admit(look.flow, look.connection, tracked.cost, now)) {
        flow.at_service += tracked.cost[kWindowHold];
        return true;
    }
    if (tracked.end != tracked.first && tracked.connection != nullptr)
        tracker_.pending().hold(*tracked.connection, tracked.first);
    const RequestGate::Held held{{frame, now, bytes, batch.wire_frames[at], frame->nb_segs},
                                 look.connection,
                                 std::uint64_t{tracked.end} << 32 | tracked.first};
    set_destination(frame, batch.to[at]);
    gate_.hold(look.flow, held, tracked.cost, {view.seq, end}, now);
    account_queued(from, frame, bytes);
    return false;
}

void RequestPath::to_vm(const VnicPath& to, const Run& run, Nanos now) {
    Looks looks;
    look(to.fixed.id, Side::kResponses, run.frames, run.count, looks);
    for (std::uint16_t at = 0; at < run.count; ++at) {
        const Look& look = looks[at];
        const TcpView& view = look.view;
        if (look.flow == kNoFlow)
            continue;
        TrackedConnection* connection = connections_.at(look.connection, look.slot, now);
        if (connection == nullptr || !Tracker::has_nothing_new(*connection, Side::kResponses, view.seq,
                                                               view.payload_bytes, view.flags))
            connection = track(look, connection, Side::kResponses, run.frames[at], now).connection;
        else if (!is_pressed(look.flow))
            continue;
        if (connection != nullptr && gate_.limited(look.flow))
            slow_down(look, run.frames[at], *connection, now);
    }
}

}  // namespace weir
