// loop.h - the loop of weir-ctrl: messages and commands as they come, and an interval by the clock.
// Source: docs/design.md 2, 7. Units: Nanos of a monotonic clock. Threads: one owner, the controller's only
// one.
#pragma once

#include <atomic>

#include "common/metrics/snapshot_board.h"
#include "common/stepped_clock.h"
#include "ctrl/config/cluster_config.h"
#include "ctrl/daemon/command_desk.h"
#include "ctrl/daemon/controller.h"
#include "ctrl/daemon/controller_reading.h"
#include "ctrl/daemon/server.h"

namespace weir {

using ReadingBoard = metrics::SnapshotBoard<ControllerReading>;

/// Where the loop finds other threads; null: there are none.
struct LoopDesks {
    ReadingBoard* board = nullptr;    ///< for metrics: a reading of the controller, once or twice a second
    CommandDesk* commands = nullptr;  ///< of the API
};

/// Runs until `stop` is set; returns at most 100 ms later. Reports to systemd: ready, alive, the connected
/// hosts, stopping. Intake is in turns (intake_end() of schedule.h), so that messages delay no tick by more
/// than the tenth of an interval, and the last message.
/// @param clock moved by the command `clock.step`, with all that becomes due; null: time is real
void run_intervals(const ClusterConfig& config, Controller& controller, Server& server,
                   const std::atomic<bool>& stop, SteppedClock* clock = nullptr, LoopDesks desks = {});

}  // namespace weir
