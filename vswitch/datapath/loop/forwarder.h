// forwarder.h - where one worker's classified frames go: to a VM here, to another worker, to the uplink, or
// to all of a VLAN. Source: docs/design.md 4; IEEE 802.1Q 8.8. Units: bytes as accounted, ns. Threads: built
// by the agent; then owning worker.
//
// The optional stages exist or not from construction on: the uplink, feedback (only with an uplink), requests
// to appliances, and tunnels (only with an uplink). Every call charges the cycles that it used to the vNIC
// that caused them, except from_vm(), whose caller knows when the poll began.
#pragma once

#include <array>
#include <bitset>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "vswitch/datapath/feedback/rate_feedback.h"
#include "vswitch/datapath/loop/classifier.h"
#include "vswitch/datapath/output/delivery.h"
#include "vswitch/datapath/output/uplink.h"
#include "vswitch/datapath/requests/request_path.h"
#include "vswitch/datapath/tunnels/tunnel_path.h"
#include "vswitch/datapath/vnic/cycle_bill.h"
#include "vswitch/datapath/vnic/flood_members.h"
#include "vswitch/datapath/vnic/flood_queue.h"
#include "vswitch/datapath/vnic/mac_table.h"
#include "vswitch/qos/buckets/timing_wheel.h"
#include "vswitch/qos/link_share.h"

namespace weir {

class Forwarder {
  public:
    struct UplinkPart {
        NicDevice& device;
        const SchedulerEntry* scheduler;
        std::uint32_t mtu;
        LinkShare& out;  ///< the capacities of the wire, divided among the workers
        LinkShare& in;
        const FeedbackProfile* feedback = nullptr;  ///< nullptr: off
        /// Upper bound, in bytes per second, of the rates that the controller allocates to single
        /// destinations; 0: there is no controller.
        std::uint64_t allocated_below = 0;
    };
    struct Setup {
        WorkerId worker;
        rte_mempool* pool;
        std::span<const std::unique_ptr<Inbox>> inboxes;  ///< of all workers, by id
        std::uint32_t overhead_bytes;                     ///< accounted per wire frame on top of its length
        std::uint64_t flood_pps;                          ///< bound on floods from the wire
        Nanos mac_aging;
        std::optional<UplinkPart> uplink;
        const std::vector<Appliance>* appliances = nullptr;  ///< outlive the forwarder; null or empty: none
        ConnectionKey connection_key;          ///< random, of the hash table of requests' connections
        SourceKey source_key;                  ///< random, of the hash table of the wire's sources
        std::span<const TunnelEnd> tunnels{};  ///< outlive the forwarder; empty: none
        std::vector<EspEngine*> engines{};     ///< of this worker, one for each tunnel
    };
    /// Ids in the worker's timing wheel: a vNIC's own limit has the vNIC's id, then come the vNICs' classes
    /// in the uplink's scheduler, destination limits, and service flows.
    static constexpr std::uint32_t kClassIds = limits::kVnicsMax;
    static constexpr std::uint32_t kDestinationIds = 2 * limits::kVnicsMax;
    static constexpr std::uint32_t kRequestIds = kDestinationIds + limits::kDestinationLimitsMax;
    static constexpr std::uint32_t kWheelIds = kRequestIds + limits::kRequestFlowsMax;

    Forwarder(const Setup& setup, TimingWheel& wheel, CycleBill& bill);
    /// Frees what waits; all vNICs were removed before.
    ~Forwarder();
    Forwarder(const Forwarder&) = delete;
    Forwarder& operator=(const Forwarder&) = delete;

    /// A vNIC of any worker; this one must know all of them.
    void add(VnicPath& path, Nanos now);
    /// New rates of a vNIC of this worker.
    void change(VnicPath& path, Nanos now);
    /// Forgets the vNIC; frames of it that wait here are dropped.
    void remove(VnicPath& path, Nanos now);
    [[nodiscard]] VnicPath* vnic(VnicId id) const { return directory_[id]; }
    /// An address that another worker learned; ignored when its vNIC was removed meanwhile, id used again or
    /// not.
    void on_mac_update(const MacUpdate& update, Nanos now);
    [[nodiscard]] MacUpdateRing& mac_updates() { return mac_updates_; }

    /// Classifies and forwards one burst of a VM. All frames are consumed.
    void from_vm(VnicPath& from, rte_mbuf** frames, std::uint16_t count, Nanos now);
    /// Leaves the VM's ring alone until the vNIC's own limit can pay `costs`.
    void park(VnicPath& vnic, const Limiter::Costs& costs, Nanos now);
    /// Forwards what waits for the vNIC's own limit, as far as the limit pays, and parks the vNIC for the
    /// rest.
    void release_local(VnicPath& from, Nanos now);
    /// Receives one burst of the NIC's queue and counts it in `stats`. @return frames
    unsigned poll_wire(Nanos now, WorkerStats& stats);
    /// Receives one burst of other workers, or the next piece of one that holds super-frames. @return frames
    unsigned poll_inbox(Nanos now);
    /// Forwards requests that fit their appliances' windows, then reopens the TCP windows of clients that
    /// were stopped. @return requests. With appliances only.
    unsigned serve_requests(Nanos now);
    /// The wheel fired for a service flow: forwards its requests that every bucket pays now.
    void wake_request(std::uint32_t flow, Nanos now);

    /// Begins a turn's copies of flooded frames, with those that wait. @return copies, 0 when none waits
    unsigned serve_floods(Nanos now) {
        floods_.begin_turn();
        return floods_.idle() ? 0 : serve_waiting_floods(now);
    }
    [[nodiscard]] bool floods_wait() const { return !floods_.idle(); }
    /// Of the last burst of other workers pieces are left.
    [[nodiscard]] bool inbox_pieces_wait() const { return !inbox_pieces_.empty(); }

    /// Frames wait for VMs of this worker that did not take them at once.
    [[nodiscard]] bool frames_wait_for_vms() const { return delivery_.busy(); }
    /// Delivers what these VMs take now. @return buffers
    unsigned serve_waiting(Nanos now);
    /// The ring of a VM whose frames wait is to be left alone.
    [[nodiscard]] bool held_by_receiver(VnicPath& vnic, Nanos now) const {
        return delivery_.holds(vnic, now);
    }

    /// What a ring that a receiver holds back has next may go elsewhere: it goes there, or that cannot be
    /// known.
    [[nodiscard]] bool next_goes_elsewhere(const VnicPath& vnic);

    void housekeeping(Nanos now);
    void read(VnicId vnic, VnicStats& into) const;
    void read(WorkerSnapshot& into) const;

    [[nodiscard]] std::optional<Uplink>& uplink() { return uplink_; }
    [[nodiscard]] std::optional<RateFeedback>& feedback() { return feedback_; }
    [[nodiscard]] std::optional<RequestPath>& requests() { return requests_; }
    [[nodiscard]] std::optional<TunnelPath>& tunnels() { return tunnels_; }

  private:
    // forwarder.cc: per burst
    void forward(VnicPath& from, Batch& batch, Nanos now);
    void route(VnicPath& from, const Run& run, Destination to, bool whole, Nanos now);
    void route_known(VnicPath& from, const Run& run, Destination to, bool whole, Nanos now);
    void to_tunnels(VnicPath& from, const Run& run, Nanos now);
    void route_behind_floods(VnicPath& from, const Run& run, Destination to, Nanos now);
    void to_local(VnicPath& from, const Run& run, Destination to, bool whole, Nanos now);
    void from_wire(Batch& batch, const std::uint16_t* vlans, Nanos now);
    void from_wire_to(VnicPath& to, const Run& run, bool whole, Nanos now);
    void from_worker(rte_mbuf* frame, Nanos now);
    void from_tunnels(const ClearBurst& burst, Nanos now);
    void from_tunnel(rte_mbuf* frame, std::uint32_t bytes, TunnelId tunnel, Nanos now);
    void from_tunnel_to(VnicPath& to, DirectionStats& in, rte_mbuf* frame, std::uint32_t bytes, Nanos now);
    void send_single(VnicPath& from, rte_mbuf* frame, std::uint32_t bytes, Nanos now);
    bool deliver_one(VnicPath& to, rte_mbuf* frame, Nanos now);
    void note_destination(rte_mbuf* frame, Destination to) const;
    [[nodiscard]] VnicPath* addressee(const rte_mbuf* frame) const;
    std::optional<DropReason> deliver_queued(rte_mbuf* frame, Nanos now);
    void release_request(VnicPath& from, const PacketRef& ref, Nanos now);
    void deliver_own(VnicPath& to, rte_mbuf* frame);
    /// Where unknown addresses are behind the uplink anyway, nothing is learned from it.
    [[nodiscard]] bool learns_wire() const { return unknown_ != kToUplink; }
    // forwarder_floods.cc: frames for all of a VLAN
    void flood_from_vm(VnicPath& from, const Run& run, bool wire_only, Nanos now);
    void flood_routed(VnicPath& from, const Run& run, Destination to, bool wire_only, Nanos now);
    [[nodiscard]] bool reached_by_floods(const VnicPath& from, Destination to) const;
    bool flood_behind(VnicPath& from, const Run& run, Destination to, Nanos now);
    void flood_from_outside(DirectionStats& stats, rte_mbuf* frame, std::uint32_t bytes, std::uint16_t vlan,
                            bool encrypted, Nanos now);
    void copy_floods_now(Nanos now);
    unsigned serve_waiting_floods(Nanos now);
    [[nodiscard]] std::uint32_t copy_floods(FloodQueue& queue, std::uint32_t budget, Nanos now);
    void begin_flood(FloodQueue& queue, const Flood& flood);
    [[nodiscard]] std::uint32_t copy_to_members(FloodQueue& queue, const Flood& flood, std::uint32_t budget,
                                                Nanos now);
    [[nodiscard]] std::uint32_t copy_into_tunnels(FloodQueue& queue, const Flood& flood, std::uint32_t budget,
                                                  Nanos now);
    bool copy_to(VnicPath& to, rte_mbuf* frame, Nanos now);
    void copy_into(TunnelId tunnel, const Flood& flood, Nanos now);
    /// What the vNIC sends to all is copied for tunnels: all but the first, which the frame itself takes.
    [[nodiscard]] bool copies_for_tunnels(const VnicPath& from) const {
        return from.fixed.encrypted && uplink_ && tunnels_->tunnels() > 1;
    }
    void send_flooded(VnicPath& from, rte_mbuf* frame, std::uint32_t bytes, Nanos now);
    void end_flood(const Flood& flood, std::uint32_t copies, Nanos now);
    void remove_from_floods(VnicPath& path);
    // forwarder_setup.cc: construction and vNICs
    void update_unknown();
    void look_for_vms();
    void set_away(VnicPath& path, bool away);

    WorkerId worker_;
    rte_mempool* pool_;
    std::span<const std::unique_ptr<Inbox>> inboxes_;
    std::uint32_t overhead_bytes_;
    Destination unknown_ = kToAll;  // where a VM's frame to an unknown address goes
    TimingWheel& wheel_;
    CycleBill& bill_;
    TokenBucket wire_flood_;                                // weights of frames
    std::array<VnicPath*, limits::kVnicsMax> directory_{};  // all workers' vNICs, by id
    std::uint32_t learning_ports_ = 0;                      // vNICs without anti-spoofing
    std::uint32_t vnics_away_ = 0;                          // vNICs that gave their addresses away
    VnicId next_looked_at_ = 0;                             // by look_for_vms()
    VnicId ids_end_ = 0;                                    // above all ids that there were
    std::bitset<limits::kVnicsMax> away_;                   // these vNICs
    FloodMembers members_;
    FloodQueue floods_outside_;  // from the wire and tunnels
    FloodRound floods_{limits::kVnicsMax + 1};
    Intake inbox_pieces_;  // a burst of other workers with super-frames, which may be split here
    MacUpdateRing mac_updates_;
    MacTable macs_;
    std::optional<TunnelPath> tunnels_;
    std::optional<Uplink> uplink_;
    std::optional<RateFeedback> feedback_;
    std::optional<RequestPath> requests_;
    Delivery delivery_;
};

}  // namespace weir
