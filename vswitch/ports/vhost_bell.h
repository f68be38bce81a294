// vhost_bell.h - wakes the vhost library's thread, so that it looks at a new socket at once.
// Source: DPDK vhost library guide (22.11: lib/vhost/fd_man.c). Threads: one at a time; any but the library's
// own.
//
// The library's thread waits in poll() for the sockets that it had when the wait began, for a second at most:
// connections to a socket on which it begins to listen meanwhile have no answer until then. A connection that
// the library makes itself ends the wait. So the bell has a socket of its own, and the library connects to it
// once a ring.
#pragma once

#include <string>

#include "vswitch/ports/foreign_files.h"

namespace weir {

class VhostBell {
  public:
    /// @param path of its socket, which does not exist yet. @throws HostError
    explicit VhostBell(std::string path);
    ~VhostBell();
    VhostBell(const VhostBell&) = delete;
    VhostBell& operator=(const VhostBell&) = delete;

    /// The library polls all sockets that it has now. Without memory for it they are polled within a second.
    void ring();

  private:
    std::string path_;
    FileHandle listener_;
};

}  // namespace weir
