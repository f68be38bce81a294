// vhost_driver.h - registers vNIC sockets with the vhost library and hands connections to their ports.
// Source: DPDK vhost library guide; docs/design.md 6.
// Threads: add and remove by the agent; the callbacks run on the library's control thread.
//
// The library listens on sockets in a private folder; vhost_gate.h connects them with the guests' sockets.
// Before the library changes or frees anything that a worker reads, the port's device is withdrawn: hidden,
// and given back when every worker has passed a checkpoint (quiescence.h).
#pragma once

#include <mutex>
#include <string>
#include <unordered_map>

#include "vswitch/config/config.h"
#include "vswitch/ports/quiescence.h"
#include "vswitch/ports/vhost_bell.h"
#include "vswitch/ports/vhost_gate.h"
#include "vswitch/ports/vhost_port.h"

namespace weir {

/// One per process, as the library's callbacks carry no user pointer.
class VhostDriver {
  public:
    explicit VhostDriver(Quiescence& quiescence);
    ~VhostDriver();
    VhostDriver(const VhostDriver&) = delete;
    VhostDriver& operator=(const VhostDriver&) = delete;

    /// Starts to listen on, or connect to, the vNIC's socket. `port` must outlive remove().
    /// @throws HostError that names the socket and the remedy
    void add(const VnicConfig& vnic, VhostPort& port);
    /// Closes the socket. After its return no worker and no callback uses the port's rings.
    void remove(const std::string& socket);

    // Called by the library's control thread.
    void connected(int vid);
    void attached(int vid);
    void detached(int vid);
    void disconnected(int vid);
    void ring_changed(int vid, std::uint16_t ring, bool enabled);
    void before_message(int vid, const void* message);
    void after_message(int vid, const void* message);

  private:
    VhostPort* find(int vid);
    void withdraw(VhostPort& port, int vid);

    struct Registered {
        std::string outside;  // the guest's socket
        VhostPort* port;
    };

    Quiescence& quiescence_;
    std::string folder_;  // of the library's sockets
    unsigned added_ = 0;
    std::mutex mutex_;
    std::unordered_map<std::string, Registered> ports_;  // by the library's socket
    int changing_ = -1;  // the connection whose message the library is at; control thread
    VhostBell bell_;
    VhostGate gate_;
};

}  // namespace weir
