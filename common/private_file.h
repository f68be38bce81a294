// private_file.h - a file with secrets, which only its owner may read and write.
// Source: stat(2). Threads: any.
#pragma once

#include <string>

namespace weir {

/// At most 1 MiB. @param key of the configuration, for the fault
/// @throws HostError with the remedy: it cannot be read, is no file, or other users may read or write it
[[nodiscard]] std::string read_private_file(const std::string& path, const char* key);

}  // namespace weir
