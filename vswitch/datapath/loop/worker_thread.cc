// worker_thread.cc - turns of the poll loop by the clock, and rest between them.
#include "vswitch/datapath/loop/worker_thread.h"

#include <rte_cycles.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "vswitch/datapath/loop/fall_asleep.h"

namespace weir {
namespace {

/// Time without a frame after which a worker with `poll: adaptive` sleeps: longer than the gaps between the
/// bursts of a busy guest.
constexpr Nanos kIdleBeforeSleep = 200'000;
/// Until the housekeeping, when nothing has woken the worker.
constexpr Nanos kSleepMax = 50'000'000;

}  // namespace

void WorkerThread::run() {
    prctl(PR_SET_TIMERSLACK, 1UL);  // a nap of 100 us should not last 150
    quiescence_.online(worker_.id());
    access_.set_thread(gettid());
    tick_ = rte_rdtsc();
    last_moved_ = ticks_.to_nanos(tick_);
    while (!stop_.load(std::memory_order_relaxed))
        if (turn() == 0 && poll_ == PollMode::kAdaptive && now_ - last_moved_ >= kIdleBeforeSleep)
            rest();
    access_.set_thread(0);
    quiescence_.offline(worker_.id());
}

void WorkerThread::stop() {
    stop_.store(true, std::memory_order_relaxed);
    wakeups_.ring();
}

inline unsigned WorkerThread::turn() {
    now_ = ticks_.to_nanos(tick_);
    const unsigned moved = worker_.run_once(now_, tick_);
    const std::uint64_t after = rte_rdtsc();
    WorkerStats& stats = worker_.stats;
    if (moved != 0) {
        stats.busy_cycles += after - tick_;
        ++stats.busy_iterations;
        last_moved_ = now_;
    } else {
        stats.idle_cycles += after - tick_;
    }
    access_.note_turn(after - tick_);
    tick_ = after;
    return moved;
}

bool WorkerThread::finds_work() {
    worker_.housekeeping_next();
    return turn() != 0 || !worker_.drained() || stop_.load(std::memory_order_relaxed);
}

/// A worker that may not sleep tries again when it has been idle for as long once more.
void WorkerThread::rest() {
    last_moved_ = now_;
    if (!worker_.drained())
        return;
    if (const Port::Wake wake = fall_asleep(*this); wake != Port::Wake::kReady) {
        worker_.report_idle();
        quiescence_.offline(worker_.id());  // the agent need not wait until the sleep ends
        const bool until_event = wake == Port::Wake::kWill && !worker_.has_deadlines();
        worker_.stats.sleeps += until_event;
        wakeups_.sleep(until_event ? kSleepMax : nap_);
        quiescence_.online(worker_.id());
        tick_ = rte_rdtsc();
        worker_.housekeeping_next();
        if (turn() == 0)
            last_moved_ = now_ - kIdleBeforeSleep;  // nothing for it: back to sleep
    }
    wakeups_.get_up();
    worker_.forget_wakes();
}

}  // namespace weir
