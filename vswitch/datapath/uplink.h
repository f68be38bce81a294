// uplink.h - one worker's share of the way out: VLAN tags, offloads, the scheduler, the NIC queue.
// Source: EyeQ 3.3 (WRR root); design section 4. Units: bytes as accounted, ns.
// Threads: owning worker.
#pragma once

#include <array>
#include <memory>
#include <span>

#include "vswitch/datapath/batch.h"
#include "vswitch/datapath/cycle_bill.h"
#include "vswitch/datapath/tunnels/tunnel_path.h"
#include "vswitch/datapath/vnic_path.h"
#include "vswitch/ports/nic_port.h"
#include "vswitch/qos/feedback/destination_limits.h"
#include "vswitch/qos/schedulers/link_scheduler.h"

struct rte_mempool;

namespace weir {

class Uplink {
  public:
    struct Setup {
        NicDevice& device;
        std::uint16_t queue;
        rte_mempool* pool;
        std::unique_ptr<LinkScheduler> scheduler;
        VnicPath* const* directory;  ///< by VnicId
        std::uint32_t overhead_bytes;
        std::uint32_t mtu;
        DestinationLimits::Profile flow_profile;
        std::uint32_t flows;  ///< limiters that destinations may ask for, a power of two
    };
    explicit Uplink(Setup setup);
    /// Frees what the NIC has not taken; the classes were removed before.
    ~Uplink();
    Uplink(const Uplink&) = delete;
    Uplink& operator=(const Uplink&) = delete;

    std::uint16_t rx_burst(rte_mbuf** frames, std::uint16_t max) { return nic_.rx_burst(frames, max); }

    /// Takes the run: sends it now if nothing waits and all buckets pay, else queues it. All frames are
    /// consumed.
    void send(VnicPath& from, const Run& run, Nanos now);
    /// Lets the scheduler pick what may leave now. @return frames handed to the NIC
    unsigned flush(Nanos now);

    void add(VnicPath& path, Nanos now);
    void change(const VnicPath& path, Nanos now);
    /// Drops what waits for the vNIC, with a reason.
    void remove(VnicPath& path, Nanos now);
    void wake(VnicId vnic, Nanos now) { scheduler_->wake(vnic, now); }
    void wake_destination(DestinationId flow, Nanos now) { scheduler_->wake_destination(flow, now); }

    /// A destination tells a vNIC a rate.
    DestinationLimits::Change on_feedback(VnicId vnic, std::uint64_t address, std::uint64_t rate,
                                          std::uint32_t sequence, Nanos now);
    /// The controller rules what the vNIC sends to an address, or (nullopt) does so no longer.
    /// @return false when there is no room for another limiter
    bool allocate(VnicId vnic, std::uint64_t address, std::optional<std::uint64_t> rate, Nanos now);
    /// Of a ruled flow: what has passed, and what waits.
    void read_peer(VnicId vnic, PeerReading& peer) const;
    /// Limiters in silence: some of them at each call.
    void sweep_limits(Nanos now);
    [[nodiscard]] std::uint32_t limiters() const { return flows_.advertised(); }
    [[nodiscard]] std::uint32_t limiters(VnicId vnic) const { return flows_.advertised(vnic); }

    /// A frame of the switch's own, past the queues. @return false when the NIC is behind; the frame is gone
    bool send_control(rte_mbuf* frame, Nanos now) { return send_control(frame, kNoTunnel, now); }
    /// The same through the tunnel that its address says; without one it is gone.
    bool send_control_encrypted(rte_mbuf* frame, Nanos now);
    /// What vNICs that encrypt send goes through these, and who sends pays the cycles. Both outlive the
    /// uplink.
    void use_tunnels(TunnelPath& tunnels, CycleBill& bill) {
        tunnels_ = &tunnels;
        bill_ = &bill;
    }

    /// This worker's part of the link, in tokens (accounted bytes) per second.
    void set_capacity(std::uint64_t bytes_per_sec, Nanos now);
    [[nodiscard]] std::uint64_t capacity() const { return capacity_; }
    [[nodiscard]] bool backlogged() const { return scheduler_->backlogged() || pending_count_ != 0; }
    /// Whether another burst of the vNIC may be taken from its ring.
    [[nodiscard]] bool has_room(VnicId vnic) const { return scheduler_->room(vnic) != 0; }

    UplinkStats stats;

  private:
    /// Frames handed over to the NIC that it has not taken yet.
    static constexpr std::uint16_t kPendingMax = 2 * limits::kBurst;

    // uplink_flows.cc
    void send_by_flow(VnicPath& from, const Run& run, Nanos now);
    DestinationLimits::Change take_over(const DestinationLimits::Result& result, VnicId vnic,
                                        std::uint64_t address, Nanos now);
    // uplink.cc
    static void count_sent(VnicPath& from, std::uint64_t packets, std::uint64_t bytes) {
        from.stats.admitted.add(packets, bytes);
        from.stats.from_vm.delivered.add(packets, bytes);
        from.stats.uplink_bytes += bytes;
    }
    void drop(VnicPath& from, rte_mbuf* frame, std::uint32_t bytes, DropReason reason);
    void send_one(VnicPath& from, rte_mbuf* frame, std::uint32_t bytes, std::uint16_t wire_frames, Nanos now);
    void send_adapted(VnicPath& from, const Run& run, Nanos now);
    void queue(VnicPath& from, DestinationId flow, rte_mbuf* frame, const PacketRef& ref, Nanos now);
    void take_out(VnicPath& path, const PacketRef& ref);
    [[nodiscard]] bool passes_whole(const VnicPath& from, const rte_mbuf* frame) const;
    bool tag(VnicPath& from, rte_mbuf*& frame, std::uint32_t bytes);
    bool prepare(VnicPath& from, rte_mbuf*& frame, std::uint32_t& bytes);
    bool goes_directly(VnicPath& from, DestinationId flow, std::uint32_t bytes, std::uint32_t wire_frames,
                       std::uint16_t frames, Nanos now);
    bool nic_has_room(std::uint16_t frames);
    void hand_over(rte_mbuf* frame, std::uint32_t bytes, TunnelId tunnel = kNoTunnel);
    bool send_control(rte_mbuf* frame, TunnelId tunnel, Nanos now);
    // uplink_tunnel.cc
    void send_encrypted(VnicPath& from, const Run& run, Nanos now);
    void encrypt_one(VnicPath& from, rte_mbuf* frame, std::uint32_t bytes, Nanos now);
    void send_into(VnicPath& from, rte_mbuf* frame, std::uint32_t bytes, TunnelId tunnel, Nanos now);
    void encrypt_pending();
    std::uint16_t encrypt_alike(std::uint16_t first);
    void undo_pending(rte_mbuf* frame, std::uint32_t bytes, EspOutcome outcome);
    void bill_encryption(std::span<rte_mbuf* const> frames, std::uint64_t cycles);
    void transmit();
    unsigned depart(Nanos now);

    NicDevice& device_;
    NicPort nic_;
    rte_mempool* pool_;
    std::unique_ptr<LinkScheduler> scheduler_;
    DestinationLimits flows_;
    VnicPath* const* directory_;
    std::uint32_t overhead_bytes_;
    std::uint32_t frame_bytes_max_;
    std::uint64_t capacity_ = 0;
    std::array<rte_mbuf*, kPendingMax> pending_{};
    std::array<TunnelId, kPendingMax> pending_tunnel_{};
    std::uint16_t pending_count_ = 0;
    std::uint16_t pending_ready_ = 0;  ///< the first of these are as the wire gets them
    bool pending_clear_ = false;       ///< some of the others are to be encrypted
    TunnelPath* tunnels_ = nullptr;
    CycleBill* bill_ = nullptr;
    std::uint64_t pending_bytes_ = 0;
};

}  // namespace weir
