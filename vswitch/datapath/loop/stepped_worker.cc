// stepped_worker.cc - SteppedWorker: parked until the agent rings for commands, poll turns and the end.
#include "vswitch/datapath/loop/stepped_worker.h"

namespace weir {

/// A call behind lie_down() ends the sleep at once.
void SteppedWorker::run() {
    constexpr Nanos kLong = 3'600 * kNanosPerSec;
    while (!stop_.load(std::memory_order_relaxed)) {
        wakeups_.lie_down();
        do_what_is_asked();
        wakeups_.sleep(kLong);
        wakeups_.get_up();
    }
}

void SteppedWorker::do_what_is_asked() {
    quiescence_.online(worker_.id());
    while (worker_.run_commands(clock_.now())) {
    }
    if (asked_.load(std::memory_order_acquire) != made_.load(std::memory_order_relaxed)) {
        for (std::uint64_t turn = 0; turn < count_; ++turn)
            run_turn();
        made_.fetch_add(1, std::memory_order_release);
        made_.notify_one();
    }
    quiescence_.offline(worker_.id());
}

void SteppedWorker::run_turn() {
    WorkerStats& stats = worker_.stats;
    clock_.advance(span_);
    const Nanos now = clock_.now();
    const Nanos span = now - before_;
    before_ = now;
    if (worker_.run_once(now) != 0) {
        stats.busy_cycles += span;
        ++stats.busy_iterations;
    } else {
        stats.idle_cycles += span;
    }
}

void SteppedWorker::stop() {
    stop_.store(true, std::memory_order_relaxed);
    wakeups_.ring();
}

void SteppedWorker::turns(std::uint64_t count, Nanos span) {
    count_ = count;
    span_ = span;
    const std::uint32_t number = asked_.load(std::memory_order_relaxed) + 1;
    asked_.store(number, std::memory_order_release);
    wakeups_.ring();
    for (std::uint32_t made = made_.load(std::memory_order_acquire); made != number;
         made = made_.load(std::memory_order_acquire))
        made_.wait(made, std::memory_order_acquire);
}

}  // namespace weir
