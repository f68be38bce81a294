// service_notifier.h - a daemon's reports to the service manager that supervises it.
// Source: sd_notify(3). Units: Nanos of a monotonic clock. Threads: one owner.
//
// With WatchdogSec=30s in its unit a daemon that sends nothing for 30 s is restarted. It reports twice in
// that time: alive_due() is true once 15 s have passed since the last report.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/clock.h"

namespace weir {

class ServiceNotifier {
  public:
    /// Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID; sends nothing when systemd set none of them.
    ServiceNotifier();

    /// The daemon does its work. Starts the watchdog's time.
    void ready(Nanos now);
    /// Whether half of the watchdog's time has passed since the last alive().
    [[nodiscard]] bool alive_due(Nanos now) const { return period_ && now - last_alive_ >= *period_; }
    /// Feeds the watchdog; call it only while the work goes on.
    void alive(Nanos now);
    /// A line for `systemctl status`; sent when it differs from the last one.
    void status(std::string_view line);
    void stopping() { send("STOPPING=1"); }

  private:
    void send(std::string_view state) const;

    std::string socket_;           ///< empty: nothing is sent
    std::optional<Nanos> period_;  ///< half of the watchdog's time; absent without a watchdog
    Nanos last_alive_ = 0;
    std::string status_;
};

}  // namespace weir
