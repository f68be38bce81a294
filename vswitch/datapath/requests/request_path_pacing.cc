// request_path_pacing.cc - RequestPath: slows clients down by lowering the TCP windows that appliances
// advertise. Source: AC/DC (SIGCOMM'16); vCC (SIGCOMM'16); docs/algorithms.md 5.5. Units: ns, bytes.
//
// While requests of a service flow are held, the windows in frames to its clients are lowered to the bytes
// that the switch released per connection in the last 100 ms. When a further request would wait too long, the
// window of a client whose requests have all arrived is lowered to 0.
#include <algorithm>

#include "vswitch/datapath/requests/request_path.h"

namespace weir {

/// Works out averages and bounds at most once in kPacePeriod, as it divides.
void RequestPath::update_pace(ServiceFlow& flow, std::uint32_t id, Nanos now) {
    constexpr Nanos kPacePeriod = 10'000'000;
    // While requests are held, a connection may have the bytes in flight that are released in this time.
    constexpr Nanos kInFlightTime = 100'000'000;
    // ... and at least a full segment.
    constexpr std::uint32_t kInFlightMin = 1460;
    constexpr std::uint32_t kInFlightMax = 128 * 1024;
    const Nanos since = now - flow.paced_at;
    if (since < kPacePeriod)
        return;
    flow.paced_at = now;
    RequestFlowStats stats;
    gate_.read(id, now, stats);
    const std::uint64_t requests = std::max<std::uint64_t>(1, flow.stats.requests);
    for (std::size_t i = 0; i < kPathResources; ++i)
        flow.mean_cost[i] = static_cast<std::uint32_t>(
            std::min<std::uint64_t>((stats.used[i] + stats.queued[i]) / requests, UINT32_MAX));
    const std::uint64_t released = gate_.released_bytes(id);
    const std::uint64_t share = (released - flow.released_bytes) * kInFlightTime / since /
                                std::max<std::uint32_t>(1, gate_.waiting_connections(id));
    flow.released_bytes = released;
    flow.in_flight_max = static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>((flow.in_flight_max + share) / 2, kInFlightMin, kInFlightMax));
    flow.congested = expected_wait(flow, id, now) > kCloseAbove / 4;
}

Nanos RequestPath::expected_wait(const ServiceFlow& flow, std::uint32_t id, Nanos now) const {
    return gate_.likely_wait(id, flow.mean_cost, flow.expected_requests, now);
}

/// @param frame of the appliance, on its way to the client
void RequestPath::pace_client(const Lookup& lookup, rte_mbuf* frame, TrackedConnection& connection,
                              Nanos now) {
    const TcpView& view = lookup.view;
    ServiceFlow& flow = flows_[lookup.flow];
    Direction& way = connection.responses_way;
    const bool syn = (view.flags & Segment::kSyn) != 0;
    if (syn)
        way.window_scale = static_cast<std::uint8_t>(window_scale(frame, view) & 0xF);
    update_pace(flow, lookup.flow, now);
    if (!is_paced(lookup.flow) || way.window_scale == Direction::kScaleUnknown ||
        (view.flags & (Segment::kRst | Segment::kFin)) != 0)
        return;
    const RequestGate::Span held = gate_.held(lookup.flow, lookup.connection);
    const Direction& requests = connection.requests_way;
    const bool all_arrived = requests.in_step() && view.ack == requests.next_seq && held.from == held.to;
    if (closed_.is_closed(lookup.flow, lookup.connection) ||
        (all_arrived && expected_wait(flow, lookup.flow, now) > kCloseAbove)) {
        if (closed_.close(lookup.flow, lookup.connection, WindowUpdate::of(frame, view, way.window_scale)))
            lower_window(frame, view, 0);
    } else if (gate_.waiting(lookup.flow)) {
        const std::uint32_t field = syn ? flow.in_flight_max : flow.in_flight_max >> way.window_scale;
        lower_window(frame, view,
                     static_cast<std::uint16_t>(std::clamp<std::uint32_t>(field, 1, UINT16_MAX)));
    }
}

}  // namespace weir
