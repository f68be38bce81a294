// delivery.h - the last step towards a vNIC: its VM's ring, or the inbox of the worker that owns it.
// Source: docs/design.md 4. Units: bytes as accounted. Threads: owning worker.
//
// A burst is grouped by vNIC (batch.h), and each group enters its VM's ring at once. Single frames, and
// bursts with frames for all, are staged per vNIC, so that each ring is written once, and flushed at the end.
// A full ring gets one more attempt. Frames that do not fit then, or are above the vNIC's `receive_limit`,
// wait (waiting_frames.h). A receiver for which no frame waits and that has no limit costs one look at a
// flag.
//
// Example: a burst of 32 frames for one VM enters its ring in one call. Of 20 frames for B mixed with 12 for
// C both rings are written once. B's ring has 5 free places: 5 frames enter, the second attempt takes none,
// and 15 wait with their sender's claim.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "vswitch/datapath/capture/capture_tap.h"
#include "vswitch/datapath/frame/batch.h"
#include "vswitch/datapath/frame/frame.h"
#include "vswitch/datapath/frame/inbox.h"
#include "vswitch/datapath/output/waiting_frames.h"
#include "vswitch/datapath/vnic/cycle_bill.h"
#include "vswitch/datapath/vnic/origin.h"
#include "vswitch/datapath/vnic/vnic_path.h"

struct rte_mempool;

namespace weir {

class RequestPath;

class Delivery {
  public:
    struct Setup {
        WorkerId worker;
        rte_mempool* pool;                                ///< for segments of super-frames
        std::span<const std::unique_ptr<Inbox>> inboxes;  ///< of all workers, by id
        CycleBill& bill;
        CaptureTap& tap;
        VnicPath* const* directory = nullptr;  ///< by VnicId
        SourceKey source_key;                  ///< random
        std::uint64_t line_rate = 0;           ///< of the wire, bytes per second
        RequestPath* requests = nullptr;       ///< sees the frames of vNICs that have appliances first
    };
    explicit Delivery(const Setup& setup);
    Delivery(const Delivery&) = delete;
    Delivery& operator=(const Delivery&) = delete;

    /// Groups a burst of several destinations (batch.h), and brings its receivers' rings into the cache
    /// together. @return as group(): each run is all that its destination gets of the burst
    [[nodiscard]] bool gather(Batch& batch, std::uint16_t* vlans = nullptr);
    /// Delivers the run, or hands it over to the worker that owns the vNIC. All frames are consumed.
    /// @param whole the run is all that its burst has for any vNIC: no staging
    /// @return frames delivered, staged or handed over, a prefix; the rest did not fit into the owner's inbox
    std::uint16_t deliver(const Origin& origin, VnicPath& to, const Run& run, bool whole);
    /// Moves the run to the inbox of the vNIC's owner. @param source the VM that sent it; kNoVnic: none here
    /// @param copies of flooded frames: their originals count, and captures see those
    /// @return as deliver()
    std::uint16_t hand_over(const VnicPath& to, const Run& run, FrameOrigin kind, VnicId source = kNoVnic,
                            bool copies = false);
    /// Moves the run of a member (spread.h) to the inbox of its home's owner, for the uplink: there it is
    /// addressed to a vNIC of another worker, as no other frame is. @return as deliver()
    std::uint16_t hand_home(const VnicPath& member, const VnicPath& home, const Run& run);
    [[nodiscard]] bool is_mine(const VnicPath& to) const { return to.fixed.owner == setup_.worker; }
    /// Stages the run for a vNIC of this worker. Order towards one VM is kept.
    void stage(const Origin& origin, VnicPath& to, const Run& run);

    /// Sends all staged frames, which are of this origin (passage.h); the caller charges the cycles.
    void flush(const Origin& origin);
    /// Sends all staged frames and charges each receiver; cycles since the last payer that led to no delivery
    /// are charged to no vNIC.
    void flush_to_receivers(const Origin& origin);

    /// Frames that VMs have not taken yet.
    [[nodiscard]] WaitingFrames& waiting() { return waiting_; }
    [[nodiscard]] const WaitingFrames& waiting() const { return waiting_; }

    HandoffStats handoff;

  private:
    /// Frames that the VM can take as they are.
    struct Fitted {
        std::uint16_t count = 0;
        std::uint64_t bytes = 0;
        std::array<rte_mbuf*, limits::kBurst> frames;
    };

    void prefetch(const Batch& batch);
    void observe(VnicPath& to, const Run& run, Nanos now);
    void send(const Origin& origin, VnicPath& to, const Run& run);
    void charge_excess(VnicPath& to);
    void send_plain(const Origin& origin, VnicPath& to, rte_mbuf** frames, std::uint16_t count,
                    std::uint64_t bytes);
    void fit(const Origin& origin, VnicPath& to, rte_mbuf* frame, Fitted& fitted);
    void send_fitted(const Origin& origin, VnicPath& to, Fitted& fitted);
    void send_adapted(const Origin& origin, VnicPath& to, rte_mbuf** frames, std::uint16_t count);
    void retry(const Origin& origin, VnicPath& to, rte_mbuf** frames, std::uint16_t count, std::uint16_t sent,
               std::uint64_t bytes);
    void flush(const Origin& origin, VnicPath& to);
    std::uint16_t post(WorkerId worker, const VnicFixed& to, const Run& run, FrameOrigin kind, VnicId source,
                       bool copies);
    void lose(const Run& run, std::uint16_t posted, FrameOrigin kind, VnicId source, bool copies);

    Setup setup_;
    std::vector<VnicPath*> staged_;  // vNICs with staged frames
    WaitingFrames waiting_;
};

}  // namespace weir
