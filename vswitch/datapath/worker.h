// worker.h - one poll-mode core: owns vNICs, moves their frames, keeps their limits.
// Source: design sections 2, 4 and 6. Units: ns, cycles. Threads: built by the agent; run_once() and
// everything it calls by the worker's thread only; the agent speaks through control().
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "vswitch/datapath/classifier.h"
#include "vswitch/datapath/cycle_bill.h"
#include "vswitch/datapath/delivery.h"
#include "vswitch/datapath/feedback/rate_feedback.h"
#include "vswitch/datapath/frame.h"
#include "vswitch/datapath/inbox.h"
#include "vswitch/datapath/link_share.h"
#include "vswitch/datapath/requests/request_path.h"
#include "vswitch/datapath/tunnels/tunnel_path.h"
#include "vswitch/datapath/uplink.h"
#include "vswitch/datapath/worker_control.h"
#include "vswitch/ports/quiescence.h"
#include "vswitch/qos/buckets/timing_wheel.h"

namespace weir {

class Worker {
  public:
    struct Setup {
        WorkerId id;
        rte_mempool* pool;
        Quiescence& quiescence;
        std::span<const std::unique_ptr<Inbox>> inboxes;  ///< of all workers, by id
        std::uint32_t overhead_bytes;
        std::uint64_t flood_pps;
        Nanos mac_ageing;
        std::uint64_t coalesce_cycles;  ///< how long a ring with small bursts is left to fill
    };
    explicit Worker(const Setup& setup);
    ~Worker();

    struct UplinkPart {
        NicDevice& device;
        std::string_view scheduler;  ///< a name that make_link_scheduler() knows
        std::uint32_t mtu;
        LinkShare& out;
        LinkShare& in;
        const FeedbackProfile* feedback;  ///< nullptr: off
        std::uint64_t ruled_below = 0;  ///< a controller may limit what goes to single destinations, to less
                                        ///< than so many bytes per second; 0: there is none
    };
    /// Gives the worker its queue and its part of the uplink; before the first run_once().
    void set_uplink(const UplinkPart& part);
    /// Requests to these are tracked; before the first run_once(). @param appliances outlive the worker
    void set_appliances(const std::vector<Appliance>& appliances, const ConnectionKey& key);

    /// Tunnels to other switches; after set_uplink(), before the first run_once(). @param tunnels outlive the
    /// worker
    void set_tunnels(const std::vector<TunnelEnd>& tunnels, std::vector<EspEngine*> engines);

    /// One turn of the poll loop. @param start the cycle counter at its beginning @return frames moved; 0
    /// means idle
    unsigned run_once(Nanos now, std::uint64_t start);
    unsigned run_once(Nanos now) { return run_once(now, rte_rdtsc()); }
    /// Nothing waits in any queue of this worker (its guests' rings aside).
    [[nodiscard]] bool drained() const;

    /// Housekeeping in the next turn: time has passed outside.
    void keep_house_next() { until_housekeeping_ = 1; }

    [[nodiscard]] WorkerControl& control() { return control_; }
    [[nodiscard]] MacNewsRing& news() { return news_; }
    /// What other switches say of keys; with tunnels only.
    [[nodiscard]] TunnelLetters& letters() { return tunnels_->letters; }
    [[nodiscard]] WorkerId id() const { return setup_.id; }

    WorkerStats stats;  ///< cycles are filled in by the thread that calls run_once()

  private:
    // worker.cc: the loop
    unsigned wake_due(Nanos now);
    unsigned poll_vnics(Nanos now);
    unsigned poll_vnic(VnicPath& vnic, Nanos now);
    std::uint16_t allowance(VnicPath& vnic, Nanos now);
    void park(VnicPath& vnic, const Limiter::Costs& costs, Nanos now);
    void resume(VnicPath& vnic, Nanos now);
    void housekeeping(Nanos now);
    void negotiate_share(Nanos now);
    // forward.cc: where classified frames go
    void take(VnicPath& from, rte_mbuf** frames, std::uint16_t count, Nanos now);
    void forward(VnicPath& from, Batch& batch, Nanos now);
    void route(VnicPath& from, const Run& run, Destination to, bool whole, Nanos now);
    void to_local(VnicPath& from, const Run& run, Destination to, bool whole, Nanos now);
    void flood_from_vm(VnicPath& from, const Run& run, Nanos now);
    std::uint16_t deliver(VnicPath& to, const Run& run, bool whole);
    void stage(VnicPath& to, const Run& run);
    std::uint16_t hand_over(VnicPath& to, const Run& run, FrameOrigin origin);
    void from_wire_to(VnicPath& to, const Run& run, bool whole, Nanos now);
    bool deliver_one(VnicPath& to, rte_mbuf* frame);
    void deliver_copy(VnicPath& to, rte_mbuf* copy);
    std::optional<DropReason> deliver_queued(rte_mbuf* frame);
    void flush_touched();
    void flush_to_receivers();
    unsigned poll_wire(Nanos now);
    void from_wire(Batch& batch, const std::uint16_t* vlans, Nanos now);
    void flood_from_wire(rte_mbuf* frame, std::uint32_t bytes, std::uint16_t vlan, Nanos now);
    unsigned poll_inbox(Nanos now);
    void take_from_worker(rte_mbuf* frame, Nanos now);
    // forward_tunnel.cc: what came through tunnels
    void from_tunnels(const EspBurst& burst, Nanos now);
    void decrypt(EspBurst& burst, Nanos now);
    void decrypted(rte_mbuf* frame, std::uint32_t bytes, TunnelId tunnel, Nanos now);
    void from_tunnel_to(VnicPath& to, rte_mbuf* frame, std::uint32_t bytes, TunnelId tunnel, Nanos now);
    // forward_requests.cc: what has waited for an appliance
    unsigned serve_requests(Nanos now);
    void let_go(VnicPath& from, const PacketRef& ref, Nanos now);
    void tell(VnicPath& to, rte_mbuf* frame);
    // commands.cc: what the agent wants
    void run_commands(Nanos now);
    void run_command(const WorkerCommand& command, Nanos now);
    void add_vnic(VnicPath& path, Nanos now);
    void change_vnic(VnicPath& path, const VnicProfile& profile, Nanos now);
    void hear_mac(const MacNews& news, Nanos now);
    void remove_vnic(VnicId id, Nanos now);
    void update_unknown();

    Setup setup_;
    bool shared_;  // there are other workers
    MacNewsRing news_;
    MacTable macs_;
    TimingWheel wheel_;
    CycleBill bill_;
    Delivery delivery_;
    std::unique_ptr<Uplink> uplink_;
    std::unique_ptr<RateFeedback> feedback_;
    std::unique_ptr<RequestPath> requests_;
    std::unique_ptr<TunnelPath> tunnels_;
    LinkShare* out_share_ = nullptr;
    LinkShare* in_share_ = nullptr;
    Nanos share_due_ = 0;
    std::uint64_t sent_before_ = 0;  // when shares were negotiated last
    std::uint64_t received_before_ = 0;
    Nanos turn_ = 0;  // when this turn of the loop began
    TokenBucket wire_flood_;
    WorkerControl control_;
    HandoffStats handoff_;
    Destination unknown_ = kToAll;  // where a VM's frame to an unknown address goes
    std::uint64_t iterations_ = 0;
    unsigned until_housekeeping_ = limits::kHousekeepingIterations;
    std::array<VnicPath*, limits::kVnicsMax> directory_{};  // all workers' vNICs, by id
    std::vector<VnicPath*> all_;                            // the same, dense
    std::vector<VnicPath*> mine_;                           // polled here
    std::vector<VnicPath*> touched_;                        // have staged frames
};

}  // namespace weir
