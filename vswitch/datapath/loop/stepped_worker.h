// stepped_worker.h - the thread of a worker on a stepped clock, parked between two poll turns.
// Source: docs/design.md 2. Units: ns. Threads: run() by the worker's thread; turns() and stop() by the
// agent.
//
// Poll turns and commands are those of the real thread (WorkerThread); only their times differ. A parked
// worker uses no core, is offline for quiescence, and carries out commands at once.
#pragma once

#include <atomic>
#include <cstdint>

#include "common/stepped_clock.h"
#include "vswitch/datapath/loop/worker.h"

namespace weir {

class SteppedWorker {
  public:
    /// @param worker takes its cycles from the clock: Worker::Setup::counter
    SteppedWorker(Worker& worker, Quiescence& quiescence, SteppedClock& clock)
        : worker_(worker),
          quiescence_(quiescence),
          wakeups_(quiescence.wakeups(worker.id())),
          clock_(clock) {}

    /// Carries out commands and poll turns until stop().
    void run();
    void stop();
    /// So many poll turns, before each of which the clock moves by `span`; returns when they are over.
    void turns(std::uint64_t count, Nanos span);

  private:
    void do_what_is_asked();
    void run_turn();

    Worker& worker_;
    Quiescence& quiescence_;
    Wakeups& wakeups_;
    SteppedClock& clock_;
    std::atomic<std::uint32_t> asked_{0};  // calls of turns()
    std::atomic<std::uint32_t> made_{0};   // of these, those that are over
    std::uint64_t count_ = 0;              // arguments of the last call
    Nanos span_ = 0;
    std::atomic<bool> stop_{false};
    Nanos before_ = SteppedClock::kStart;  // time of the last poll turn
};

}  // namespace weir
