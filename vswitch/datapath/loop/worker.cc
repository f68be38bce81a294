// worker.cc - one turn of the poll loop, the housekeeping once in 256 of them, and the wakes of a
// sleep.
#include "vswitch/datapath/loop/worker.h"

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
              .access = setup.quiescence.access(setup.stages.worker),
              .shared = setup.stages.inboxes.size() > 1,
              .coalesce_cycles = setup.coalesce_cycles,
              .turn = setup.turn}),
      control_(setup.quiescence.wakeups(setup.stages.worker)) {
    if (setup.stages.uplink && setup.stages.inboxes.size() > 1)
        negotiation_ = std::make_unique<ShareNegotiation>(id_, stages_, *setup.stages.uplink);
}

unsigned Worker::run_once(Nanos now, std::uint64_t start) {
    quiescence_.checkpoint(id_);
    bill_.start(start);
    if (rings_.begin_turn(start, quiescence_.changes()) && control_.waits()) [[unlikely]]
        housekeeping_next();  // the agent waits for its commands
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

Port::Wake Worker::ask_for_wakes() {
    const Port::Wake wire = stages_.uplink ? stages_.uplink->ask_for_wake() : Port::Wake::kWill;
    return wire == Port::Wake::kWill ? rings_.ask_for_wakes() : wire;
}

void Worker::report_idle() {
    if (negotiation_)
        negotiation_->report_idle();
}

void Worker::forget_wakes() {
    if (stages_.uplink)
        stages_.uplink->forget_wake();
    rings_.forget_wakes();
}

bool Worker::has_deadlines() const {
    return (stages_.feedback && !stages_.feedback->idle()) || (stages_.requests && !stages_.requests->idle());
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

}  // namespace weir
