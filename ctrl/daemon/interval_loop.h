// interval_loop.h - the loop of weir-ctrl: messages and commands as they come, an interval by the clock.
// Source: docs/design.md 2.
// Threads: the caller's; it is the only thread of the controller.
#pragma once

#include <atomic>

#include "ctrl/daemon/controller.h"
#include "ctrl/daemon/server.h"

namespace weir {

/// Serves until `stop` is set, and returns at most 100 ms later.
///
/// A tick is due every `interval`. One that is missed (the process was stopped, a solve took too long) is not
/// made up for: the next one has all demands that the missed one would have had. Early solves are at least a
/// tenth of the interval apart.
void run_intervals(const ClusterConfig& config, Controller& controller, Server& server,
                   const std::atomic<bool>& stop);

}  // namespace weir
