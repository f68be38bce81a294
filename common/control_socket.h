// control_socket.h - how large a request of weirctl to the controller and its reply may be.
// Source: docs/operations.md. Units: bytes. Threads: any.
#pragma once

#include <cstdint>

namespace weir {

/// The longest is `apply` with a cluster file.
inline constexpr std::int64_t kRequestBytesMax = 64 << 20;
/// weirctl refuses a longer reply. A specification of 100,000 vNICs has 19 MB as JSON.
inline constexpr std::int64_t kReplyBytesMax = 64 << 20;

}  // namespace weir
