// run_locks.h - locks of the paths that a running switch has for itself alone: its command socket, and DPDK's
// folder for its host. Source: DPDK EAL guide (runtime directory). Threads: main, at start and end.
//
// DPDK's folder is <run>/dpdk/<file prefix>, and the prefix is weir-<host>, so that a second switch for the
// same host is refused even if its file names other sockets.
#pragma once

#include <optional>
#include <string>

#include "common/run_lock.h"
#include "vswitch/config/config.h"

namespace weir {

/// The prefix of DPDK's files: of the configuration's EAL arguments, else weir-<host>.
[[nodiscard]] std::string eal_file_prefix(const SwitchConfig& config);

/// Lives longer than EAL and all sockets, and removes DPDK's folder at its end.
class RunLocks {
  public:
    /// @throws HostError: another switch runs; nothing of it has been touched
    explicit RunLocks(const SwitchConfig& config);
    ~RunLocks();
    RunLocks(const RunLocks&) = delete;
    RunLocks& operator=(const RunLocks&) = delete;

  private:
    RunLock commands_;
    std::optional<RunLock> reading_;
    std::string folder_;
    RunLock host_;
};

}  // namespace weir
