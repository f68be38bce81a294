// uplink.h - one worker's share of the uplink: tags, offloads and tunnels around Egress, and the NIC's queue
// behind it. Source: EyeQ 3.3, 4.2; docs/design.md 4. Units: accounted bytes; ns. Threads: owning worker.
//
// Frames come in runs, one vNIC's and one burst's. A run is fitted to the NIC (VLAN tag, MTU, checksums,
// super-frames that the NIC cannot split), then passes the queues or waits in them as Egress decides. Frames
// that leave gather in a pending array, are encrypted there if they take a tunnel, and go to the NIC in
// bursts.
// A frame that the NIC does not take stays pending; then the scheduler's queues fill, then the guests' rings:
// nothing is lost to a slow NIC. While there is no link all are dropped, so that none leaves late.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "vswitch/datapath/capture/capture_tap.h"
#include "vswitch/datapath/frame/batch.h"
#include "vswitch/datapath/tunnels/tunnel_path.h"
#include "vswitch/datapath/vnic/cycle_bill.h"
#include "vswitch/datapath/vnic/vnic_path.h"
#include "vswitch/ports/nic_port.h"
#include "vswitch/qos/egress.h"

struct rte_mempool;

namespace weir {

class Uplink {
  public:
    struct Setup {
        NicDevice& device;
        std::uint16_t queue;
        rte_mempool* pool;
        Wakeups* wakeups = nullptr;  ///< of the owning worker; null: it never sleeps
        VnicPath* const* directory;  ///< by VnicId
        std::uint32_t overhead_bytes;
        std::uint32_t mtu;
        Egress::Setup egress;
        CaptureTap& tap;
        /// Frames of vNICs that encrypt take these tunnels, and the cycles are billed to the vNIC; nullptr:
        /// there are none. Both outlive the uplink.
        TunnelPath* tunnels = nullptr;
        CycleBill* bill = nullptr;
    };
    explicit Uplink(const Setup& setup);
    /// Frees frames that the NIC has not taken; all vNICs were removed before.
    ~Uplink();
    Uplink(const Uplink&) = delete;
    Uplink& operator=(const Uplink&) = delete;

    std::uint16_t rx_burst(rte_mbuf** frames, std::uint16_t max) { return nic_.rx_burst(frames, max); }
    [[nodiscard]] Port::Wake ask_for_wake() { return nic_.ask_for_wake(); }
    void forget_wake() { nic_.forget_wake(); }

    /// Consumes all frames: they are pending for the NIC, queued, or dropped with a reason.
    void send(VnicPath& from, const Run& run, Nanos now);
    /// Sends a copy, made for this tunnel, of a frame that goes into every tunnel; consumes it likewise.
    /// @param bytes of it that were counted as offered
    void send_copy(VnicPath& from, rte_mbuf* copy, std::uint32_t bytes, TunnelId tunnel, Nanos now);
    /// Gives the NIC the pending frames, and those that the scheduler lets leave now, kDeparturesMax at most.
    /// @return frames that left the scheduler
    unsigned flush(Nanos now);

    void add(VnicPath& path, Nanos now) { egress_.add(path.fixed.id, path.uplink, &path.limiter, now); }
    void change(const VnicPath& path, Nanos now) { egress_.change(path.fixed.id, path.uplink, now); }
    /// Drops the vNIC's frames in the queues, with a reason.
    void remove(VnicPath& path, Nanos now);

    /// A receiver's switch advertises a rate, in bytes per second, for the vNIC's frames to `address`.
    DestinationLimits::Change on_feedback(VnicId vnic, std::uint64_t address, std::uint64_t rate,
                                          std::uint32_t sequence, Nanos now);
    /// The controller allocates a rate for the vNIC's frames to an address, or withdraws it (nullopt).
    /// @return false when there is no room for another limiter
    bool allocate(VnicId vnic, std::uint64_t address, std::optional<std::uint64_t> rate, Nanos now);
    /// Fills in the bytes to `peer.address` since its allocation began, and those that wait; 0 without one.
    void read_peer(VnicId vnic, PeerReading& peer) const;

    /// Sends a frame of the switch's own, past the queues. @return false when it was dropped: the link is
    /// down or the NIC is behind
    bool send_control(rte_mbuf* frame, Nanos now) { return send_control(frame, kNoTunnel, now); }
    /// The same through the tunnel to the frame's destination; false also when that tunnel is not up.
    bool send_control_encrypted(rte_mbuf* frame, Nanos now);

    /// Capacity, wakes, room and limiters: this worker's part of the link.
    [[nodiscard]] Egress& egress() { return egress_; }
    [[nodiscard]] const Egress& egress() const { return egress_; }
    [[nodiscard]] bool backlogged() const { return egress_.backlogged() || pending_count_ != 0; }

    UplinkStats stats;

  private:
    /// Frames that left the scheduler and wait for the NIC.
    static constexpr std::uint16_t kPendingMax = 2 * limits::kBurst;
    /// Frames that leave the scheduler in one call of flush(): 10 us at most, in which the VMs wait.
    static constexpr unsigned kDeparturesMax = 4 * limits::kBurst;

    // uplink.cc
    static void count_sent(VnicPath& from, std::uint64_t packets, std::uint64_t bytes) {
        from.stats.admitted.add(packets, bytes);
        from.stats.from_vm.delivered.add(packets, bytes);
        from.stats.uplink_bytes += bytes;
    }
    /// The caller made sure of room: by nic_has_room(), or by taking no more frames from the scheduler than
    /// fit.
    void add_pending(rte_mbuf* frame, std::uint32_t bytes, TunnelId tunnel = kNoTunnel) {
        pending_tunnel_[pending_count_] = tunnel;
        pending_clear_ |= tunnel != kNoTunnel;
        pending_[pending_count_++] = frame;
        pending_bytes_ += bytes;
    }
    void drop(VnicPath& from, rte_mbuf* frame, std::uint32_t bytes, DropReason reason, Nanos delay = 0);
    void send_one(VnicPath& from, rte_mbuf* frame, std::uint32_t bytes, std::uint16_t wire_frames, Nanos now);
    void send_adapted(VnicPath& from, const Run& run, Nanos now);
    void send_split(VnicPath& from, rte_mbuf* frame, std::uint32_t bytes, TunnelId tunnel, Nanos now);
    void send_by_destination(VnicPath& from, const Run& run, Nanos now);
    void enqueue(VnicPath& from, DestinationId destination, rte_mbuf* frame, const PacketRef& ref, Nanos now);
    [[nodiscard]] bool passes_whole(const VnicPath& from, const rte_mbuf* frame) const;
    bool tag(VnicPath& from, rte_mbuf* frame, std::uint32_t bytes);
    bool prepare(VnicPath& from, rte_mbuf* frame, std::uint32_t bytes);
    bool try_bypass(VnicPath& from, DestinationId destination, std::uint32_t bytes, std::uint32_t wire_frames,
                    std::uint16_t frames, Nanos now);
    bool nic_has_room(std::uint16_t frames);
    bool send_control(rte_mbuf* frame, TunnelId tunnel, Nanos now);
    [[nodiscard]] std::uint32_t accounted_bytes(const rte_mbuf* frame, TunnelId tunnel) const;
    void drop_pending();
    std::uint16_t transmit_burst(rte_mbuf** frames, std::uint16_t count);
    void transmit();
    unsigned depart(Nanos now);
    // uplink_tunnels.cc
    void send_encrypted(VnicPath& from, const Run& run, Nanos now);
    void send_into(VnicPath& from, rte_mbuf* frame, std::uint32_t bytes, TunnelId tunnel, Nanos now);
    void send_whole_into(VnicPath& from, rte_mbuf* frame, std::uint32_t bytes, TunnelId tunnel, Nanos now);
    void encrypt_pending();
    std::uint16_t encrypt_alike(std::uint16_t first);
    void undo_pending(rte_mbuf* frame, std::uint32_t bytes, EspOutcome outcome);

    NicDevice& device_;
    NicPort nic_;
    rte_mempool* pool_;
    Egress egress_;
    CaptureTap& tap_;
    VnicPath* const* directory_;
    std::uint32_t overhead_bytes_;
    std::uint32_t frame_bytes_max_;
    std::array<rte_mbuf*, kPendingMax> pending_{};
    std::array<TunnelId, kPendingMax> pending_tunnel_{};  ///< kNoTunnel: the frame is as the wire gets it
    std::uint16_t pending_count_ = 0;
    std::uint16_t pending_ready_ = 0;  ///< the first so many frames need no encryption
    bool pending_clear_ = false;       ///< some frames behind them do
    TunnelPath* tunnels_;
    CycleBill* bill_;
    std::uint64_t pending_bytes_ = 0;
    unsigned turn_ = 0;  ///< which frame of a run is noted
};

}  // namespace weir
