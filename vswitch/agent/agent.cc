// agent.cc - a fixed-period tick, with the operator's requests in between.
#include "vswitch/agent/agent.h"

#include <chrono>

#include "common/error.h"
#include "vswitch/agent/commands.h"

namespace weir {
namespace {

Nanos clock_now() {
    return static_cast<Nanos>(
        std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

}  // namespace

void Agent::run(const std::atomic<bool>& stop) {
    constexpr std::chrono::milliseconds kTick{10};
    notifier_.ready(clock_now());
    while (!stop.load(std::memory_order_relaxed)) {
        socket_.serve(kTick, [&](std::string_view request) { return answer(control_, request); });
        control_.tick();
        if (link_ != nullptr)
            link_->tick(clock_now());
        show_life();
    }
    notifier_.stopping();
}

/// A switch whose workers do not answer is not alive, however well its agent is.
void Agent::show_life() {
    const Nanos now = clock_now();
    if (!notifier_.alive_due(now))
        return;
    try {
        (void)control_.report();
        notifier_.alive(now);
    } catch (const HostError&) {  // the silence says it
    }
}

}  // namespace weir
