// service_notifier.h - tells systemd how the switch fares: ready, alive, stopping.
// Source: sd_notify(3), sd_watchdog_enabled(3). Units: ns. Threads: agent only.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/clock.h"

namespace weir {

class ServiceNotifier {
  public:
    /// Where to and how often, from the environment (NOTIFY_SOCKET, WATCHDOG_USEC); silent where nobody
    /// asked.
    ServiceNotifier();

    /// The switch forwards. Starts the watchdog's time.
    void ready(Nanos now);
    /// True when a sign of life is due: half of the time that systemd waits for one has gone by.
    [[nodiscard]] bool alive_due(Nanos now) const { return period_ && now - last_alive_ >= *period_; }
    /// The sign of life; give it only when the workers answer.
    void alive(Nanos now);
    void stopping();

  private:
    void say(std::string_view state) const;

    std::string socket_;           ///< empty: nobody listens
    std::optional<Nanos> period_;  ///< between signs of life; absent: nobody watches
    Nanos last_alive_ = 0;
};

}  // namespace weir
