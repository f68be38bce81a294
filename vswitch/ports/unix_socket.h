// unix_socket.h - UNIX stream sockets that never wait, by path.
// Threads: any.
#pragma once

#include <sys/un.h>

#include <string>

#include "vswitch/ports/foreign_files.h"

namespace weir {

/// @throws std::system_error
[[nodiscard]] FileHandle unix_socket();
/// @throws std::system_error when the path is too long
[[nodiscard]] sockaddr_un unix_address(const std::string& path);
/// @throws std::system_error that names the path
[[nodiscard]] FileHandle listen_on(const std::string& path);

}  // namespace weir
