// worker_thread.h - the thread that turns a worker: reads the clock, counts cycles, sleeps when it may.
// Source: design section 6. Units: ns, cycles. Threads: run() is the worker's thread; stop() from any.
#pragma once

#include <atomic>

#include "common/clock.h"
#include "vswitch/config/config.h"
#include "vswitch/datapath/worker.h"

namespace weir {

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
