// interval_loop.cc - run_intervals.
#include "ctrl/daemon/interval_loop.h"

#include <algorithm>
#include <chrono>
#include <ctime>

namespace weir {
namespace {

constexpr Nanos kWaitMax = 100'000'000;
/// Early solves per interval, at most.
constexpr Nanos kEarlySolves = 10;

Nanos clock_now() {
    return static_cast<Nanos>(
        std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

std::chrono::milliseconds wait_until(Nanos when, Nanos now) {
    const Nanos wait = std::min(when > now ? when - now : 0, kWaitMax);
    return std::chrono::milliseconds((wait + 999'999) / 1'000'000);
}

}  // namespace

void run_intervals(const ClusterConfig& config, Controller& controller, Server& server,
                   const std::atomic<bool>& stop) {
    const Server::Handlers handlers{
        [&](const Peer& peer, std::span<const std::uint8_t> header, std::span<const std::uint8_t> body) {
            controller.on_message(peer, header, body, clock_now());
        },
        [&](std::string_view request) {
            return controller.on_command(request, server.counters(), clock_now());
        }};
    Nanos next_tick = clock_now() + config.interval;
    Nanos next_early = 0;
    while (!stop.load(std::memory_order_relaxed)) {
        const Nanos early = controller.early_solve_due() ? next_early : kNever;
        server.serve(wait_until(std::min(next_tick, early), clock_now()), handlers);
        const Nanos now = clock_now();
        if (now >= next_tick) {
            controller.tick(now, std::time(nullptr));
            next_tick += (now - next_tick) / config.interval * config.interval + config.interval;
            next_early = now + config.interval / kEarlySolves;
        } else if (controller.early_solve_due() && now >= next_early) {
            controller.solve_early(now);
            next_early = now + config.interval / kEarlySolves;
        }
        server.send(controller.take_outgoing());
    }
}

}  // namespace weir
