// from_vms.h - frames that VMs of this worker send: classified, then to a VM, to the uplink, or to all.
// Source: docs/design.md 4. Units: bytes as accounted, ns. Threads: owning worker.
//
// A frame to a VM waits for its sender's own limit in VnicPath::local; one to the uplink waits in the
// uplink's scheduler, which knows that limit, too. A request to an appliance waits in its stage before
// either. release() and the functions for requests charge the cycles that they used to the sender; forward()
// leaves that to its caller, which knows when the poll began.
#pragma once

#include "vswitch/datapath/frame/batch.h"
#include "vswitch/datapath/loop/stages.h"
#include "vswitch/datapath/output/passage.h"

namespace weir {

class FromVms {
  public:
    /// @param pool for the segments of super-frames
    FromVms(Stages& stages, TimingWheel& wheel, CycleBill& bill, rte_mempool* pool)
        : stages_(stages), wheel_(wheel), bill_(bill), pool_(pool) {}

    /// Classifies and forwards one burst of a VM's ring. All frames are consumed.
    void forward(VnicPath& from, rte_mbuf** frames, std::uint16_t count, Nanos now);
    /// Leaves the VM's ring alone until the vNIC's own limit can pay `costs`.
    void park(VnicPath& vnic, const Limiter::Costs& costs, Nanos now);
    /// Forwards frames that wait for the vNIC's own limit, as far as the limit pays, and parks the vNIC for
    /// the rest.
    void release(VnicPath& from, Nanos now);

    // With appliances only.

    /// Reopens the TCP windows of clients that were stopped, then forwards requests that fit their
    /// appliances' windows. @return requests
    unsigned serve_requests(Nanos now);
    /// The wheel fired for a service flow: forwards its requests that every bucket pays now.
    void wake_request(std::uint32_t flow, Nanos now);

    /// Whether the next frame of a ring that a receiver holds back goes to another receiver, or may go there
    /// or to another ring of the same receiver.
    [[nodiscard]] bool next_goes_elsewhere(const VnicPath& vnic);

  private:
    void forward_split(const Passage& passage, VnicPath& from, std::span<rte_mbuf*> frames);
    void forward_classified(const Passage& passage, VnicPath& from, rte_mbuf** frames, std::uint16_t count);
    void route(const Passage& passage, VnicPath& from, const Run& run, Destination to, bool whole);
    [[nodiscard]] bool goes_straight(Destination to);
    void route_known(const Passage& passage, VnicPath& from, const Run& run, Destination to, bool whole);
    void route_behind_floods(const Passage& passage, VnicPath& from, const Run& run, Destination to);
    void to_uplink(const Passage& passage, VnicPath& from, const Run& run);
    void send_at_home(const Passage& passage, VnicPath& from, const Run& run);
    void to_tunnels(const Passage& passage, VnicPath& from, const Run& run);
    void to_vm(const Passage& passage, VnicPath& from, const Run& run, VnicPath& to, bool whole);
    void release_one(const Passage& passage, VnicPath& from, const PacketRef& ref);
    void release_request(VnicPath& from, const PacketRef& ref, Nanos now);

    Stages& stages_;
    TimingWheel& wheel_;
    CycleBill& bill_;
    rte_mempool* pool_;
};

}  // namespace weir
