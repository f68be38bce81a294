// worker_thread.cc - busy polling, or polling with naps.
#include "vswitch/datapath/worker_thread.h"

#include <rte_cycles.h>
#include <sys/prctl.h>

#include <ctime>

namespace weir {
namespace {

/// Idle for so long, the worker starts to nap: longer than the gaps between the bursts of a busy guest.
constexpr Nanos kPatience = 200'000;

}  // namespace

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
    if (now - last_moved < kPatience || !worker_.drained())
        return false;
    const timespec nap{0, static_cast<long>(sleep_max_)};
    quiescence_.offline(worker_.id());  // who waits for us need not wait for the alarm
    nanosleep(&nap, nullptr);
    quiescence_.online(worker_.id());
    worker_.housekeeping_next();
    return true;
}

}  // namespace weir
