// vhost_driver.h - registers vNIC sockets with the vhost library and hands connections to their ports.
// Source: DPDK vhost library guide; docs/design.md 6.
// Threads: add, remove and the looks at sockets by the agent; the callbacks run on the library's control
// thread.
//
// The library listens on sockets in a private folder; vhost_gate.h connects them with the guests' sockets.
// Before the library changes or frees anything that a worker reads, the port's device is withdrawn: hidden,
// and given back when every worker has passed a checkpoint (quiescence.h).
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "vswitch/config/config.h"
#include "vswitch/ports/guest_socket.h"
#include "vswitch/ports/quiescence.h"
#include "vswitch/ports/stall_watch.h"
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

    /// Listens on the vNIC's socket, or connects to it, as soon as that is possible: socket_fault() names the
    /// obstacle. `port` must outlive remove().
    /// @throws HostError: the vhost library refuses
    void add(const VnicConfig& vnic, VhostPort& port);
    /// Closes the socket. After its return no worker and no callback uses the port's rings.
    void remove(const std::string& socket);
    /// Looks for changes in the folders of all sockets, at most every 0.5 s: listens where that has become
    /// possible, and logs the obstacles, once for each cause and at most every 10 s for a vNIC.
    void look_at_sockets();
    /// Why no front-end can come to the vNIC with this socket; empty: one can.
    [[nodiscard]] std::string socket_fault(const std::string& socket) const;

    // Called by the library's control thread.
    void connected(int vid);
    void attached(int vid);
    void detached(int vid);
    void disconnected(int vid);
    void ring_changed(int vid, std::uint16_t ring, bool enabled);
    void before_message(int vid, const void* message);
    void after_message(int vid, const void* message);

  private:
    using Clock = std::chrono::steady_clock;
    struct Watched {
        explicit Watched(const VnicConfig& config)
            : vnic(config.name),
              path(config.socket),
              socket(config.socket, config.mode == VhostMode::kServer,
                     {.group = config.socket_group, .mode = config.socket_mode}) {}

        std::string vnic;
        std::string path;
        GuestSocket socket;
        bool listened = false;
        std::string named{};  // the fault that was logged last
        Clock::time_point next_warning{};
    };

    void look_at(Watched& watched);
    VhostPort* find(int vid);
    void withdraw(VhostPort& port, int vid);
    void present(VhostPort& port, int vid);
    void renew(VhostPort& port);

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
    GuestAccess messages_;  // of the library's thread, while it is at a message
    StallWatch stalls_;
    std::map<std::string, Watched> sockets_;  // by the guest's socket
    Clock::time_point looked_{};
};

}  // namespace weir
