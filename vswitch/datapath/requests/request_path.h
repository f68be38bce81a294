// request_path.h - one worker's requests to appliances: finds them in its VMs' TCP streams, prices them, lets
// them pass or wait for every resource of their path, and settles when the response comes.
// Source: Pulsar 4.4; algorithms 1.7 and 8. Units: bytes, tokens, ns. Threads: owning worker; built by the
// agent.
//
// A flow is what one vNIC asks of one appliance, over all its connections. Only frames of vNICs that have
// appliances come here, and of these only those to or from an appliance are looked into.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "common/histogram.h"
#include "cost_functions/cost_function.h"
#include "cost_functions/tracker/connection_table.h"
#include "cost_functions/tracker/tracker.h"
#include "vswitch/datapath/batch.h"
#include "vswitch/datapath/link_share.h"
#include "vswitch/datapath/requests/closed_windows.h"
#include "vswitch/datapath/requests/tcp_view.h"
#include "vswitch/datapath/vnic_path.h"
#include "vswitch/limits.h"
#include "vswitch/qos/requests/request_gate.h"

namespace weir {

/// An appliance as the data path knows it; shared by all workers.
struct Appliance {
    bool ip6 = false;
    Ip6Address address{};  ///< IPv4: the first four bytes
    std::uint16_t port = 0;
    std::uint8_t protocol = 0;  ///< index into kProtocols
    std::shared_ptr<const CostTable> cost;
    std::shared_ptr<const CostProgram> program;
    std::shared_ptr<const CostTable> cycles;  ///< of the worker, for each request; null: not charged
    std::uint64_t window = UINT64_MAX;        ///< tokens that may be outstanding; UINT64_MAX: any number
    std::string_view scheduler = "wrr";  ///< where there is a window: a name that make_link_scheduler() knows
    std::shared_ptr<LinkShare> window_share;  ///< where there is a window: it divided among the workers
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
        std::uint32_t wheel_id;      ///< of flow 0; there are limits::kRequestFlowsMax
        std::uint32_t header_bytes;  ///< per segment on the wire, besides its payload
    };
    explicit RequestPath(const Setup& setup);

    void add(const VnicPath& path, Nanos now);
    void change(const VnicPath& path, Nanos now);
    /// What waits is given to drop(const PacketRef&).
    template <class Drop>
    void remove(const VnicPath& path, Nanos now, Drop&& drop);

    /// Frames of a VM, classified. Those that have to wait are taken out of the batch, counted as queued;
    /// those that there is no room for, or that are held already, are dropped.
    void from_vm(VnicPath& from, Batch& batch, Nanos now);
    /// Frames about to be delivered to a VM.
    void to_vm(const VnicPath& to, const Run& run, Nanos now);
    /// The wheel fired: give(VnicId, const PacketRef&) gets what may go on.
    template <class Give>
    void wake(std::uint32_t flow, Nanos now, Give&& give) {
        gate_.wake(flow, now, [&](const RequestGate::Held& held) {
            has_left(flow, held, now);
            give(flows_[flow].vnic, held.packet);
        });
    }
    /// Lets in whom the appliances' windows have room for; a burst of each at most. @return how many
    template <class Give>
    unsigned serve_windows(Nanos now, Give&& give);
    /// Tells clients whose windows were closed that they are open again: deliver(VnicId, rte_mbuf*).
    template <class Deliver>
    void open_clients(Nanos now, Deliver&& deliver);
    /// Now and then: connections that are idle.
    void keep_house(Nanos now);

    /// The vNIC's flows: (index into the appliances, tallies).
    struct Reading {
        std::uint16_t appliance;
        RequestFlowStats stats;
    };
    /// Fills as much of `readings` as has room: kAppliancesPerVnic are enough. Allocates nothing.
    void read(VnicId vnic, Nanos now, std::vector<Reading>& readings) const;

  private:
    static constexpr std::uint32_t kNoFlow = UINT32_MAX;
    /// A guest's TCP sends again after 200 ms (Linux's least), so nothing is to wait for so long here.
    /// Whoever would is told to wait with it, and to go on when others have gone.
    static constexpr Nanos kCloseAbove = 80'000'000;
    static constexpr Nanos kOpenBelow = 40'000'000;
    static constexpr Nanos kOpenPeriod = 500'000;
    static constexpr unsigned kOpenAtOnce = 32;
    /// One that has been told to go on is likely to do so within this, or has nothing to ask.
    static constexpr Nanos kExpectFor = 10'000'000;
    static constexpr std::uint32_t kClosedMax = 1 << 12;

    /// What every request reads comes first.
    struct alignas(64) Flow {
        Flow(VnicId of, std::uint16_t to, CostFunction price)
            : vnic(of), appliance(to), cost(std::move(price)) {}
        VnicId vnic;
        std::uint16_t appliance;
        bool open = true;
        bool counts_cycles = false;
        std::uint8_t slot = 0;         ///< among its vNIC's
        std::uint64_t at_service = 0;  ///< tokens of what has left and is not answered
        std::unique_ptr<Histogram> latency = std::make_unique<Histogram>();
        /// Bytes of responses whose length requests do not say, by operation, averaged.
        std::array<std::uint32_t, kOperations> expected{};
        CostFunction cost;
        RequestFlowStats stats;
        GateProfile promised;
        std::array<std::uint64_t, kPathResources> limit{};
        // How its clients are slowed down.
        Nanos looked_at = 0;   ///< when the next four were worked out
        bool pressed = false;  ///< another request would have to wait
        CostVector usual{};    ///< what a request costs on average
        std::uint64_t let_go_bytes = 0;
        std::uint32_t allowance = 0;  ///< bytes on their way that a connection may have while something waits
        std::uint32_t invited = 0;    ///< requests of clients that have been told to go on
        Nanos opened_at = 0;
    };
    /// What is found out about a burst before anything of it is tracked, so that memory is waited for once.
    struct Look {
        TcpView view;
        std::uint32_t flow;  ///< kNoFlow: it is none of ours
        ConnectionTable::Slot slot;
        ConnectionId connection;
    };
    using Looks = std::array<Look, limits::kBurst>;
    /// Where the requests of a flow go.
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
    };
    /// What the requests of a segment cost, and their numbers in their connection.
    struct Tracked {
        CostVector cost{};
        TrackedConnection* connection = nullptr;
        std::uint32_t first = 0;
        std::uint32_t end = 0;
    };
    class Charges;

    void look(VnicId vnic, Side side, rte_mbuf* const* frames, std::uint16_t count, Looks& looks) const;
    void find(VnicId vnic, Side side, Look& look) const;
    void prefetch(std::uint32_t flow) const;
    [[nodiscard]] TrackedConnection* connection_of(const Look& look, Nanos now);
    [[nodiscard]] Tracked track(const Look& look, TrackedConnection* known, Side side, const rte_mbuf* frame,
                                Nanos now);
    [[nodiscard]] bool passes(VnicPath& from, Batch& batch, std::uint16_t at, const Look& look, Nanos now);
    void slow_down(const Look& look, rte_mbuf* frame, TrackedConnection& connection, Nanos now);
    void look_at(Flow& flow, std::uint32_t id, Nanos now);
    [[nodiscard]] Nanos wait_of_one_more(const Flow& flow, std::uint32_t id, Nanos now) const;
    /// Clients are slowed down, or soon will be.
    [[nodiscard]] bool is_pressed(std::uint32_t flow) const {
        return flows_[flow].pressed || gate_.waiting(flow) || closed_.count(flow) != 0;
    }
    void has_left(std::uint32_t flow, const RequestGate::Held& held, Nanos now);
    void forget(TrackedConnection& connection, Flow* flow);
    void finish(Flow* flow);
    void finish(Flow& flow, std::uint64_t tokens);
    [[nodiscard]] Flow* flow_of(const TrackedConnection& connection);
    [[nodiscard]] ApplianceGate* window_of(std::uint16_t appliance);
    void negotiate_windows(Nanos now);
    [[nodiscard]] std::uint32_t wire_bytes(std::uint32_t payload) const;
    [[nodiscard]] std::uint32_t open_flow(const VnicPath& path, const VnicProfile::Requests& requests,
                                          Nanos now);

    const std::vector<Appliance>& appliances_;
    WorkerId worker_;
    bool shared_;
    Nanos share_due_ = 0;
    ConnectionHash hash_;
    std::uint32_t header_bytes_;
    ConnectionTable connections_;
    Tracker tracker_;
    std::uint64_t finished_ = 0;  // of the tracker's tally, what flows have been told
    RequestGate gate_;
    ClosedWindows closed_;
    rte_mempool* pool_;
    Nanos open_due_ = 0;
    std::vector<Window> windows_;
    std::vector<Flow> flows_;
    std::vector<std::vector<std::uint32_t>> of_vnic_;  // flows by VnicId
    std::vector<std::vector<Service>> services_;       // likewise, what find() reads of them
};

template <class Drop>
void RequestPath::remove(const VnicPath& path, Nanos now, Drop&& drop) {
    for (const std::uint32_t id : of_vnic_[path.fixed.id]) {
        finish(flows_[id], flows_[id].at_service);
        gate_.close(id, now, drop);
        closed_.forget(id);
        flows_[id].open = false;
    }
    of_vnic_[path.fixed.id].clear();
    services_[path.fixed.id].clear();
    connections_.leave(path.fixed.id);
}

template <class Deliver>
void RequestPath::open_clients(Nanos now, Deliver&& deliver) {
    if (closed_.count() == 0 || now < open_due_)
        return;
    open_due_ = now + kOpenPeriod;
    for (std::uint32_t id = 0; id < flows_.size(); ++id) {
        Flow& flow = flows_[id];
        if (closed_.count(id) == 0)
            continue;
        look_at(flow, id, now);
        if (now - flow.opened_at > kExpectFor)
            flow.invited = 0;
        for (unsigned left = kOpenAtOnce; left != 0 && closed_.count(id) != 0; --left) {
            if (wait_of_one_more(flow, id, now) > kOpenBelow)
                break;
            rte_mbuf* update = closed_.open_next(id).make(pool_);
            if (update == nullptr)  // its client will probe
                return;
            ++flow.invited;
            flow.opened_at = now;
            deliver(flow.vnic, update);
        }
    }
}

template <class Give>
unsigned RequestPath::serve_windows(Nanos now, Give&& give) {
    unsigned served = 0;
    if (shared_ && now >= share_due_ && !windows_.empty())
        negotiate_windows(now);
    for (Window& window : windows_) {
        for (unsigned left = limits::kBurst; left != 0 && window.gate.contended(); --left) {
            const std::optional<ApplianceGate::Grant> grant = window.gate.next(now);
            if (!grant)
                break;
            gate_.grant(*grant, now, [&](const RequestGate::Held& held) {
                has_left(grant->flow, held, now);
                give(flows_[grant->flow].vnic, held.packet);
                ++served;
            });
        }
    }
    return served;
}

}  // namespace weir
