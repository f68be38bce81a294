// delivery.h - the last step towards a vNIC: its VM's ring, or the inbox of the worker that owns it.
// Source: docs/design.md 4. Units: bytes as accounted. Threads: owning worker.
//
// A burst that goes to one vNIC as a whole enters the VM's ring at once. Frames of a mixed burst are staged
// per vNIC, so that each VM's ring is written once per burst, and flushed when the burst has been routed. A
// full ring gets one more attempt; what does not fit then is dropped.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "vswitch/datapath/batch.h"
#include "vswitch/datapath/cycle_bill.h"
#include "vswitch/datapath/frame.h"
#include "vswitch/datapath/inbox.h"
#include "vswitch/datapath/vnic_path.h"

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
        RequestPath* requests = nullptr;  ///< sees the frames of vNICs that have appliances first
    };
    explicit Delivery(const Setup& setup);

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

    HandoffStats handoff;

  private:
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
    std::uint16_t retry(VnicPath& to, rte_mbuf** frames, std::uint16_t count);
    void drop(VnicPath& to, rte_mbuf** frames, std::uint16_t count, DropReason reason);
    void flush(VnicPath& to);

    Setup setup_;
    std::vector<VnicPath*> staged_;  // vNICs with staged frames
};

}  // namespace weir
