// agent.h - the control thread of the switch, and its reports to systemd.
// Source: docs/design.md 2; sd_notify(3). Units: Nanos of a monotonic clock.
// Threads: run() on the main thread; everything here belongs to that thread.
//
// A tick every 10 ms: the topology's tick, the link to the controller. Between ticks requests on the command
// socket are served, and every millisecond samples of vNICs are taken for their history. When
// systemd supervises the switch (WATCHDOG_USEC), the agent feeds its watchdog twice in that time, but only
// while all workers answer: with WatchdogSec=30 a switch whose worker stands still is restarted after 30 s.
//
// On a stepped clock a tick and samples every 10 ms of its time, between two poll turns, and samples at the
// end of each step. Ticks of real time go on, so that messages arrive, commands are answered and vNICs come
// up while time stands still.
#pragma once

#include <atomic>
#include <string>

#include "common/clock.h"
#include "common/metrics/snapshot_desk.h"
#include "common/service_notifier.h"
#include "common/stepped_clock.h"
#include "vswitch/agent/command_socket.h"
#include "vswitch/agent/commands.h"
#include "vswitch/agent/ctrl_link.h"
#include "vswitch/agent/switch_control.h"

namespace weir {

class Agent {
  public:
    /// @param link to the controller, or null; outlives the agent
    /// @param clock moved by commands; null: time is real
    Agent(SwitchControl& control, const std::string& socket_path, const std::string& read_socket_path = {},
          CtrlLink* link = nullptr, const SteppedClock* clock = nullptr);

    /// Makes reports for this desk from now on, when a reader waits for one. @param desk outlives the agent
    void serve(metrics::SnapshotDesk<SwitchReport>& desk) { desk_ = &desk; }

    /// Returns soon after `stop` becomes true.
    void run(const std::atomic<bool>& stop);
    /// Moves the stepped clock: poll turns of all workers, and the ticks that become due. @return its time
    Nanos step(const ClockStep& step);

  private:
    void tick();
    void feed_watchdog();

    SwitchControl& control_;
    CommandSocket socket_;
    CtrlLink* link_;
    const SteppedClock* clock_;
    metrics::SnapshotDesk<SwitchReport>* desk_ = nullptr;
    StepClock step_;  // empty: time is real
    ServiceNotifier notifier_;
};

}  // namespace weir
