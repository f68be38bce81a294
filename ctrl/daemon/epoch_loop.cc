// epoch_loop.cc - a missed interval is not made up for: the next one knows all that the missed one would
// have.
#include "ctrl/daemon/epoch_loop.h"

#include <algorithm>
#include <chrono>
#include <ctime>

#include "ctrl/daemon/operator_commands.h"

namespace weir {
namespace {

constexpr Nanos kPatience = 100'000'000;
/// Large changes between two intervals are answered so often at most.
constexpr Nanos kEarlyPart = 10;

Nanos clock_now() {
    return static_cast<Nanos>(
        std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

std::chrono::milliseconds wait_until(Nanos when, Nanos now) {
    const Nanos wait = std::min(when > now ? when - now : 0, kPatience);
    return std::chrono::milliseconds((wait + 999'999) / 1'000'000);
}

}  // namespace

void run_epochs(const ClusterConfig& config, Controller& controller, Server& server,
                const std::atomic<bool>& stop) {
    const Server::Handlers handlers{
        [&](const Peer& peer, std::span<const std::uint8_t> header, std::span<const std::uint8_t> body) {
            controller.receive(peer, header, body, clock_now());
        },
        [&](std::string_view request) {
            return answer_operator(controller, server.counters(), request, clock_now());
        }};
    Nanos next_tick = clock_now() + config.interval;
    Nanos early_from = 0;
    while (!stop.load(std::memory_order_relaxed)) {
        const Nanos early = controller.early_wanted() ? early_from : kNever;
        server.serve(wait_until(std::min(next_tick, early), clock_now()), handlers);
        const Nanos now = clock_now();
        if (now >= next_tick) {
            controller.tick(now, std::time(nullptr));
            next_tick += (now - next_tick) / config.interval * config.interval + config.interval;
            early_from = now + config.interval / kEarlyPart;
        } else if (controller.early_wanted() && now >= early_from) {
            controller.solve_early(now);
            early_from = now + config.interval / kEarlyPart;
        }
        server.send(controller.take_outgoing());
    }
}

}  // namespace weir
