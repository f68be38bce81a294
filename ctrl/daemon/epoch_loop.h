// epoch_loop.h - the controller's only thread: intervals by the clock, messages in between.
// Threads: main.
#pragma once

#include <atomic>

#include "ctrl/daemon/controller.h"
#include "ctrl/daemon/server.h"

namespace weir {

/// Returns after `stop` was set, within a tenth of a second.
void run_epochs(const ClusterConfig& config, Controller& controller, Server& server,
                const std::atomic<bool>& stop);

}  // namespace weir
