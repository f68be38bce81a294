// request_path.cc - tracked, priced, admitted or held; settled on the way back.
#include "vswitch/datapath/request_path.h"

#include <rte_mbuf.h>

#include <algorithm>

#include "vswitch/datapath/frame.h"

namespace weir {
namespace {

/// Bounds of one worker. Together about 12 MiB, taken only where there are appliances.
constexpr std::uint32_t kConnections = 1 << 16;
constexpr std::uint32_t kConnectionsPerVnic = 1 << 14;
constexpr std::size_t kPendings = 1 << 16;
constexpr std::size_t kFragments = 1 << 12;
constexpr std::uint32_t kHeldConnections = 1 << 10;
constexpr std::uint32_t kHeldPackets = 1 << 12;
constexpr unsigned kSweepPlaces = 64;
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
    Charges(RequestPath& path, Flow& flow, std::uint32_t id, Nanos now)
        : path_(path), flow_(flow), id_(id), now_(now) {}

    void request(const Request& request) {
        const auto operation = static_cast<std::size_t>(request.operation);
        const std::uint32_t back = !request.answered          ? 0
                                   : request.response_known ? request.response_bytes
                                                            : flow_.expected[operation];
        const std::uint32_t tokens = flow_.cost.tokens(request, back, now_);
        cost[0] += tokens;
        cost[1] += path_.wire_bytes(request.request_bytes);
        cost[2] += back != 0 ? path_.wire_bytes(back) : 0;
        ++flow_.stats.requests;
        flow_.stats.outstanding += request.answered;
        flow_.stats.outstanding_tokens += request.answered ? tokens : 0;
    }
    void response(const Response& response, const Answer& answer) {
        ++flow_.stats.responses;
        flow_.stats.failed += response.failed;
        flow_.stats.outstanding -= flow_.stats.outstanding != 0;
        if (flow_.stats.outstanding == 0)
            flow_.stats.outstanding_tokens = 0;
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
        cost[0] += flow_.cost.tokens({.operation = Operation::kBytes, .request_bytes = bytes}, 0, now_);
        cost[1] += path_.wire_bytes(bytes);
    }

    CostVector cost{};

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
            expected = charged == 0 ? actual : charged + (actual >> kAverageShift) - (charged >> kAverageShift);
        }
    }

    RequestPath& path_;
    Flow& flow_;
    std::uint32_t id_;
    Nanos now_;
};

RequestPath::RequestPath(const Setup& setup)
    : appliances_(setup.appliances),
      hash_(setup.key),
      header_bytes_(setup.header_bytes),
      connections_({.connections = kConnections, .vnics = limits::kVnicsMax, .quota = kConnectionsPerVnic}),
      tracker_({.vnics = limits::kVnicsMax,
                .pendings = kPendings,
                .fragments = kFragments,
                .pendings_per_vnic = kPendings / 4,
                .fragments_per_vnic = kFragments / 4}),
      gate_({.flows = limits::kRequestFlowsMax,
             .connections = kHeldConnections,
             .packets = kHeldPackets,
             .wheel = &setup.wheel,
             .wheel_id = setup.wheel_id}),
      of_vnic_(limits::kVnicsMax) {
    flows_.reserve(limits::kRequestFlowsMax);
}

void RequestPath::add(const VnicPath& path, Nanos now) {
    connections_.join(path.fixed.id);
    for (const VnicProfile::Requests& requests : std::span(path.profile.requests).first(path.profile.request_flows))
        if (const std::uint32_t flow = open_flow(path, requests, now); flow != kNoFlow)
            of_vnic_[path.fixed.id].push_back(flow);
}

/// Places of closed flows are used again.
std::uint32_t RequestPath::open_flow(const VnicPath& path, const VnicProfile::Requests& requests, Nanos now) {
    const Appliance& appliance = appliances_[requests.appliance];
    Flow flow(path.fixed.id, requests.appliance, CostFunction(appliance.cost, appliance.program));
    flow.limit = requests.limit;
    flow.stats.since = now;
    const auto closed = std::ranges::find_if(flows_, [](const Flow& at) { return !at.open; });
    const auto id = static_cast<std::uint32_t>(closed - flows_.begin());
    if (id == limits::kRequestFlowsMax)
        return kNoFlow;
    if (closed == flows_.end())
        flows_.push_back(std::move(flow));
    else
        *closed = std::move(flow);
    gate_.open(id, requests.gate, now);
    return id;
}

void RequestPath::change(const VnicPath& path, Nanos now) {
    for (const std::uint32_t id : of_vnic_[path.fixed.id]) {
        for (const VnicProfile::Requests& requests :
             std::span(path.profile.requests).first(path.profile.request_flows)) {
            if (requests.appliance != flows_[id].appliance)
                continue;
            flows_[id].limit = requests.limit;
            gate_.change(id, requests.gate, now);
        }
    }
}

/// Every full segment has headers of its own.
std::uint32_t RequestPath::wire_bytes(std::uint32_t payload) const {
    constexpr std::uint64_t kPerSegment = (std::uint64_t{1} << 32) / kSegmentBytes;
    const auto more = static_cast<std::uint32_t>(payload * kPerSegment >> 32);
    return payload + (1 + more) * header_bytes_;
}

RequestPath::Found RequestPath::find(VnicId vnic, const TcpView& view, Side side) const {
    const bool request = side == Side::kRequests;
    const Ip6Address& service = request ? view.destination : view.source;
    const Ip6Address& client = request ? view.source : view.destination;
    const Ports ports = request ? Ports{view.source_port, view.destination_port}
                                : Ports{view.destination_port, view.source_port};
    for (const std::uint32_t id : of_vnic_[vnic]) {
        const Appliance& appliance = appliances_[flows_[id].appliance];
        if (appliance.port != ports.service || appliance.ip6 != view.ip6 || appliance.address != service)
            continue;
        if (view.ip6)
            return {id, hash_(vnic, client, service, ports)};
        std::uint32_t client4 = 0;
        std::uint32_t service4 = 0;
        std::memcpy(&client4, client.data(), sizeof client4);
        std::memcpy(&service4, service.data(), sizeof service4);
        return {id, hash_(vnic, client4, service4, ports)};
    }
    return {};
}

weir::Connection* RequestPath::connection_of(const Found& found, Nanos now) {
    weir::Connection* connection = connections_.find(found.connection, now);
    if (connection != nullptr)
        return connection;
    const Flow& flow = flows_[found.flow];
    return connections_.add(found.connection, flow.vnic, appliances_[flow.appliance].protocol, now);
}

/// What the requests of the segment cost. Without room to remember the connection its bytes do.
CostVector RequestPath::track(const Found& found, Side side, const rte_mbuf* frame, const TcpView& view,
                              Nanos now) {
    Flow& flow = flows_[found.flow];
    Charges charges(*this, flow, found.flow, now);
    weir::Connection* connection = connection_of(found, now);
    if (connection == nullptr) {
        if (view.payload_bytes != 0)
            charges.plain(side, view.payload_bytes);
        return charges.cost;
    }
    bool goes_on = true;
    each_piece(frame, view, [&](const Segment& segment) {
        goes_on = goes_on && tracker_.segment(*connection, side, segment, now, charges);
    });
    if (!goes_on) {
        forget(*connection, &flow);
        connections_.remove(found.connection);
    }
    return charges.cost;
}

/// What it still waited for is not outstanding any more.
void RequestPath::forget(weir::Connection& connection, Flow* flow) {
    if (flow != nullptr)
        flow->stats.outstanding -= std::min<std::uint64_t>(flow->stats.outstanding, connection.outstanding());
    tracker_.forget(connection);
}

void RequestPath::from_vm(VnicPath& from, Batch& batch, Nanos now) {
    std::uint16_t kept = 0;
    for (std::uint16_t at = 0; at < batch.count; ++at) {
        if (!passes(from, batch, at, now)) {
            batch.bytes_total -= batch.bytes[at];
            batch.wire_frames_total -= batch.wire_frames[at];
            continue;
        }
        batch.frames[kept] = batch.frames[at];
        batch.bytes[kept] = batch.bytes[at];
        batch.wire_frames[kept] = batch.wire_frames[at];
        batch.to[kept++] = batch.to[at];
    }
    batch.count = kept;
}

/// @return false when the frame waits or is gone
bool RequestPath::passes(VnicPath& from, Batch& batch, std::uint16_t at, Nanos now) {
    rte_mbuf* frame = batch.frames[at];
    const std::optional<TcpView> view = read_tcp(frame);
    if (!view)
        return true;
    const Found found = find(from.fixed.id, *view, Side::kRequests);
    if (found.flow == kNoFlow)
        return true;
    const std::uint32_t bytes = batch.bytes[at];
    const RequestGate::Span waits = gate_.held(found.flow, found.connection);
    const std::uint32_t end = view->seq + view->payload_bytes;
    const bool something_waits = waits.from != waits.to;
    if (something_waits && view->payload_bytes != 0 && ahead(view->seq, waits.from) >= 0 &&
        ahead(end, waits.to) <= 0) {  // the guest sends again what is still here
        from.stats.from_vm.drop(DropReason::kRequestHeld, 1, bytes);
        rte_pktmbuf_free(frame);
        return false;
    }
    const CostVector cost = track(found, Side::kRequests, frame, *view, now);
    const bool in_stream = view->payload_bytes != 0 || (view->flags & Segment::kFin) != 0;
    if (!in_stream || (something_waits && ahead(end, waits.from) <= 0) ||
        gate_.admit(found.flow, found.connection, cost, now))
        return true;
    const PacketRef packet{frame, now, bytes, batch.wire_frames[at], frame->nb_segs};
    set_destination(frame, batch.to[at]);
    if (!gate_.hold(found.flow, found.connection, packet, cost, {view->seq, end}, now)) {
        from.stats.from_vm.drop(DropReason::kRequestQueueFull, 1, bytes);
        rte_pktmbuf_free(frame);
        return false;
    }
    account_queued(from, frame, bytes);
    return false;
}

void RequestPath::to_vm(const VnicPath& to, const Run& run, Nanos now) {
    for (std::uint16_t at = 0; at < run.count; ++at) {
        const std::optional<TcpView> view = read_tcp(run.frames[at]);
        if (!view)
            continue;
        const Found found = find(to.fixed.id, *view, Side::kResponses);
        if (found.flow != kNoFlow)
            (void)track(found, Side::kResponses, run.frames[at], *view, now);
    }
}

void RequestPath::keep_house(Nanos now) {
    connections_.sweep(now, kSweepPlaces, [this](weir::Connection& connection) {
        Flow* of = nullptr;  // of two appliances with one protocol it may be the other's
        for (const std::uint32_t id : of_vnic_[connection.vnic])
            if (appliances_[flows_[id].appliance].protocol == connection.protocol)
                of = &flows_[id];
        forget(connection, of);
    });
}

void RequestPath::read(VnicId vnic, Nanos now, std::vector<Reading>& readings) const {
    readings.clear();
    for (const std::uint32_t id : of_vnic_[vnic]) {
        const Flow& flow = flows_[id];
        if (readings.size() == readings.capacity())
            return;
        Reading reading{flow.appliance, flow.stats};
        gate_.read(id, now, reading.stats);
        reading.stats.limit = flow.limit;
        reading.stats.connections = connections_.size(vnic);
        const HistogramSnapshot latency = flow.latency->snapshot();
        reading.stats.latency_p50 = latency.percentile(0.5);
        reading.stats.latency_p99 = latency.percentile(0.99);
        reading.stats.latency_max = latency.max();
        readings.push_back(reading);
    }
}

}  // namespace weir
