// delivery.h - the last step towards a vNIC: its VM's ring, or the inbox of the worker that owns it.
// Source: docs/design.md 4. Units: bytes as accounted. Threads: owning worker.
//
// A burst that goes to one vNIC as a whole enters the VM's ring at once. Frames of a mixed burst are staged
// per vNIC, so that each VM's ring is written once per burst, and flushed when the burst has been routed. A
// full ring gets one more attempt. What does not fit then, or is above the vNIC's `receive_limit`, waits and
// is served by the senders' claims (fan_in.h); meanwhile all that follows goes behind it. Without isolation,
// and when the VM has taken nothing for 100 ms, it is dropped. Nothing of this is asked of a receiver for
// which nothing waits and that has no limit, but one flag. A receiver with several rings has a line for each
// full one (delivery_rings.cc), and what its other rings have room for passes.
//
// Example: a burst of 32 frames for one VM enters its ring in one call. Of 20 frames for B and 12 for C both
// rings are written once. B's ring has 5 free places: 5 frames enter, the second attempt takes none, and 15
// wait with their sender's claim.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "vswitch/datapath/frame/batch.h"
#include "vswitch/datapath/frame/frame.h"
#include "vswitch/datapath/frame/inbox.h"
#include "vswitch/datapath/vnic/cycle_bill.h"
#include "vswitch/datapath/vnic/vnic_path.h"
#include "vswitch/qos/receive/drain_rate.h"
#include "vswitch/qos/receive/fan_in.h"
#include "vswitch/qos/receive/source_shares.h"

struct rte_mempool;

namespace weir {

class RequestPath;

class Delivery {
  public:
    /// What may wait for the receivers of a worker.
    static constexpr FanIn::Room kWaitingRoom{
        .receivers = limits::kVnicsMax,
        .packets = {limits::kVnicsMax, limits::kReceivePacketsOwn, limits::kReceivePackets},
        .buffers = {FanIn::kGroups * limits::kVnicsMax, limits::kReceiveBuffersOwn, limits::kReceiveBuffers},
        .lines = limits::kRingLinesMax};
    struct Setup {
        WorkerId worker;
        rte_mempool* pool;                                ///< for segments of super-frames
        std::span<const std::unique_ptr<Inbox>> inboxes;  ///< of all workers, by id
        CycleBill& bill;
        VnicPath* const* directory = nullptr;  ///< by VnicId
        SourceKey source_key;                  ///< random
        std::uint64_t line_rate = 0;           ///< of the wire, bytes per second
        RequestPath* requests = nullptr;       ///< sees the frames of vNICs that have appliances first
    };
    explicit Delivery(const Setup& setup);
    /// Frees what waits.
    ~Delivery();
    Delivery(const Delivery&) = delete;
    Delivery& operator=(const Delivery&) = delete;

    // Whose frames the next calls deliver.
    void begin_vm(VnicPath& from, Nanos now) { origin_ = {&from, false, now}; }
    void begin_wire(Nanos now) { origin_ = {nullptr, false, now}; }
    /// Whether the next frames are copies of a flooded one, which hold buffers besides the original's.
    void deliver_copies(bool copies) { origin_.copies = copies; }
    /// Each frame says where it came from.
    void begin_inbox(Nanos now) { origin_ = {nullptr, true, now}; }

    /// New rates of a vNIC of this worker, or a new vNIC.
    void change(VnicPath& path, Nanos now);
    /// A vNIC of any worker goes: what waits for it, or was sent by it, is dropped.
    void remove(VnicPath& path);

    /// Delivers the run, or hands it over to the worker that owns the vNIC. All frames are consumed.
    /// @param whole the run is all that its burst has for any vNIC: no staging
    /// @return frames delivered, staged or handed over, a prefix; the rest did not fit into the owner's inbox
    std::uint16_t deliver(VnicPath& to, const Run& run, bool whole, Nanos now);
    /// Moves the run to the inbox of the vNIC's owner. @return as deliver()
    std::uint16_t hand_over(const VnicPath& to, const Run& run, FrameOrigin origin);
    /// Stages the run for a vNIC of this worker. Order towards one VM is kept.
    void stage(VnicPath& to, const Run& run);

    /// Sends what is staged; the caller charges the cycles.
    void flush();
    /// Sends what is staged and charges each receiver; cycles since the last payer that led to no delivery
    /// are charged to no vNIC.
    void flush_to_receivers();

    // delivery_waiting.cc: what waits

    /// Frames wait, or the rate of a receiver is measured: serve_waiting() has work.
    [[nodiscard]] bool busy() const { return !fan_in_.empty() || !measured_.empty(); }
    /// Delivers what waiting receivers take, some of them per call, and charges them. @return buffers
    unsigned serve_waiting(Nanos now);
    /// The sender is to be left alone: all its frames go to one receiver, and enough of them wait there.
    [[nodiscard]] bool holds(VnicPath& sender, Nanos now) const;
    /// Receivers whose rate of frames from the wire is measured, VnicPath::drain_rate.
    [[nodiscard]] std::span<const VnicId> measured() const { return measured_; }
    /// Forgets the receivers in measured() that take all frames of the wire again.
    void forget_free();

    HandoffStats handoff;

  private:
    /// Whose frames are delivered.
    struct Origin {
        VnicPath* vm = nullptr;  ///< of this worker; nullptr: the wire, or with `inbox` what the frame says
        bool inbox = false;
        Nanos now = 0;
        bool copies = false;  ///< of a flooded frame
    };
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
    /// Frames that the VM can take as they are.
    struct Fitted {
        std::uint16_t count = 0;
        std::uint64_t bytes = 0;
        std::array<rte_mbuf*, limits::kBurst> frames;
    };

    void observe(VnicPath& to, const Run& run, Nanos now);
    void send(VnicPath& to, const Run& run);
    void send_plain(VnicPath& to, rte_mbuf** frames, std::uint16_t count, std::uint64_t bytes);
    void fit(VnicPath& to, rte_mbuf* frame, Fitted& fitted);
    void send_fitted(VnicPath& to, Fitted& fitted);
    void send_adapted(VnicPath& to, rte_mbuf** frames, std::uint16_t count);
    [[nodiscard]] std::uint16_t drop_too_long(VnicPath& to, rte_mbuf** left, std::uint16_t count);
    void retry(VnicPath& to, rte_mbuf** frames, std::uint16_t count, std::uint16_t sent, std::uint64_t bytes);
    [[nodiscard]] static std::uint64_t accounted_bytes(const VnicPath& to, rte_mbuf* const* frames,
                                                       std::uint16_t count);
    void drop(VnicPath& to, rte_mbuf** frames, std::uint16_t count, DropReason reason);
    void flush(VnicPath& to);
    // delivery_waiting.cc
    void send_slowly(VnicPath& to, rte_mbuf** frames, std::uint16_t count, std::uint64_t bytes);
    void wait_or_drop(VnicPath& to, LineId line, rte_mbuf** frames, std::uint16_t count, bool took_some);
    [[nodiscard]] bool wait(VnicPath& to, LineId line, rte_mbuf* frame);
    [[nodiscard]] bool wait_from_vm(LineId line, const PacketRef& ref);
    [[nodiscard]] bool wait_from_worker(VnicPath& to, LineId line, const PacketRef& ref,
                                        std::uint16_t source);
    [[nodiscard]] bool wait_from_wire(VnicPath& to, LineId line, const PacketRef& ref);
    void left(VnicPath& to, const PacketRef& ref, SenderId sender);
    void drop_left(VnicPath& to, const PacketRef& ref, SenderId sender, DropReason reason);
    [[nodiscard]] unsigned serve(LineId line);
    [[nodiscard]] unsigned serve_line(VnicPath& to, LineId line, bool& full);
    void end_visit(VnicPath& to, LineId line, bool moved);
    void drop_line(VnicPath& to, LineId line, DropReason reason);
    void drop_waiting(VnicPath& to, DropReason reason);
    void hold_other(const VnicPath& receiver, std::uint16_t vnic);
    void release_others(VnicId receiver);
    void refresh(VnicPath& to);
    // delivery_rings.cc: receivers with several rings
    [[nodiscard]] LineId line_of(VnicId vnic, std::uint16_t ring) const;
    [[nodiscard]] LineId take_line(VnicId vnic, std::uint16_t ring);
    [[nodiscard]] bool idle(LineId line) const {
        return !fan_in_.waits(line) && origin_.now >= lines_[line].stalled_until;
    }
    [[nodiscard]] bool has_idle_line() const;
    [[nodiscard]] bool any_waits(VnicId vnic) const;
    [[nodiscard]] std::uint16_t rings_of(const VnicPath& to);
    [[nodiscard]] std::uint32_t bytes_of(VnicId vnic, SenderId sender, const RingUse& use, Nanos now) const;
    [[nodiscard]] bool wire_waits(VnicId vnic, Nanos now) const;
    void note_rings(VnicId vnic, const rte_mbuf* frame, std::uint32_t rings);
    void send_by_ring(VnicPath& to, rte_mbuf** frames, std::uint16_t count);
    void wait_by_ring(VnicPath& to, rte_mbuf** frames, std::uint16_t count, std::uint32_t took);
    [[nodiscard]] unsigned serve_mixed(VnicPath& to, bool& full);
    [[nodiscard]] unsigned leave_mixed(VnicPath& to, bool taken, LineId line, DropReason otherwise);
    [[nodiscard]] SenderClaim claim_at(const VnicPath& to, SenderId sender) const;
    void delivered(VnicPath& to, const PacketRef& ref, SenderId sender);

    Setup setup_;
    std::vector<VnicPath*> staged_;  // vNICs with staged frames
    Origin origin_;
    FanIn fan_in_;
    SourceShares source_shares_;
    std::vector<Waiting> waiting_;  // by VnicId
    std::vector<Line> lines_;       // by LineId
    std::vector<VnicId> measured_;
    std::size_t turn_ = 0;         // of the waiting lines: the next one
    std::uint32_t next_line_ = 0;  // where the search for an idle line of a ring begins
};

}  // namespace weir
