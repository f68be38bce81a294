// from_outside.h - frames that come from outside this worker: of the wire, out of tunnels, of other workers.
// Source: docs/design.md 4. Units: bytes as accounted, ns. Threads: owning worker.
//
// The worker that polls a NIC queue classifies its frames; the owner of the vNIC that they are for meters and
// delivers them, and pays with that vNIC's cycles. ESP frames of another worker's SA go to its inbox first.
#pragma once

#include "vswitch/datapath/frame/batch.h"
#include "vswitch/datapath/loop/stages.h"
#include "vswitch/datapath/output/passage.h"

namespace weir {

class FromOutside {
  public:
    FromOutside(Stages& stages, CycleBill& bill, const Stages::Setup& setup)
        : stages_(stages),
          bill_(bill),
          worker_(setup.worker),
          overhead_bytes_(setup.overhead_bytes),
          inboxes_(setup.inboxes) {}

    /// Receives one burst of the NIC's queue and counts it in `stats`. With an uplink only. @return frames
    unsigned poll_wire(Nanos now, WorkerStats& stats);
    /// Receives one burst of other workers, or the next piece of one that holds super-frames. @return frames
    unsigned poll_inbox(Nanos now);
    /// Frames for the vNIC that wait in the inbox go to that of its new owner, in order. All workers stand
    /// still.
    void pass_frames(const VnicPath& path);
    /// Of the last burst of other workers pieces are left.
    [[nodiscard]] bool pieces_wait() const { return !pieces_.empty(); }

  private:
    void from_wire(const Passage& passage, Batch& batch, std::uint16_t* vlans);
    void from_wire_to(const Passage& passage, VnicPath& to, const Run& run, bool whole);
    void from_worker(const Passage& passage, rte_mbuf* frame);
    void send_for_member(VnicPath& home, rte_mbuf* frame, Nanos now);
    [[nodiscard]] VnicPath& meter_of(VnicPath& to) const;
    void from_tunnels(const Passage& passage, const ClearBurst& burst);
    void from_tunnel(const Passage& passage, rte_mbuf* frame, std::uint32_t bytes, TunnelId tunnel);
    void from_tunnel_to(const Passage& passage, VnicPath& to, DirectionStats& in, rte_mbuf* frame,
                        std::uint32_t bytes);

    Stages& stages_;
    CycleBill& bill_;
    WorkerId worker_;
    std::uint32_t overhead_bytes_;
    std::span<const std::unique_ptr<Inbox>> inboxes_;
    Intake pieces_;  // a burst of other workers with super-frames, which may be split here
};

}  // namespace weir
