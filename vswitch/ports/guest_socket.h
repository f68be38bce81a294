// guest_socket.h - the path of one vNIC's socket: listens there as soon as that is possible, and names the
// obstacle until then. Source: vhost-user protocol; unix(7). Threads: the agent.
//
// A folder may be missing when the switch starts, or be removed and made again while it runs; another program
// may listen at the path. None of it is a fault of the switch: the vNIC waits, and the agent, which calls
// look() twice a second, finds the moment at which it can go on.
//
//   server: look() -> fault ... look() -> a listener ... look() -> nothing new ... look() -> another listener
//   client: the gate connects by itself; look() only finds its obstacle
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "common/file_identity.h"
#include "vswitch/ports/foreign_files.h"
#include "vswitch/ports/unix_socket.h"

namespace weir {

class GuestSocket {
  public:
    /// @param path absolute, at most 107 bytes
    /// @param listens the switch listens there; false: the front-end does  @param rights of its listener
    GuestSocket(std::string path, bool listens, SocketRights rights = {})
        : path_(std::move(path)), listens_(listens), rights_(std::move(rights)) {}

    /// Looks at the path: a few system calls. Replaces a socket there that no process has open.
    /// @return of a server, a socket that listens at the path from now on, in place of any before; closed:
    /// nothing new
    [[nodiscard]] FileHandle look();
    /// The obstacle that look() found, with its remedy, in one line; empty: none.
    [[nodiscard]] const std::string& fault() const { return fault_; }
    /// The present obstacle, as far as the folder shows it, without listening; empty: none.
    [[nodiscard]] std::string folder_fault() const;
    /// Removes the socket from its folder, if it is the one that look() made.
    void remove();

  private:
    [[nodiscard]] std::string path_fault() const;

    std::string path_;
    bool listens_;
    SocketRights rights_;
    std::optional<FileIdentity> own_;  // of the last listener's path, while the listener is open
    std::string fault_;
};

}  // namespace weir
