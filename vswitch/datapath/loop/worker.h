// worker.h - one core's poll loop: owns the stages, and runs one turn after the other.
// Source: docs/design.md 2, 4 and 6. Units: ns; cycles of the TSC. Threads: built by the agent; run_once()
// and all that it calls by the worker's thread only; the agent posts commands.
//
// One turn: limits that can pay again, frames that wait for VMs, the wire, other workers' frames, every VM's
// ring with the wire again between them (ring_poller.h), floods, requests, the worker's part of the link,
// feedback, the uplink.
#pragma once

#include <atomic>
#include <memory>

#include "common/clock.h"
#include "vswitch/datapath/loop/from_outside.h"
#include "vswitch/datapath/loop/from_vms.h"
#include "vswitch/datapath/loop/ring_poller.h"
#include "vswitch/datapath/loop/share_negotiation.h"
#include "vswitch/datapath/loop/stages.h"
#include "vswitch/datapath/loop/worker_control.h"
#include "vswitch/datapath/vnic/cycle_bill.h"
#include "vswitch/ports/quiescence.h"
#include "vswitch/qos/buckets/timing_wheel.h"

namespace weir {

class Worker {
  public:
    struct Setup {
        Stages::Setup stages;
        Quiescence& quiescence;
        std::uint64_t coalesce_cycles;  ///< how long a ring that gave a small burst is left to fill
        PollTurn::Profile turn{};
        const std::atomic<std::uint64_t>* counter = nullptr;  ///< of cycles: a stepped clock's; null: the TSC
    };
    explicit Worker(const Setup& setup);

    /// One iteration of the poll loop. @param start the cycle counter at its beginning @return frames moved;
    /// 0: idle
    unsigned run_once(Nanos now, std::uint64_t start);
    unsigned run_once(Nanos now) { return run_once(now, bill_.read()); }
    /// Carries out commands of the agent, 16 at most; housekeeping calls it. @return whether there may be
    /// more
    bool run_commands(Nanos now);
    /// No frame waits in any queue of this worker; the VMs' rings are not looked at.
    [[nodiscard]] bool drained();
    /// Asks all that gives frames to wake the worker; forget_wakes() always follows.
    [[nodiscard]] Port::Wake ask_for_wakes();
    void forget_wakes();
    /// The worker is about to sleep: others may use its part of the link.
    void report_idle();
    /// Something is due at a time that is not in the wheel, within a millisecond.
    [[nodiscard]] bool has_deadlines() const;
    /// None of the vNIC's frames waits in this worker, nor would one in the other be overtaken: it may be
    /// given to that. All workers stand still; agent.
    [[nodiscard]] bool may_give(const VnicPath& path, const Worker& to) const;
    /// Gives the vNIC to another worker. All workers stand still; agent.
    void give(VnicPath& path, Worker& to, Nanos now);
    /// Makes the next iteration do the housekeeping: the thread has slept.
    void housekeeping_next() { until_housekeeping_ = 1; }

    [[nodiscard]] WorkerControl& control() { return control_; }
    /// Addresses that this worker learned.
    [[nodiscard]] MacUpdateRing& mac_updates() { return stages_.vnics.updates(); }
    /// Key messages of other switches. With tunnels only.
    [[nodiscard]] KeyMessages& key_messages() { return stages_.tunnels->key_messages; }
    /// Bytes between tenants on this host; read by any thread.
    [[nodiscard]] const TenantTraffic& tenant_traffic() const { return stages_.tenants; }
    [[nodiscard]] WorkerId id() const { return id_; }

    WorkerStats stats;  ///< cycles and busy iterations are counted by the thread that calls run_once()

  private:
    unsigned wake_due(Nanos now);
    void wake(std::uint32_t id, Nanos now);
    void resume(VnicPath& vnic, Nanos now);
    void housekeeping(Nanos now);
    // worker_commands.cc: the agent's commands
    void add_vnic(VnicPath& path, Nanos now);
    void change_vnic(VnicId vnic, const VnicProfile& profile, Nanos now);
    void remove_vnic(VnicId vnic, Nanos now);
    void mark_captured(const Capture& capture);
    // worker_moves.cc
    [[nodiscard]] bool prepare_to_give(VnicPath& path);
    [[nodiscard]] bool holds_none_of(const VnicPath& path) const;
    void take(VnicPath& path, Worker& from, Nanos now);
    void settle(Nanos now);
    void claim_shares();
    void read_worker(const command::ReadWorker& wanted);

    WorkerId id_;
    unsigned until_housekeeping_ = limits::kHousekeepingIterations;
    Quiescence& quiescence_;
    TimingWheel wheel_;
    CycleBill bill_;
    Stages stages_;
    FromVms from_vms_;
    FromOutside from_outside_;
    RingPoller rings_;
    std::unique_ptr<ShareNegotiation> negotiation_;  // with an uplink and other workers
    WorkerControl control_;
};

}  // namespace weir
