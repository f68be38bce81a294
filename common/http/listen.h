// listen.h - a socket that listens on an address of the configuration. Source: docs/api.md; docs/metrics.md.
// Threads: any.
#pragma once

#include <string>

namespace weir {

/// Listens on a numeric address: "127.0.0.1:9417", "[::1]:9417". @param key names it in the fault
/// @throws HostError with the address, the fault and the remedy
[[nodiscard]] int listen_on(const std::string& address, const char* key);

}  // namespace weir
