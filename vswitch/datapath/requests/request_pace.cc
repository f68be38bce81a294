// request_pace.cc - clients are slowed down before their TCP gives up on what waits here: by the window that
// the service advertises, which is closed on its way while too much waits, and told anew when it does not.
// Source: AC/DC, vCC (SIGCOMM'16); algorithms 8. Units: ns, bytes.
#include <algorithm>

#include "vswitch/datapath/requests/request_path.h"

namespace weir {
namespace {

constexpr Nanos kLookPeriod = 10'000'000;
/// While something waits, a connection may have on its way what goes on in this time.
constexpr Nanos kAllowedFor = 100'000'000;
/// ... and at least a full segment.
constexpr std::uint32_t kAllowedMin = 1460;
constexpr std::uint32_t kAllowedMax = 128 * 1024;

}  // namespace

/// Divides, so once in 10 ms.
void RequestPath::look_at(Flow& flow, std::uint32_t id, Nanos now) {
    const Nanos since = now - flow.looked_at;
    if (since < kLookPeriod)
        return;
    flow.looked_at = now;
    RequestFlowStats stats;
    gate_.read(id, now, stats);
    const std::uint64_t requests = std::max<std::uint64_t>(1, flow.stats.requests);
    for (std::size_t i = 0; i < kPathResources; ++i)
        flow.usual[i] = static_cast<std::uint32_t>(
            std::min<std::uint64_t>((stats.used[i] + stats.queued[i]) / requests, UINT32_MAX));
    const std::uint64_t let_go = gate_.let_go_bytes(id);
    const std::uint64_t share = (let_go - flow.let_go_bytes) * kAllowedFor / since /
                                std::max<std::uint32_t>(1, gate_.waiting_connections(id));
    flow.let_go_bytes = let_go;
    flow.allowance = static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>((flow.allowance + share) / 2, kAllowedMin, kAllowedMax));
    flow.pressed = wait_of_one_more(flow, id, now) > kCloseAbove / 4;
}

Nanos RequestPath::wait_of_one_more(const Flow& flow, std::uint32_t id, Nanos now) const {
    return gate_.likely_wait(id, flow.usual, flow.invited, now);
}

/// A frame of the service, on its way to the client.
void RequestPath::slow_down(const Look& look, rte_mbuf* frame, TrackedConnection& connection, Nanos now) {
    const TcpView& view = look.view;
    Flow& flow = flows_[look.flow];
    Direction& way = connection.responses_way;
    const bool syn = (view.flags & Segment::kSyn) != 0;
    if (syn)
        way.window_scale = static_cast<std::uint8_t>(window_scale(frame, view) & 0xF);
    look_at(flow, look.flow, now);
    if (!is_pressed(look.flow) || way.window_scale == Direction::kScaleUnknown ||
        (view.flags & (Segment::kRst | Segment::kFin)) != 0)
        return;
    const RequestGate::Span held = gate_.held(look.flow, look.connection);
    const Direction& requests = connection.requests_way;
    const bool all_has_come = requests.in_step() && view.ack == requests.next_seq && held.from == held.to;
    if (closed_.closed(look.flow, look.connection) ||
        (all_has_come && wait_of_one_more(flow, look.flow, now) > kCloseAbove)) {
        if (closed_.close(look.flow, look.connection, WindowUpdate::of(frame, view, way.window_scale)))
            lower_window(frame, view, 0);
    } else if (gate_.waiting(look.flow)) {
        const std::uint32_t field = syn ? flow.allowance : flow.allowance >> way.window_scale;
        lower_window(frame, view,
                     static_cast<std::uint16_t>(std::clamp<std::uint32_t>(field, 1, UINT16_MAX)));
    }
}

}  // namespace weir
