// daemon.h - what every program has that runs until it is told to stop: exit codes, signals.
// Threads: main, before it makes others.
#pragma once

#include <atomic>

namespace weir {

inline constexpr int kHostFailed = 1;        ///< the host lacks something, or refuses
inline constexpr int kBadConfiguration = 2;  ///< wrong usage, or a fault in a file

/// From now on SIGINT and SIGTERM set the flag, and do nothing else.
const std::atomic<bool>& stop_on_signals();

}  // namespace weir
