// agent.cc - a fixed-period tick, with the operator's requests in between.
#include "vswitch/agent/agent.h"

#include "vswitch/agent/commands.h"

namespace weir {

void Agent::run(const std::atomic<bool>& stop) {
    constexpr std::chrono::milliseconds kTick{10};
    while (!stop.load(std::memory_order_relaxed)) {
        socket_.serve(kTick, [&](std::string_view request) { return answer(control_, request); });
        control_.tick();
    }
}

}  // namespace weir
