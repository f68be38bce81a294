// request_path.h - the stage of a worker that tracks requests to appliances, prices them and holds them back.
// Source: Pulsar 3.2, 4.4; SRP 3.1; AC/DC (SIGCOMM'16); docs/algorithms.md 5.
// Units: bytes, tokens, ns. Threads: the owning worker; built by the agent.
//
// A service flow is all requests of one vNIC to one appliance, over all its TCP connections. This stage sees
// only frames of vNICs that have appliances, and reads only those to or from an appliance:
//
//   from_vm()   connection found -> tracker finds the requests that begin in the segment -> each is priced ->
//               gate: can every bucket of the path pay? yes: the frame passes; no: the frame is held
//   to_vm()     tracker finds the responses -> latency counted, estimated size settled -> client slowed down
//   if needed wake(), serve_windows()   a held frame is released: its buckets can pay, or the appliance's
//   window has room
//
// Example: a GET of 30 bytes passes on a flow whose read responses average 470 bytes, at an appliance with
// one token per byte. It costs 500 tokens there, 30 bytes and headers on the uplink, 470 bytes and headers on
// the way back. With a limit of 50,000 tokens/s and an empty bucket it is held for 10 ms, and the
// connection's next segments behind it. If the response then has 600 bytes, the missing 130 tokens are
// charged when it passes.
//
// A request holds its tokens in the appliance's window until its response comes, but not for longer than 100
// to 200 ms: then it is overdue and holds its own flow's part of the window alone. A flow whose overdue
// requests fill its part, or the window together with those that hold it, sends no more until some are
// answered. Requests that wait on purpose (a BLPOP) hold their tokens for as long as a response usually
// takes, and then nothing.
//
// A guest's TCP retransmits bytes that are not acknowledged within 200 ms: requests must not wait that long
// here.
// Above kCloseAbove of expected wait the TCP windows that the appliance advertises to idle clients are
// lowered to 0 in passing frames; below kOpenBelow the switch sends the clients the windows that were kept
// from them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "common/metrics.h"
#include "cost_functions/cost_function.h"
#include "cost_functions/tracker/connection_table.h"
#include "cost_functions/tracker/tracker.h"
#include "vswitch/base/limits.h"
#include "vswitch/datapath/capture/capture_tap.h"
#include "vswitch/datapath/frame/batch.h"
#include "vswitch/datapath/requests/tcp_view.h"
#include "vswitch/datapath/requests/tcp_window.h"
#include "vswitch/datapath/vnic/vnic_path.h"
#include "vswitch/qos/link_share.h"
#include "vswitch/qos/requests/request_gate.h"

namespace weir {

/// An appliance as the data path sees it; shared by all workers.
struct Appliance {
    bool ip6 = false;
    Ip6Address address{};  ///< IPv4: in the first four bytes
    std::uint16_t port = 0;
    std::uint8_t protocol = 0;  ///< index into kProtocols
    std::shared_ptr<const CostTable> cost;
    std::shared_ptr<const CostProgram> program;
    std::shared_ptr<const CostTable> cycles;  ///< worker cycles of a request; null: not charged
    std::uint64_t window = UINT64_MAX;        ///< tokens that may be outstanding; UINT64_MAX: no bound
    const SchedulerEntry* scheduler = &kSchedulers.front();  ///< of requests that wait for the window
    std::shared_ptr<LinkShare> window_share;  ///< with a window: its division among the workers
};

class RequestPath {
  public:
    struct Setup {
        const std::vector<Appliance>& appliances;
        rte_mempool* pool;
        ConnectionKey key;  ///< a secret of this switch
        WorkerId worker;
        bool shared;  ///< there are other workers
        TimingWheel& wheel;
        std::uint32_t wheel_id;        ///< of service flow 0; there are limits::kRequestFlowsMax
        std::uint32_t overhead_bytes;  ///< accounted per wire frame on top of its length
        CaptureTap& tap;
    };
    explicit RequestPath(const Setup& setup);

    void add(const VnicPath& path, Nanos now);
    void change(const VnicPath& path, Nanos now);
    /// Held packets are passed to drop(const PacketRef&).
    template <class Drop>
    void remove(const VnicPath& path, Nanos now, Drop&& drop);

    /// Classified frames of a VM, which carry their destinations (frame_word.h). Frames that are held leave
    /// the batch and are counted as queued. Frames without room, retransmissions of held frames, and those to
    /// an appliance that cannot be read, leave it and are dropped.
    void from_vm(VnicPath& from, Batch& batch, Nanos now);
    /// Frames that are about to be delivered to a VM.
    void to_vm(const VnicPath& to, const Run& run, Nanos now);
    /// The wheel fired for a service flow: released packets are passed to release(VnicId, const PacketRef&).
    template <class Release>
    void wake(std::uint32_t flow, Nanos now, Release&& release) {
        gate_.wake(flow, now, [&](const RequestGate::Held& held) {
            on_release(flow, held, now);
            release(flows_[flow].vnic, held.packet);
        });
    }
    /// Releases requests for which the appliances' windows have room, at most a burst per appliance. @return
    /// packets
    template <class Release>
    unsigned serve_windows(Nanos now, Release&& release);
    /// Sends clients the windows that were kept from them: deliver(VnicId, rte_mbuf*). Once in kOpenPeriod.
    template <class Deliver>
    void reopen_windows(Nanos now, Deliver&& deliver);
    /// Once in 256 iterations: forgets idle connections, and takes over windows that the controller changed.
    void housekeeping(Nanos now);
    /// No request is held, and no client's window is closed.
    [[nodiscard]] bool idle() const;

    /// A service flow's appliance (index) and counters.
    struct Reading {
        std::uint16_t appliance;
        RequestFlowStats stats;
    };
    /// Readings of a vNIC's service flows, as far as `readings` has capacity (kAppliancesPerVnic is enough):
    /// the call allocates nothing.
    void read(VnicId vnic, Nanos now, std::vector<Reading>& readings) const;

  private:
    static constexpr std::uint32_t kNoFlow = UINT32_MAX;
    static constexpr Nanos kCloseAbove = 80'000'000;
    static constexpr Nanos kOpenBelow = 40'000'000;
    /// A request without a response is overdue after one to two of these.
    static constexpr Nanos kEra = 100'000'000;
    static constexpr Nanos kOpenPeriod = 500'000;
    static constexpr unsigned kOpenAtOnce = 32;  ///< windows of one service flow
    /// A client whose window was opened sends its next request within this time, or has none to send.
    static constexpr Nanos kExpectFor = 10'000'000;

    /// The segments of payload on the wire, with TCP timestamps and an MTU of 1500: 1,448 bytes of it over
    /// IPv4, 1,428 over IPv6, and headers in each.
    struct Segments {
        std::uint32_t header_bytes;
        std::uint32_t per_byte;  ///< segments, in parts of 2^32
        [[nodiscard]] std::uint32_t wire_bytes(std::uint32_t payload) const {
            const auto more = static_cast<std::uint32_t>(std::uint64_t{payload} * per_byte >> 32);
            return payload + (1 + more) * header_bytes;
        }
    };
    /// The fields that every request reads come first.
    struct alignas(64) ServiceFlow {
        ServiceFlow(VnicId of, std::uint16_t to, CostFunction price, const Segments& cut)
            : vnic(of), appliance(to), segments(cut), cost(std::move(price)) {}
        [[nodiscard]] Nanos answer_time() const;
        VnicId vnic;
        std::uint16_t appliance;
        bool open = true;
        bool counts_cycles = false;
        std::uint8_t slot = 0;  ///< position among its vNIC's service flows
        Segments segments;
        std::uint64_t at_service = 0;  ///< tokens that the flow holds in the window
        /// Part of at_service: of requests that were forwarded in the era before this one.
        std::uint64_t last_era = 0;
        /// Tokens of forwarded requests that no longer hold the window, as their responses are late.
        std::uint64_t overdue = 0;
        std::uint64_t part = 0;  ///< overdue tokens at which the flow is kept from the window
        bool barred = false;     ///< it is
        /// Part of at_service: of requests whose connections clients have reset, while the appliance works
        /// on, and of those that wait on purpose. The first are given back when `given_back_at` comes, the
        /// second one answer's time later.
        std::array<std::uint64_t, 2> abandoned{};
        Nanos given_back_at = kNever;
        std::unique_ptr<Histogram> latency = std::make_unique<Histogram>();
        /// Average bytes of responses whose size the request does not state, by operation.
        std::array<std::uint32_t, kOperations> expected{};
        CostFunction cost;
        RequestFlowStats stats;
        GateProfile promised;
        std::array<std::uint64_t, kPathResources> limit{};
        // Pacing of its clients, worked out every 10 ms by update_pace().
        Nanos paced_at = 0;
        bool congested = false;  ///< a request that arrived now would wait
        CostVector mean_cost{};  ///< of a request
        std::uint64_t released_bytes = 0;
        std::uint32_t in_flight_max = 0;      ///< bytes of a connection in flight while requests are held
        std::uint32_t expected_requests = 0;  ///< of clients whose windows were opened
        Nanos opened_at = 0;
    };
    /// A frame of a burst, looked up before any frame of the burst is tracked: so memory is waited for once a
    /// burst.
    struct Lookup {
        TcpView view;
        std::uint32_t flow;  ///< kNoFlow: neither to nor from an appliance
        ConnectionTable::Slot slot;
        ConnectionId connection;
    };
    using Lookups = std::array<Lookup, limits::kBurst>;
    /// A service flow, and its appliance's address.
    struct Service {
        std::uint16_t port;
        bool ip6;
        std::uint32_t flow;
        Ip6Address address;
    };
    /// An appliance with a window.
    struct Window {
        std::uint16_t appliance;
        ApplianceGate gate;
        std::uint32_t shares = 0;  ///< of its open flows
    };
    /// The requests of a segment: their cost together, and their numbers [first, end) in their connection.
    struct Tracked {
        CostVector cost{};
        std::uint32_t waiting = 0;  ///< tokens of those that wait on purpose
        TrackedConnection* connection = nullptr;
        std::uint32_t first = 0;
        std::uint32_t end = 0;
    };
    /// Tokens of requests that the tracker closed.
    struct Finished {
        std::uint64_t in_window = 0;
        std::uint64_t last_era = 0;  ///< part of in_window
        std::uint64_t overdue = 0;
    };
    struct Charges;

    // request_path.cc: frames.
    /// @return a bit for each frame that could reach an appliance and cannot be read
    std::uint32_t look_up(VnicId vnic, Side side, rte_mbuf* const* frames, std::uint16_t count,
                          Lookups& lookups) const;
    [[nodiscard]] bool read_unusual_frame(VnicId vnic, Side side, const rte_mbuf* frame, TcpView& view,
                                          std::uint32_t bit, std::uint32_t& unreadable) const;
    void find_flow(VnicId vnic, Side side, Lookup& lookup) const;
    void prefetch(std::uint32_t flow) const;
    [[nodiscard]] TrackedConnection* connection_of(const Lookup& lookup, Nanos now);
    [[nodiscard]] Tracked track(const Lookup& lookup, TrackedConnection* known, Side side,
                                const rte_mbuf* frame, Nanos now);
    [[nodiscard]] bool refuse(VnicPath& from, const Batch& batch, std::uint16_t at, DropReason reason);
    [[nodiscard]] bool passes(VnicPath& from, Batch& batch, std::uint16_t at, const Lookup& lookup,
                              Nanos now);

    // request_path_flows.cc: service flows, and their requests at the appliances.
    [[nodiscard]] std::uint32_t open_flow(const VnicPath& path, const VnicProfile::Requests& requests,
                                          Nanos now);
    [[nodiscard]] ServiceFlow* flow_of(const TrackedConnection& connection);
    [[nodiscard]] ApplianceGate* window_of(std::uint16_t appliance);
    void count_shares(const ServiceFlow& flow, bool counts);
    void on_release(std::uint32_t flow, const RequestGate::Held& held, Nanos now);
    void forget(TrackedConnection& connection, ServiceFlow* flow, bool by_client, Nanos now);
    void finish(ServiceFlow* flow, Nanos now);
    void abandon(ServiceFlow& flow, Nanos now);
    void give_back_later(ServiceFlow& flow, std::uint64_t tokens, Nanos now);
    void give_back_abandoned(Nanos now);
    [[nodiscard]] Finished newly_finished(const ServiceFlow* flow);
    void leave_window(ServiceFlow& flow, std::uint64_t tokens);
    void end_era(Nanos now);
    [[nodiscard]] std::uint64_t part_of(const ServiceFlow& flow) const;
    void bar_if_overdue(ServiceFlow& flow, Nanos now);
    void divide_windows(Nanos now);
    void sweep(Nanos now);

    // request_path_pacing.cc: clients.
    void pace_client(const Lookup& lookup, rte_mbuf* frame, TrackedConnection& connection, Nanos now);
    void update_pace(ServiceFlow& flow, std::uint32_t id, Nanos now);
    [[nodiscard]] Nanos expected_wait(const ServiceFlow& flow, std::uint32_t id, Nanos now) const;
    /// Clients of the service flow are paced, or soon will be.
    [[nodiscard]] bool is_paced(std::uint32_t flow) const {
        return flows_[flow].congested || gate_.waiting(flow) || closed_.count(flow) != 0;
    }

    const std::vector<Appliance>& appliances_;
    WorkerId worker_;
    bool shared_;
    Nanos share_due_ = 0;
    ConnectionHash hash_;
    std::uint32_t overhead_bytes_;
    CaptureTap& tap_;
    ConnectionTable connections_;
    Tracker tracker_;
    Nanos give_back_due_ = kNever;  // the first flow's given_back_at
    Nanos era_ends_ = 0;
    std::uint64_t finished_ = 0;  // the part of the tracker's finished_tokens() that flows have been credited
    std::array<std::uint64_t, PendingRequests::kAges> finished_by_age_{};
    RequestGate gate_;
    ClosedWindows closed_;
    rte_mempool* pool_;
    Nanos open_due_ = 0;
    std::vector<Window> windows_;
    std::vector<ServiceFlow> flows_;
    std::vector<std::vector<Service>> services_;  // by VnicId; TrackedConnection::service is the index
};

template <class Drop>
void RequestPath::remove(const VnicPath& path, Nanos now, Drop&& drop) {
    for (const Service& service : services_[path.fixed.id]) {
        ServiceFlow& flow = flows_[service.flow];
        leave_window(flow, flow.at_service);
        flow.abandoned = {};
        flow.last_era = flow.overdue = 0;
        flow.given_back_at = kNever;
        gate_.close(service.flow, now, drop);
        closed_.forget(service.flow);
        count_shares(flow, false);
        flow.open = false;
    }
    services_[path.fixed.id].clear();
    connections_.leave(path.fixed.id);
}

template <class Deliver>
void RequestPath::reopen_windows(Nanos now, Deliver&& deliver) {
    if (closed_.count() == 0 || now < open_due_)
        return;
    open_due_ = now + kOpenPeriod;
    for (std::uint32_t id = 0; id < flows_.size(); ++id) {
        ServiceFlow& flow = flows_[id];
        if (closed_.count(id) == 0)
            continue;
        update_pace(flow, id, now);
        if (now - flow.opened_at > kExpectFor)
            flow.expected_requests = 0;
        for (unsigned left = kOpenAtOnce; left != 0 && closed_.count(id) != 0; --left) {
            if (expected_wait(flow, id, now) > kOpenBelow)
                break;
            rte_mbuf* update = closed_.open_next(id).make(pool_);
            if (update == nullptr)  // the client's TCP probes a window of 0 by itself
                return;
            ++flow.expected_requests;
            flow.opened_at = now;
            deliver(flow.vnic, update);
        }
    }
}

template <class Release>
unsigned RequestPath::serve_windows(Nanos now, Release&& release) {
    unsigned released = 0;
    if (shared_ && now >= share_due_ && !windows_.empty())
        divide_windows(now);
    for (Window& window : windows_) {
        for (unsigned left = limits::kBurst; left != 0 && window.gate.contended(); --left) {
            const std::optional<ApplianceGate::Grant> grant = window.gate.next(now);
            if (!grant)
                break;
            gate_.grant(*grant, now, [&](const RequestGate::Held& held) {
                on_release(grant->flow, held, now);
                release(flows_[grant->flow].vnic, held.packet);
                ++released;
            });
        }
    }
    return released;
}

}  // namespace weir
