// delivery.h - the last step towards a VM: offloads, MTU, its ring, and what did not fit.
// Source: design section 4 (wire to VM); peers.md 7 (no retry loops). Units: bytes as accounted.
// Threads: the worker that owns the receiving vNIC.
#pragma once

#include "vswitch/datapath/batch.h"
#include "vswitch/datapath/cycle_bill.h"
#include "vswitch/datapath/vnic_path.h"

struct rte_mempool;

namespace weir {

class Delivery {
  public:
    Delivery(rte_mempool* pool, CycleBill& bill) : pool_(pool), bill_(bill) {}

    /// Puts the frames into the VM's ring now; those that do not fit are dropped with a reason. All are
    /// consumed.
    void send(VnicPath& to, const Run& run);
    /// Gathers frames for the VM; flush() sends them. Order towards one VM is kept.
    void stage(VnicPath& to, const Run& run);
    /// Sends what was gathered for the VM.
    void flush(VnicPath& to);

  private:
    void send_plain(VnicPath& to, rte_mbuf** frames, std::uint16_t count, std::uint64_t bytes);
    void send_one(VnicPath& to, rte_mbuf* frame);
    void send_adapted(VnicPath& to, rte_mbuf** frames, std::uint16_t count);
    std::uint16_t retry(VnicPath& to, rte_mbuf** frames, std::uint16_t count);
    void drop(VnicPath& to, rte_mbuf** frames, std::uint16_t count, DropReason reason);

    rte_mempool* pool_;
    CycleBill& bill_;
};

}  // namespace weir
