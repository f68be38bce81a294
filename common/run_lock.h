// run_lock.h - a file that one running process has locked, so that a second start is refused before it
// touches anything that the first one uses.
// Source: flock(2). Threads: main, at start and end.
//
// The kernel takes the lock away when the process ends, however it ends, so that a file that was left locks
// no process out. The file says which process has it: its id, and its command socket.
#pragma once

#include <string>

#include "common/file_identity.h"

namespace weir {

class RunLock {
  public:
    struct Claim {
        std::string file;         ///< of the lock, an absolute path; its folder exists
        std::string socket;       ///< the command socket of this process
        std::string alternative;  ///< keys that a second process needs of its own to run beside the first
    };

    /// Locks the file, which is made when it is missing.
    /// @throws HostError: another process has locked it, and the error names that process, its command socket
    /// and both ways out; or the file cannot be made
    explicit RunLock(const Claim& claim);
    /// Removes the file, if it is still the one at its path.
    ~RunLock();
    RunLock(const RunLock&) = delete;
    RunLock& operator=(const RunLock&) = delete;

  private:
    [[nodiscard]] bool lock(const Claim& claim);
    void sign(const std::string& socket) const;

    std::string path_;
    int file_ = -1;
    FileIdentity identity_;
};

/// Why socket_claim() would throw for `path`, in one line; empty: it would not. Makes nothing.
[[nodiscard]] std::string socket_claim_fault(const std::string& path, const std::string& key);

/// Of the socket at `path`: the file beside it, in a folder that is made when it is missing.
/// @param key of the configuration, that has the path
/// @throws HostError: the folder cannot be made, or nothing in it
[[nodiscard]] RunLock::Claim socket_claim(const std::string& path, const std::string& command_socket,
                                          const std::string& key);

}  // namespace weir
