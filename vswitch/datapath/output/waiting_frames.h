// waiting_frames.h - frames that VMs of this worker do not take at once, and senders that wait for them.
// Source: EyeQ 3.3; docs/algorithms.md 4.6, 4.7. Units: bytes as accounted; buffers; ns. Threads: owning
// worker.
//
// Frames that do not fit into a full ring, or are above the vNIC's `receive_limit`, wait and are served by
// their senders' claims (fan_in.h); meanwhile later frames queue behind them. Without isolation, and when the
// VM has taken nothing for 100 ms, they are dropped. A receiver with several rings has a line for each full
// one (waiting_frames_rings.cc), and frames for its other rings pass. A flag of VnicPath::pressure sends a
// receiver's frames here; it is clear while no frame waits for a receiver without a limit.
//
// Example: of 20 frames B's ring takes five. 15 wait with their sender's claim; the next burst for B waits
// behind them, and serve() delivers them in order as B takes frames.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "vswitch/datapath/capture/capture_tap.h"
#include "vswitch/datapath/vnic/cycle_bill.h"
#include "vswitch/datapath/vnic/origin.h"
#include "vswitch/datapath/vnic/vnic_path.h"
#include "vswitch/qos/receive/drain_rate.h"
#include "vswitch/qos/receive/fan_in.h"
#include "vswitch/qos/receive/source_shares.h"

namespace weir {

class WaitingFrames {
  public:
    /// Frames, buffers and lines that may wait for the receivers of a worker.
    static constexpr FanIn::Room kRoom{
        .receivers = limits::kVnicsMax,
        .packets = {limits::kVnicsMax, limits::kReceivePacketsOwn, limits::kReceivePackets},
        .buffers = {FanIn::kGroups * limits::kVnicsMax, limits::kReceiveBuffersOwn, limits::kReceiveBuffers},
        .lines = limits::kRingLinesMax};
    struct Setup {
        WorkerId worker;
        CycleBill& bill;
        CaptureTap& tap;
        VnicPath* const* directory = nullptr;  ///< by VnicId; nullptr: nothing waits
        SourceKey source_key;                  ///< random
        std::uint64_t line_rate = 0;           ///< of the wire, bytes per second
    };
    explicit WaitingFrames(const Setup& setup);
    /// Frees the frames that wait.
    ~WaitingFrames();
    WaitingFrames(const WaitingFrames&) = delete;
    WaitingFrames& operator=(const WaitingFrames&) = delete;

    /// New rates of a vNIC of this worker, or a new vNIC.
    void change(VnicPath& path, Nanos now);
    /// A vNIC of any worker goes. If it is this worker's, frames that wait for it, or that it sent, are
    /// dropped.
    void remove(VnicPath& path);

    /// The vNIC of this worker goes to another; none of its frames waits here, and none for it.
    void forget(VnicId vnic);
    /// A vNIC comes from another worker, which has forgotten it: its limit goes on. change() follows.
    void take_limit(VnicId vnic, WaitingFrames& from) { fan_in_.take_limit(vnic, from.fan_in_); }
    /// Frames wait for the vNIC.
    [[nodiscard]] bool waits(VnicId vnic) const { return any_waits(vnic); }
    /// Frames of other workers' vNICs wait.
    [[nodiscard]] bool workers_wait() const;
    /// Sends the receiver's frames here, or no longer, when it is captured, or no longer.
    void refresh(VnicPath& to);
    /// Takes frames for a receiver with a limit, or for which frames wait, or did until lately: they are
    /// delivered, wait, or are dropped. @param bytes of all
    void send(const Origin& origin, VnicPath& to, rte_mbuf** frames, std::uint16_t count,
              std::uint64_t bytes);
    /// Takes frames that the VM's rings have just left. @param took bit n: ring n has taken others
    /// @param took_some any has
    void take_left(const Origin& origin, VnicPath& to, rte_mbuf** frames, std::uint16_t count,
                   std::uint32_t took, bool took_some);

    /// Frames wait, or the rate of a receiver is measured: serve() has work.
    [[nodiscard]] bool busy() const { return !fan_in_.empty() || !measured_.empty(); }
    /// Delivers frames that waiting receivers take now, some receivers per call, and charges them. @return
    /// buffers
    unsigned serve(Nanos now);
    /// The sender is to be left alone: all its frames go to one receiver, and enough of them wait there.
    [[nodiscard]] bool holds(VnicPath& sender, Nanos now) const;
    /// Receivers whose rate of frames from the wire is measured, VnicPath::drain_rate.
    [[nodiscard]] std::span<const VnicId> measured() const { return measured_; }
    /// Forgets the receivers in measured() that take all frames of the wire again.
    void forget_free();

  private:
    static constexpr LineId kNoLine = UINT16_MAX;
    /// Frames that wait in their order: for a receiver, or for one of its rings.
    struct Line {
        VnicId vnic = kNoVnic;
        std::uint16_t ring = 0;   ///< of a line behind the receivers'
        Nanos progress = 0;       ///< when the VM took a frame of it last
        Nanos stalled_until = 0;  ///< nothing waits in it until then
    };
    /// Of a receiver for which frames wait.
    struct Waiting {
        Waiting() { lines.fill(kNoLine); }
        DrainRate drain;                     ///< of the wire's frames
        bool measured = false;               ///< is in measured_
        BitmapTree<limits::kVnicsMax> held;  ///< vNICs of other workers that it holds back
        // Of its rings. Their number is the port's when nothing waits, and kept while something does.
        std::uint16_t rings = 1;
        std::array<LineId, limits::kQueuesMax> lines;  ///< line_of()
        RingUse from_wire;
        RingUse from_workers;
    };
    // waiting_frames.cc
    void wait_or_drop(const Origin& origin, VnicPath& to, LineId line, rte_mbuf** frames, std::uint16_t count,
                      bool took_some);
    [[nodiscard]] bool wait(const Origin& origin, VnicPath& to, LineId line, rte_mbuf* frame);
    [[nodiscard]] bool wait_from_vm(const Origin& origin, LineId line, const PacketRef& ref);
    [[nodiscard]] bool wait_from_worker(const Origin& origin, VnicPath& to, LineId line, const PacketRef& ref,
                                        std::uint16_t source);
    [[nodiscard]] bool wait_from_wire(const Origin& origin, VnicPath& to, LineId line, const PacketRef& ref);
    [[nodiscard]] std::uint16_t offer(VnicPath& to, rte_mbuf** frames, std::uint16_t count,
                                      const Nanos* delays = nullptr);
    void left(VnicPath& to, const PacketRef& ref, SenderId sender);
    void drop_left(VnicPath& to, const PacketRef& ref, SenderId sender, DropReason reason);
    [[nodiscard]] unsigned visit(LineId line, Nanos now);
    [[nodiscard]] unsigned serve_line(VnicPath& to, LineId line, bool& full, Nanos now);
    void end_visit(VnicPath& to, LineId line, bool moved, Nanos now);
    void drop_line(VnicPath& to, LineId line, DropReason reason);
    void drop_waiting(VnicPath& to, DropReason reason);
    void hold_other(const VnicPath& receiver, std::uint16_t vnic);
    void release_others(VnicId receiver);
    // waiting_frames_rings.cc: receivers with several rings
    [[nodiscard]] LineId line_of(VnicId vnic, std::uint16_t ring) const;
    [[nodiscard]] LineId take_line(VnicId vnic, std::uint16_t ring, Nanos now);
    [[nodiscard]] bool idle(LineId line, Nanos now) const {
        return !fan_in_.waits(line) && now >= lines_[line].stalled_until;
    }
    [[nodiscard]] bool has_idle_line(Nanos now) const;
    [[nodiscard]] bool any_waits(VnicId vnic) const;
    [[nodiscard]] std::uint16_t rings_of(const VnicPath& to);
    [[nodiscard]] std::uint32_t bytes_of(VnicId vnic, SenderId sender, const RingUse& use, Nanos now) const;
    [[nodiscard]] bool wire_waits(VnicId vnic, Nanos now) const;
    void note_rings(const Origin& origin, VnicId vnic, const rte_mbuf* frame, std::uint32_t rings);
    void send_by_ring(const Origin& origin, VnicPath& to, rte_mbuf** frames, std::uint16_t count);
    void wait_by_ring(const Origin& origin, VnicPath& to, rte_mbuf** frames, std::uint16_t count,
                      std::uint32_t took);
    [[nodiscard]] unsigned serve_mixed(VnicPath& to, bool& full, Nanos now);
    [[nodiscard]] unsigned leave_mixed(VnicPath& to, bool taken, LineId line, DropReason otherwise,
                                       Nanos now);
    [[nodiscard]] SenderClaim claim_at(const VnicPath& to, SenderId sender) const;
    void delivered(VnicPath& to, const PacketRef& ref, SenderId sender);

    Setup setup_;
    FanIn fan_in_;
    SourceShares source_shares_;
    std::vector<Waiting> waiting_;  // by VnicId
    std::vector<Line> lines_;       // by LineId
    std::vector<VnicId> measured_;
    std::size_t turn_ = 0;         // of the waiting lines: the next one
    std::uint32_t next_line_ = 0;  // where the search for an idle line of a ring begins
};

}  // namespace weir
