// unix_socket.h - stream sockets of the file system: connect, listen, and ask whether a process has one.
// Source: unix(7). Threads: any.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "vswitch/ports/foreign_files.h"

namespace weir {

/// Does not wait. @return a closed handle when nothing listens at `path`; errno has the reason
[[nodiscard]] FileHandle connect_to(const std::string& path);

/// Users besides its owner that may connect to a socket.
struct SocketRights {
    std::string group{};           ///< empty: as the folder says
    std::optional<mode_t> mode{};  ///< absent: as the umask leaves it
};

/// Nothing may be at `path`. No process connects before the rights are set.
/// @return a closed handle when that fails; errno has the reason: ENOKEY means that there is no such group
[[nodiscard]] FileHandle listen_at(const std::string& path, const SocketRights& rights = {});

enum class SocketUser {
    kNone,     ///< no process has the socket at the path open: it was left there
    kSome,     ///< a process has it, this one perhaps
    kUnknown,  ///< the kernel does not answer; errno has the reason
};

/// Asks the kernel, and not the process, which notices nothing: a datagram socket cannot be connected to a
/// stream socket (EPROTOTYPE), but to one that no process has open it is refused before that (ECONNREFUSED).
/// @param path of a socket
[[nodiscard]] SocketUser user_of(const std::string& path);

}  // namespace weir
