// worker_thread.h - the thread of a worker: repeats poll turns, counts busy and idle cycles, and sleeps when
// it may. Source: docs/design.md 6; docs/algorithms.md 3.15. Units: ns; cycles of the TSC. Threads: stop()
// by any; all else by the worker's.
#pragma once

#include <atomic>

#include "common/clock.h"
#include "vswitch/config/config.h"
#include "vswitch/datapath/loop/worker.h"

namespace weir {

class WorkerThread {
  public:
    /// @param nap the longest sleep while something has to be polled
    WorkerThread(Worker& worker, Quiescence& quiescence, const TickConverter& ticks, PollMode poll, Nanos nap)
        : worker_(worker),
          quiescence_(quiescence),
          wakeups_(quiescence.wakeups(worker.id())),
          access_(quiescence.access(worker.id())),
          ticks_(ticks),
          poll_(poll),
          nap_(nap) {}

    /// Polls until stop().
    void run();
    void stop();

    // The steps of fall_asleep() (fall_asleep.h).

    void lie_down() { wakeups_.lie_down(); }
    [[nodiscard]] Port::Wake ask_for_wakes() { return worker_.ask_for_wakes(); }
    /// One more turn, with the agent's commands.
    [[nodiscard]] bool finds_work();

  private:
    unsigned turn();
    void rest();

    Worker& worker_;
    Quiescence& quiescence_;
    Wakeups& wakeups_;
    GuestAccess& access_;
    const TickConverter& ticks_;
    PollMode poll_;
    Nanos nap_;
    std::uint64_t tick_ = 0;  // of the next turn's begin
    Nanos now_ = 0;           // the last turn's
    Nanos last_moved_ = 0;
    std::atomic<bool> stop_{false};
};

}  // namespace weir
