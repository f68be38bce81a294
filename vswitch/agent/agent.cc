// agent.cc - the agent's tick, and the watchdog that it feeds.
#include "vswitch/agent/agent.h"

#include <algorithm>
#include <chrono>

#include "common/error.h"

namespace weir {
namespace {

constexpr std::chrono::milliseconds kTick{10};
/// Between two samples of vNICs.
constexpr std::chrono::milliseconds kSample{1};

constexpr Nanos nanos(std::chrono::milliseconds span) {
    return static_cast<Nanos>(std::chrono::nanoseconds(span).count());
}

Nanos clock_now() {
    return static_cast<Nanos>(
        std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

}  // namespace

Agent::Agent(SwitchControl& control, const std::string& socket_path, const std::string& read_socket_path,
             CtrlLink* link, const SteppedClock* clock)
    : control_(control), socket_(socket_path, read_socket_path), link_(link), clock_(clock) {
    if (clock_ != nullptr)
        step_ = [this](const ClockStep& step) { return this->step(step); };
}

void Agent::run(const std::atomic<bool>& stop) {
    notifier_.ready(clock_now());
    Nanos tick_due = 0;
    while (!stop.load(std::memory_order_relaxed)) {
        socket_.serve(clock_ == nullptr ? kSample : kTick,
                      [&](std::string_view request, const CommandOrigin& origin) {
                          return answer(control_, request, step_, origin);
                      });
        if (clock_ == nullptr) {  // else step() takes samples
            control_.sample();
            const Nanos now = clock_now();
            if (now < tick_due)
                continue;
            tick_due = std::max(tick_due + nanos(kTick), now);
        }
        tick();
        if (desk_ != nullptr)
            desk_->serve(clock_now(), [this] { return control_.report(); });
        feed_watchdog();
    }
    notifier_.stopping();
}

void Agent::tick() {
    control_.tick();
    if (link_ != nullptr)
        link_->tick(clock_ == nullptr ? clock_now() : clock_->now());
}

/// Samples are taken with the ticks, which poll turns wait for anyway, and at the end of the step.
Nanos Agent::step(const ClockStep& step) {
    constexpr Nanos kPeriod = nanos(kTick);
    std::uint64_t count = 0;
    for (std::uint64_t left = step.turns(); left != 0; left -= count) {
        const Nanos due = (clock_->now() / kPeriod + 1) * kPeriod;
        count = std::min(left, (due - clock_->now() + step.turn - 1) / step.turn);
        control_.turns(count, step.turn);
        control_.sample();
        if (left == count)
            control_.finish_sample();
        if (clock_->now() >= due)
            tick();
    }
    return clock_->now();
}

/// A report needs an answer of every worker: without it the watchdog is not fed.
void Agent::feed_watchdog() {
    const Nanos now = clock_now();
    if (!notifier_.alive_due(now))
        return;
    try {
        (void)control_.report();
        notifier_.alive(now);
    } catch (const HostError&) {  // systemd restarts the switch when its time is over
    }
}

}  // namespace weir
