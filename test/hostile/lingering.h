// lingering.h - a file whose close() waits: a TCP connection over loopback with bytes that its receiver does
// not take. Source: RFC 9293. Units: s. Threads: one.
#pragma once

#include "test/hostile/guest_memory.h"

namespace weir::hostile {

/// The last close of `sender` waits until the receiver reads or is closed, or for `seconds`.
struct Lingering {
    /// @throws std::system_error
    explicit Lingering(int seconds);

    File sender;
    File receiver;
};

}  // namespace weir::hostile
