// config_cores.h - the configuration's cores against those that the process may use.
// Source: docs/design.md 2. Units: numbers of cores. Threads: main, at start.
#pragma once

#include <string>

#include "common/cores.h"
#include "vswitch/config/config.h"

namespace weir {

/// Why the start would fail, in one line that names the core, the cpuset and the remedy; empty: it would not.
/// @param cpuset name of the cgroup
[[nodiscard]] std::string core_fault(const SwitchConfig& config, const CoreSets& cores,
                                     const std::string& cpuset);

/// The agent's core: as configured, else the first of the affinity without a worker, else a worker's: the
/// agent mostly sleeps, and DPDK's control threads run beside it.
[[nodiscard]] unsigned agent_core(const SwitchConfig& config, const CoreSets& cores);

}  // namespace weir
