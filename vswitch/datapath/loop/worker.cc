// worker.cc - one turn of the poll loop, the housekeeping once in 256 of them, and the thread that repeats
// them.
#include "vswitch/datapath/loop/worker.h"

#include <rte_cycles.h>
#include <sys/prctl.h>

#include <ctime>

namespace weir {

Worker::Worker(const Setup& setup)
    : id_(setup.stages.worker),
      quiescence_(setup.quiescence),
      wheel_(wheel_id::kEnd),
      bill_(setup.counter),
      stages_(setup.stages, wheel_, bill_),
      from_vms_(stages_, wheel_, bill_, setup.stages.pool),
      from_outside_(stages_, bill_, setup.stages),
      rings_({.stages = stages_,
              .from_vms = from_vms_,
              .from_outside = from_outside_,
              .bill = bill_,
              .stats = stats,
              .shared = setup.stages.inboxes.size() > 1,
              .coalesce_cycles = setup.coalesce_cycles,
              .turn = setup.turn}) {
    if (setup.stages.uplink && setup.stages.inboxes.size() > 1)
        negotiation_.emplace(id_, stages_, *setup.stages.uplink);
}

unsigned Worker::run_once(Nanos now, std::uint64_t start) {
    quiescence_.checkpoint(id_);
    bill_.start(start);
    rings_.begin_turn(start, quiescence_.changes());
    unsigned moved = 0;
    if (now >= wheel_.next_due())
        moved += wake_due(now);
    if (stages_.delivery.waiting().busy()) [[unlikely]]
        moved += stages_.serve_waiting(now);
    moved += rings_.poll_outside(now);
    moved += rings_.poll_promised(now);
    moved += rings_.poll_vnics(now);
    moved += stages_.floods.serve(now);
    if (stages_.requests)
        moved += from_vms_.serve_requests(now);
    if (negotiation_)
        negotiation_->negotiate_when_due(now);
    if (stages_.feedback)
        stages_.feedback->sweep(now);
    if (stages_.uplink)
        moved += stages_.uplink->flush(now);
    rings_.end_turn(moved);
    ++stats.iterations;
    if (--until_housekeeping_ == 0)
        housekeeping(now);
    return moved;
}

bool Worker::drained() {
    return wheel_.size() == 0 && stages_.floods.idle() && !from_outside_.pieces_wait() &&
           !stages_.delivery.waiting().busy() && (!stages_.uplink || !stages_.uplink->backlogged());
}

unsigned Worker::wake_due(Nanos now) {
    return wheel_.advance(
        now, limits::kWakesPerIteration,
        [&](TimingWheel::Ids ids) {
            for (const std::uint32_t id : ids)
                wake(id, now);
        },
        [&](TimingWheel::Ids next) {
            for (const std::uint32_t id : next)
                if (id < limits::kVnicsMax)
                    rte_prefetch0(&stages_.vnics.find(static_cast<VnicId>(id))->limiter);
        });
}

inline void Worker::wake(std::uint32_t id, Nanos now) {
    if (id >= wheel_id::kRequests)
        from_vms_.wake_request(id - wheel_id::kRequests, now);
    else if (id >= wheel_id::kDestinations)
        stages_.uplink->egress().wake_destination(id - wheel_id::kDestinations, now);
    else if (id >= wheel_id::kClasses)
        stages_.uplink->egress().wake(static_cast<VnicId>(id - wheel_id::kClasses), now);
    else
        resume(stages_.vnics.at(static_cast<VnicId>(id)), now);
}

/// The vNIC's limit may pay again: frames that were taken from the ring already go first.
void Worker::resume(VnicPath& vnic, Nanos now) {
    vnic.parked = false;
    from_vms_.release(vnic, now);
}

/// Once in 256 iterations, busy or not.
void Worker::housekeeping(Nanos now) {
    until_housekeeping_ = limits::kHousekeepingIterations;
    run_commands(now);
    stages_.housekeeping(now);
}

void WorkerThread::run() {
    prctl(PR_SET_TIMERSLACK, 1UL);  // a nap of 100 us should not last 150
    quiescence_.online(worker_.id());
    std::uint64_t tick = rte_rdtsc();
    Nanos last_moved = ticks_.to_nanos(tick);
    WorkerStats& stats = worker_.stats;
    while (!stop_.load(std::memory_order_relaxed)) {
        const Nanos now = ticks_.to_nanos(tick);
        const unsigned moved = worker_.run_once(now, tick);
        std::uint64_t after = rte_rdtsc();
        if (moved != 0) {
            stats.busy_cycles += after - tick;
            ++stats.busy_iterations;
            last_moved = now;
        } else {
            stats.idle_cycles += after - tick;
            if (poll_ == PollMode::kAdaptive && rest(now, last_moved))
                after = rte_rdtsc();
        }
        tick = after;
    }
    quiescence_.offline(worker_.id());
}

bool WorkerThread::rest(Nanos now, Nanos last_moved) {
    // Time without a frame after which a worker with `poll: adaptive` sleeps: longer than the gaps between
    // the bursts of a busy guest.
    constexpr Nanos kIdleBeforeSleep = 200'000;
    if (now - last_moved < kIdleBeforeSleep || !worker_.drained())
        return false;
    const timespec nap{0, static_cast<long>(sleep_max_)};
    quiescence_.offline(worker_.id());  // the agent need not wait until the sleep ends
    nanosleep(&nap, nullptr);
    quiescence_.online(worker_.id());
    worker_.housekeeping_next();
    return true;
}

}  // namespace weir
