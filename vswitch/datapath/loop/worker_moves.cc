// worker_moves.cc - Worker: a vNIC goes to another worker while its guest sends and receives.
// Source: docs/algorithms.md 3.16. Threads: prepare_to_give(), settle() by the worker; may_give() and give()
// by the agent while all workers stand still.
//
// No frame of the vNIC waits in the worker that gives it: its ring is left alone until they have left. Frames
// for it in the worker's inbox go to that of its new worker, which takes them before it polls a ring.
#include <utility>

#include "vswitch/datapath/loop/worker.h"

namespace weir {

bool Worker::prepare_to_give(VnicPath& path) {
    path.leaving = true;
    return holds_none_of(path);
}

bool Worker::holds_none_of(const VnicPath& path) const {
    return path.queued_buffers == 0 && !path.backlogged() && path.intake.empty() &&
           path.backpressure.holders.load() == 0 && !stages_.delivery.waiting().waits(path.fixed.id);
}

/// Frames that the vNIC sent before it moves would compete with its later ones, if they waited at the other
/// worker.
bool Worker::may_give(const VnicPath& path, const Worker& to) const {
    return holds_none_of(path) && !from_outside_.pieces_wait() &&
           !to.stages_.delivery.waiting().workers_wait();
}

void Worker::give(VnicPath& path, Worker& to, Nanos now) {
    rings_.remove(path);
    path.release(now);
    bill_.share().remove(path.fixed.id);
    if (std::exchange(path.parked, false))
        wheel_.remove(path.fixed.id);
    path.fixed.port->forget_wake();
    stages_.give(path, now);
    claim_shares();
    path.fixed.owner = to.id_;
    to.take(path, *this, now);
    from_outside_.pass_frames(path);
}

void Worker::take(VnicPath& path, Worker& from, Nanos now) {
    path.leaving = false;
    path.quiet_until = 0;
    path.empty_polls = 0;
    path.captured = stages_.tap.of_vnic(path.fixed.id);
    stages_.take(path, from.stages_, now);
    rings_.add(path);
    bill_.share().add(path.fixed.id, path.profile.cycle_shares);
    claim_shares();
}

void Worker::settle(Nanos now) {
    for (unsigned bursts = limits::kInboxFrames; bursts != 0; --bursts)
        if (from_outside_.poll_inbox(now) == 0 && !from_outside_.pieces_wait())
            return;
}

}  // namespace weir
