// worker.h - the poll loop of one core: which VM's ring is polled when, and how many frames are taken from
// it. Source: docs/design.md 2, 4 and 6. Units: ns; cycles of the TSC. Threads: built by the agent;
// run_once() and what it calls by the worker's thread only; the agent posts commands.
//
// One iteration: limits that can pay again, the wire, other workers' frames, every VM's ring in turn with the
// wire again between them (poll_turn.h), floods, requests, the uplink. A ring is left alone while its vNIC's
// limit cannot pay, its queue to the uplink is full, it holds too many buffers, it used its share of the
// core's cycles, or its last burst was so small that it is left to fill. Rings of vNICs that were promised
// packets come first, and again whenever the wire does, until the promise is kept (packet_promise.h).
#pragma once

#include <atomic>
#include <vector>

#include "common/clock.h"
#include "vswitch/config/config.h"
#include "vswitch/datapath/loop/forwarder.h"
#include "vswitch/datapath/loop/poll_turn.h"
#include "vswitch/datapath/loop/worker_control.h"
#include "vswitch/datapath/vnic/cycle_bill.h"
#include "vswitch/ports/quiescence.h"
#include "vswitch/qos/buckets/timing_wheel.h"

namespace weir {

class Worker {
  public:
    struct Setup {
        Forwarder::Setup forwarding;
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
    /// What the agent posted, a few at a time; housekeeping does it. @return whether there may be more
    bool run_commands(Nanos now);
    /// No frame waits in any queue of this worker; the VMs' rings are not looked at.
    [[nodiscard]] bool drained();
    /// Makes the next iteration do the housekeeping: the thread has slept.
    void housekeeping_next() { until_housekeeping_ = 1; }

    [[nodiscard]] WorkerControl& control() { return control_; }
    [[nodiscard]] MacUpdateRing& mac_updates() { return forwarder_.mac_updates(); }
    /// Key messages of other switches. With tunnels only.
    [[nodiscard]] KeyMessages& key_messages() { return forwarder_.tunnels()->key_messages; }
    [[nodiscard]] WorkerId id() const { return id_; }

    WorkerStats stats;  ///< cycles and busy iterations are counted by the thread that calls run_once()

  private:
    // worker.cc: the loop
    unsigned wake_due(Nanos now);
    void wake(std::uint32_t id, Nanos now);
    void resume(VnicPath& vnic, Nanos now);
    unsigned poll_outside(Nanos now);
    unsigned poll_promised(Nanos now);
    unsigned serve_between(Nanos now);
    unsigned poll_vnics(Nanos now);
    unsigned poll_vnic(VnicPath& vnic, Nanos now);
    unsigned forward_piece(VnicPath& vnic, std::size_t most, Nanos now);
    void finish_poll(VnicPath& vnic, unsigned frames);
    std::uint16_t allowance(VnicPath& vnic, Nanos now);
    void sum_claims();
    void negotiate_share(Nanos now);
    void housekeeping(Nanos now);
    // worker_commands.cc: what the agent posts
    void add_vnic(VnicPath& path, Nanos now);
    void change_vnic(VnicId vnic, const VnicProfile& profile, Nanos now);
    void remove_vnic(VnicId vnic, Nanos now);
    void list_promised(VnicPath& path);
    void read_worker(const command::ReadWorker& read);

    WorkerId id_;
    bool shared_;  // there are other workers
    unsigned until_housekeeping_ = limits::kHousekeepingIterations;
    Quiescence& quiescence_;
    std::uint64_t coalesce_cycles_;
    std::vector<VnicPath*> mine_;      // polled here
    std::size_t next_ = 0;             // of mine_: where the round continues
    std::vector<VnicPath*> promised_;  // those of mine_ with a promise of packets
    std::size_t promised_next_ = 0;    // of promised_
    PollTurn turn_;
    TimingWheel wheel_;
    CycleBill bill_;
    LinkShare* out_share_;  // nullptr: there is no uplink
    LinkShare* in_share_;
    LinkDemand claim_;          // reservations and shares of `mine_` together
    LinkDemand receive_claim_;  // likewise, of the downlink
    Nanos share_due_ = 0;
    std::uint64_t sent_before_ = 0;  // bytes, when the shares were negotiated last
    std::uint64_t received_before_ = 0;
    Forwarder forwarder_;
    WorkerControl control_;
};

/// The thread of a worker: repeats run_once(), counts busy and idle cycles, and sleeps when it may. run() is
/// the thread's function; stop() may be called by any.
class WorkerThread {
  public:
    WorkerThread(Worker& worker, Quiescence& quiescence, const TickConverter& ticks, PollMode poll,
                 Nanos sleep_max)
        : worker_(worker), quiescence_(quiescence), ticks_(ticks), poll_(poll), sleep_max_(sleep_max) {}

    /// Polls until stop().
    void run();
    void stop() { stop_.store(true, std::memory_order_relaxed); }

  private:
    /// Sleeps when nothing has moved for a while and nothing waits. @return whether it slept
    bool rest(Nanos now, Nanos last_moved);

    Worker& worker_;
    Quiescence& quiescence_;
    const TickConverter& ticks_;
    PollMode poll_;
    Nanos sleep_max_;
    std::atomic<bool> stop_{false};
};

}  // namespace weir
