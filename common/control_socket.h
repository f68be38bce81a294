// control_socket.h - how large a request of weirctl to the controller and its reply may be.
// Source: docs/operations.md. Units: bytes. Threads: any.
#pragma once

#include <cstdint>

namespace weir {

/// The longest is `apply` with a cluster file.
inline constexpr std::int64_t kRequestBytesMax = 64 << 20;
/// weirctl refuses a longer reply.
inline constexpr std::int64_t kReplyBytesMax = 16 << 20;

}  // namespace weir
