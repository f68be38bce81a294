// request_path_flows.cc - RequestPath: service flows, their requests at the appliances, and the appliances'
// windows.
#include <algorithm>
#include <utility>

#include "cost_functions/protocols/registry.h"
#include "vswitch/datapath/requests/request_path.h"

namespace weir {
namespace {

constexpr unsigned kSweepPlaces = 64;

}  // namespace

RequestPath::RequestPath(const Setup& setup)
    : appliances_(setup.appliances),
      worker_(setup.worker),
      shared_(setup.shared),
      hash_(setup.key),
      overhead_bytes_(setup.overhead_bytes),
      tap_(setup.tap),
      connections_({.connections = limits::kConnectionsMax,
                    .vnics = limits::kVnicsMax,
                    .own = limits::kConnectionsOwn}),
      tracker_(kProtocols,
               {.pendings = SharedRoom::divide(limits::kPendingsMax, limits::kVnicsMax, limits::kPendingsOwn),
                .buffers = SharedRoom::divide(limits::kStreamBuffersMax, limits::kVnicsMax,
                                              limits::kStreamBuffersOwn)}),
      gate_({.flows = limits::kRequestFlowsMax,
             .connections = limits::kHeldConnectionsMax,
             .packets = limits::kHeldPacketsMax,
             .wheel = &setup.wheel,
             .wheel_id = setup.wheel_id}),
      closed_(limits::kRequestFlowsMax, limits::kClosedWindowsMax),
      pool_(setup.pool),
      services_(limits::kVnicsMax) {
    flows_.reserve(limits::kRequestFlowsMax);
    for (std::uint16_t at = 0; at < appliances_.size(); ++at) {
        if (appliances_[at].window == UINT64_MAX)
            continue;
        windows_.push_back({at, ApplianceGate({.scheduler = appliances_[at].scheduler,
                                               .flows = limits::kRequestFlowsMax,
                                               .wheel = &setup.wheel})});
        windows_.back().gate.set_window(appliances_[at].window_share->allocation(worker_));
    }
}

void RequestPath::add(const VnicPath& path, Nanos now) {
    // Connections that the last vNIC of this id left behind are not this one's, nor are their requests
    // answered by it. Sweeps find them within seconds; when the id is used again before, the rest of the
    // index is swept now, 1 ms at most.
    connections_.leave(path.fixed.id);
    while (connections_.size(path.fixed.id) != 0)
        sweep(now);
    connections_.join(path.fixed.id);
    for (const VnicProfile::Requests& requests :
         std::span(path.profile.requests).first(path.profile.request_flows))
        if (const std::uint32_t flow = open_flow(path, requests, now); flow != kNoFlow) {
            flows_[flow].slot = static_cast<std::uint8_t>(services_[path.fixed.id].size());
            const Appliance& to = appliances_[requests.appliance];
            services_[path.fixed.id].push_back({to.port, to.ip6, flow, to.address});
        }
}

/// Reuses the place of a closed service flow. @return kNoFlow when there is none
std::uint32_t RequestPath::open_flow(const VnicPath& path, const VnicProfile::Requests& requests, Nanos now) {
    const Appliance& appliance = appliances_[requests.appliance];
    constexpr std::uint32_t kHeaderBytes = 54;  // Ethernet, IPv4, TCP
    constexpr std::uint32_t kMoreInIp6 = 20;
    constexpr std::uint64_t kPayloadBytes = 1448;
    const std::uint32_t more = appliance.ip6 ? kMoreInIp6 : 0;
    ServiceFlow flow(path.fixed.id, requests.appliance, CostFunction(appliance.cost, appliance.program),
                     {kHeaderBytes + more + overhead_bytes_,
                      static_cast<std::uint32_t>((std::uint64_t{1} << 32) / (kPayloadBytes - more))});
    flow.limit = requests.limit;
    flow.promised = requests.gate.window;
    flow.counts_cycles = appliance.cycles != nullptr;
    const auto closed = std::ranges::find_if(flows_, [](const ServiceFlow& at) { return !at.open; });
    const auto id = static_cast<std::uint32_t>(closed - flows_.begin());
    if (id == limits::kRequestFlowsMax)
        return kNoFlow;
    if (closed == flows_.end())
        flows_.push_back(std::move(flow));
    else
        *closed = std::move(flow);
    count_shares(flows_[id], true);
    gate_.open(id, requests.gate, window_of(requests.appliance), now);
    return id;
}

void RequestPath::change(const VnicPath& path, Nanos now) {
    for (const Service& service : services_[path.fixed.id]) {
        ServiceFlow& flow = flows_[service.flow];
        for (const VnicProfile::Requests& requests :
             std::span(path.profile.requests).first(path.profile.request_flows)) {
            if (requests.appliance != flow.appliance)
                continue;
            flow.limit = requests.limit;
            count_shares(flow, false);
            flow.promised = requests.gate.window;
            count_shares(flow, true);
            gate_.change(service.flow, requests.gate, now);
        }
    }
}

ApplianceGate* RequestPath::window_of(std::uint16_t appliance) {
    const auto found = std::ranges::find(windows_, appliance, &Window::appliance);
    return found == windows_.end() ? nullptr : &found->gate;
}

/// The flow's shares belong to its appliance's window, or no longer.
void RequestPath::count_shares(const ServiceFlow& flow, bool counts) {
    const auto found = std::ranges::find(windows_, flow.appliance, &Window::appliance);
    if (found != windows_.end())
        found->shares += counts ? flow.promised.shares : 0U - flow.promised.shares;
}

/// A held packet is released: those of its requests that still await a response are at the service now.
void RequestPath::on_release(std::uint32_t id, const RequestGate::Held& held, Nanos now) {
    const auto first = static_cast<std::uint32_t>(held.mark);
    const auto end = static_cast<std::uint32_t>(held.mark >> 32);
    if (first == end)
        return;
    ServiceFlow& flow = flows_[id];
    const TrackedConnection* connection = connections_.find(held.connection, now);
    const PendingRequests::Tokens tokens = connection != nullptr
                                               ? tracker_.pending().release(*connection, first, end, now)
                                               : PendingRequests::Tokens{};
    flow.at_service += tokens.all;
    if (ApplianceGate* window = window_of(flow.appliance); window != nullptr)
        window->correct(held.entering, tokens.all);
    if (flow.overdue != 0) [[unlikely]]
        bar_if_overdue(flow, now);
    if (tokens.waiting != 0)
        give_back_later(flow, tokens.waiting, now);
}

RequestPath::ServiceFlow* RequestPath::flow_of(const TrackedConnection& connection) {
    const std::vector<Service>& services = services_[connection.vnic];
    return connection.service < services.size() ? &flows_[services[connection.service].flow] : nullptr;
}

/// Removes a connection from the tracker and its open requests from the counters, and charges the bytes that
/// passed beyond a hole.
/// @param by_client it reset the connection, of which the appliance need not know yet
void RequestPath::forget(TrackedConnection& connection, ServiceFlow* flow, bool by_client, Nanos now) {
    if (flow != nullptr)
        flow->stats.outstanding -= std::min<std::uint64_t>(flow->stats.outstanding, connection.outstanding());
    const std::uint32_t kept = tracker_.forget(connection);
    if (flow != nullptr && kept != 0) {
        const Request bytes{.operation = Operation::kBytes, .request_bytes = kept};
        gate_.settle(static_cast<std::uint32_t>(flow - flows_.data()), PathResource::kAppliance, 0,
                     flow->cost.tokens(bytes, 0, now), now);
    }
    if (by_client)
        abandon(*flow, now);
    else
        finish(flow, now);
}

/// Tokens of requests that the tracker closed since the last call.
RequestPath::Finished RequestPath::newly_finished(const ServiceFlow* flow) {
    const PendingRequests& pending = tracker_.pending();
    if (pending.finished_tokens() == finished_) [[likely]]
        return {};
    finished_ = pending.finished_tokens();
    const auto before = std::exchange(finished_by_age_, pending.finished_by_age());
    if (flow == nullptr)
        return {};
    const auto tokens = [&](std::size_t age) { return finished_by_age_[age] - before[age]; };
    // Bounded, as a new vNIC may have the id of the one that sent the requests.
    return {.in_window =
                std::min(tokens(0) + tokens(1), flow->at_service - flow->abandoned[0] - flow->abandoned[1]),
            .last_era = std::min(tokens(1), flow->last_era),
            .overdue = std::min(tokens(2), flow->overdue)};
}

/// Credits the flow with the tokens of requests that the tracker closed.
void RequestPath::finish(ServiceFlow* flow, Nanos now) {
    const Finished finished = newly_finished(flow);
    if (finished.in_window != 0) {
        flow->last_era -= finished.last_era;
        leave_window(*flow, finished.in_window);
    }
    if (flow != nullptr && flow->overdue != 0) [[unlikely]] {
        flow->overdue -= finished.overdue;
        bar_if_overdue(*flow, now);
    }
}

/// The time that an answer usually takes. Bounded, as a client may have let its answers wait.
Nanos RequestPath::ServiceFlow::answer_time() const {
    constexpr Nanos kLeast = 1'000'000;
    return std::clamp(latency->snapshot().percentile(0.5), kLeast, kEra);
}

/// The client has reset the connection of requests that the tracker closed. The appliance works on them until
/// it has answered: a client that could free its tokens with a reset would have as much outstanding there as
/// it likes. For the same reason overdue ones hold the window once more.
void RequestPath::abandon(ServiceFlow& flow, Nanos now) {
    const Finished finished = newly_finished(&flow);
    flow.last_era -= finished.last_era;
    if (finished.overdue != 0) {
        flow.overdue -= finished.overdue;
        flow.at_service += finished.overdue;
        if (ApplianceGate* window = window_of(flow.appliance); window != nullptr)
            window->correct(0, static_cast<std::uint32_t>(finished.overdue));
        bar_if_overdue(flow, now);
    }
    give_back_later(flow, finished.in_window + finished.overdue, now);
}

/// Of tokens that no response gives back: the appliance is done with them when an answer's time has passed.
void RequestPath::give_back_later(ServiceFlow& flow, std::uint64_t tokens, Nanos now) {
    if (tokens == 0)
        return;
    flow.abandoned[1] += tokens;
    if (flow.given_back_at == kNever)
        flow.given_back_at = now + flow.answer_time();
    give_back_due_ = std::min(give_back_due_, flow.given_back_at);
}

void RequestPath::give_back_abandoned(Nanos now) {
    give_back_due_ = kNever;
    for (ServiceFlow& flow : flows_) {
        if (now >= flow.given_back_at) {
            leave_window(flow, flow.abandoned[0]);
            if (flow.overdue != 0)
                bar_if_overdue(flow, now);
            flow.abandoned = {flow.abandoned[1], 0};
            flow.given_back_at = flow.abandoned[0] != 0 ? now + flow.answer_time() : kNever;
        }
        give_back_due_ = std::min(give_back_due_, flow.given_back_at);
    }
}

void RequestPath::leave_window(ServiceFlow& flow, std::uint64_t tokens) {
    flow.at_service -= tokens;
    if (ApplianceGate* window = window_of(flow.appliance); window != nullptr)
        window->finish(tokens);
}

/// Requests that were forwarded in the era before this one and are not answered yet are overdue: their tokens
/// leave the window to others, and hold their own flow's part from now on.
void RequestPath::end_era(Nanos now) {
    era_ends_ = now + kEra;
    for (ServiceFlow& flow : flows_) {
        if (!flow.open)
            continue;
        const std::uint64_t late = flow.last_era;
        flow.last_era = flow.at_service - flow.abandoned[0] - flow.abandoned[1] - late;
        if (late != 0) {
            flow.overdue += late;
            leave_window(flow, late);
        }
        if (flow.overdue != 0)
            if (window_of(flow.appliance) != nullptr) {
                flow.part = part_of(flow);
                bar_if_overdue(flow, now);
            }
    }
    tracker_.pending().next_era();
}

/// The flow's part of its appliance's window, by shares.
std::uint64_t RequestPath::part_of(const ServiceFlow& flow) const {
    const Window& window = *std::ranges::find(windows_, flow.appliance, &Window::appliance);
    const std::uint64_t shares = std::max<std::uint64_t>(1, window.shares);
    const std::uint64_t tokens = window.gate.window();  // in two steps, as the product may exceed 64 bits
    return std::max<std::uint64_t>(
        1, tokens / shares * flow.promised.shares + tokens % shares * flow.promised.shares / shares);
}

/// Overdue and outstanding requests together hold no more than the window: an appliance without answers gets
/// no more.
void RequestPath::bar_if_overdue(ServiceFlow& flow, Nanos now) {
    const ApplianceGate* const window = window_of(flow.appliance);
    if (window == nullptr)
        return;
    const bool barred = flow.open && flow.overdue != 0 &&
                        (flow.overdue >= flow.part || flow.overdue + flow.at_service >= window->window());
    if (barred == flow.barred)
        return;
    flow.barred = barred;
    gate_.bar(static_cast<std::uint32_t>(&flow - flows_.data()), barred, now);
}

/// Reports this worker's demand for the appliances' windows and applies its share.
void RequestPath::divide_windows(Nanos now) {
    share_due_ = now + LinkShare::kPeriod;
    for (Window& window : windows_) {
        LinkShare& share = *appliances_[window.appliance].window_share;
        share.report(worker_, {.shares = window.shares,
                               .used = window.gate.outstanding(),
                               .backlogged = window.gate.contended()});
        share.divide_when_due(now);
        window.gate.set_window(share.allocation(worker_));
    }
}

void RequestPath::housekeeping(Nanos now) {
    if (!shared_)
        for (Window& window : windows_)  // the controller may have changed the share
            window.gate.set_window(appliances_[window.appliance].window_share->allocation(worker_));
    if (now >= give_back_due_)
        give_back_abandoned(now);
    if (now >= era_ends_)
        end_era(now);
    sweep(now);
}

bool RequestPath::idle() const {
    for (const ServiceFlow& flow : flows_)
        if (flow.open && gate_.waiting(static_cast<std::uint32_t>(&flow - flows_.data())))
            return false;
    return closed_.count() == 0;
}

void RequestPath::sweep(Nanos now) {
    connections_.sweep(now, kSweepPlaces, [this, now](TrackedConnection& connection) {
        forget(connection, flow_of(connection), false, now);
    });
}

void RequestPath::read(VnicId vnic, Nanos now, std::vector<Reading>& readings) const {
    readings.clear();
    for (const Service& service : services_[vnic]) {
        const ServiceFlow& flow = flows_[service.flow];
        if (readings.size() == readings.capacity())
            return;
        Reading reading{flow.appliance, flow.stats};
        gate_.read(service.flow, now, reading.stats);
        reading.stats.outstanding_tokens = flow.at_service + flow.overdue;
        reading.stats.overdue_tokens = flow.overdue;
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
