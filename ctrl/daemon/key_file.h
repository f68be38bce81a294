// key_file.h - CURVE keys in files.
// Source: ZeroMQ RFC 26. Threads: main, at start.
#pragma once

#include <string>

namespace weir {

/// Makes a CURVE key pair: the secret key goes into a new file (mode 0600), the public key is returned.
/// @throws HostError: the file exists or cannot be written
[[nodiscard]] std::string make_key(const std::string& path);
/// Reads a Z85 key from a file; white space around it is ignored. @throws HostError: unreadable, or not a key
[[nodiscard]] std::string read_key(const std::string& path);

}  // namespace weir
