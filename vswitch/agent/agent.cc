// agent.cc - the agent's tick, and the datagrams to systemd.
#include "vswitch/agent/agent.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "common/error.h"

namespace weir {
namespace {

constexpr std::chrono::milliseconds kTick{10};

Nanos clock_now() {
    return static_cast<Nanos>(
        std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

std::optional<Nanos> half_of_watchdog() {
    const std::string text = environment("WATCHDOG_USEC");
    const std::string process = environment("WATCHDOG_PID");
    std::uint64_t micros = 0;
    std::from_chars(text.data(), text.data() + text.size(), micros);
    if (micros == 0 || (!process.empty() && process != std::to_string(getpid())))
        return std::nullopt;
    return micros * 1000 / 2;
}

}  // namespace

ServiceNotifier::ServiceNotifier() : socket_(environment("NOTIFY_SOCKET")), period_(half_of_watchdog()) {}

void ServiceNotifier::ready(Nanos now) {
    send("READY=1");
    last_alive_ = now;
}

void ServiceNotifier::alive(Nanos now) {
    send("WATCHDOG=1");
    last_alive_ = now;
}

/// Never waits, so that a systemd that does not read cannot stop the agent. Lost reports are not repeated.
void ServiceNotifier::send(std::string_view state) const {
    sockaddr_un address{};
    if (socket_.empty() || socket_.size() >= sizeof(address.sun_path))
        return;
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, socket_.data(), socket_.size());
    if (address.sun_path[0] == '@')  // an abstract name
        address.sun_path[0] = '\0';
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
    const int descriptor = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0)
        return;
    (void)::sendto(descriptor, state.data(), state.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                   reinterpret_cast<const sockaddr*>(&address), length);
    ::close(descriptor);
}

Agent::Agent(SwitchControl& control, const std::string& socket_path, CtrlLink* link,
             const SteppedClock* clock)
    : control_(control), socket_(socket_path), link_(link), clock_(clock) {
    if (clock_ != nullptr)
        step_ = [this](const ClockStep& step) { return this->step(step); };
}

void Agent::run(const std::atomic<bool>& stop) {
    notifier_.ready(clock_now());
    while (!stop.load(std::memory_order_relaxed)) {
        socket_.serve(kTick, [&](std::string_view request) { return answer(control_, request, step_); });
        tick();
        feed_watchdog();
    }
    notifier_.stopping();
}

void Agent::tick() {
    control_.tick();
    if (link_ != nullptr)
        link_->tick(clock_ == nullptr ? clock_now() : clock_->now());
}

Nanos Agent::step(const ClockStep& step) {
    constexpr Nanos kPeriod = std::chrono::nanoseconds(kTick).count();
    std::uint64_t count = 0;
    for (std::uint64_t left = step.turns(); left != 0; left -= count) {
        const Nanos due = (clock_->now() / kPeriod + 1) * kPeriod;
        count = std::min(left, (due - clock_->now() + step.turn - 1) / step.turn);
        control_.turns(count, step.turn);
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
