// vhost_port.h - a vNIC's port to a guest: which connection's rings the workers have.
// Source: vhost-user protocol. Units: ring pairs.
// Threads: events of connections by vhost's control thread; bursts (vhost_rings.h) by the workers.
//
// The control thread makes a virtio::Device of a connection and publishes pointers to it. Before anything
// changes that the device has copied (memory, places of rings, files, features), it hides the device, waits
// until no worker has it, gives its indices back to the library, and after the change publishes a new one:
//
//   worker:   device -> bursts ...            | none |  new device -> bursts
//   control:            hide(), quiescence, reclaim(), the library's change, show()
//
// Several workers may serve one guest. Each has a device of its own with some of the rings: pair q is for
// server q % servers.
//
//   connection --> pairs 0, 2, 4 ... --> device --> rings(0), polled by one worker
//              \-> pairs 1, 3, 5 ... --> device --> rings(1), polled by another one
//
// In server mode one socket may get several connections. The connection that attached
// first is the port's until it detaches; others wait and neither reset it nor end it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "vswitch/ports/front_end_fault.h"
#include "vswitch/ports/notifier.h"
#include "vswitch/ports/ring_places.h"
#include "vswitch/ports/vhost_rings.h"
#include "vswitch/ports/wakeups.h"

namespace weir {

class VhostPort {
  public:
    /// A worker that polls rings of the guest.
    struct Server {
        Notifier* notifier;   ///< outlives the port
        GuestAccess* access;  ///< likewise
        Wakeups* wakeups;     ///< outlives the port; null: the worker never sleeps
        rte_mempool* pool;    ///< of the worker's packet buffers; outlives the port
        SignalRelay* relay;   ///< of all workers; outlives the port
    };

    /// @param queues ring pairs that may be used, 1 to limits::kQueuesMax
    /// @param servers at least one; all have rings when the guest uses as many pairs
    /// @param places_file where the places of packed rings outlive the process; empty: nowhere
    VhostPort(std::uint32_t queues, std::span<const Server> servers, const std::string& places_file = "");

    /// The port that the server's worker polls; it stays in its place.
    [[nodiscard]] VhostRings& rings(std::size_t server = 0) { return *servers_[server]; }
    [[nodiscard]] std::size_t servers() const { return servers_.size(); }
    /// Why a ring is stopped until its driver sets it up again, of the first server that has one; empty when
    /// none is. Any thread.
    [[nodiscard]] std::string ring_fault() const;
    /// Why the last front-end was disconnected or is not served; empty when none was since one was served.
    /// Any thread.
    [[nodiscard]] std::string front_end_fault() const;
    /// Why the places of packed rings do not outlive the process; empty: they do, or there is no file.
    [[nodiscard]] const std::string& places_fault() const { return places_.fault(); }
    /// Where the gate notes its refusals.
    [[nodiscard]] FrontEndFault& front_end() { return front_end_; }

    /// Another worker owns the rings of the only server from now on. Neither is polling.
    void serve(const Server& server);

    // Events of connection `vid`: vhost's control thread.

    void connected(int vid);
    void attach(int vid, std::uint64_t negotiated);
    /// No device of this connection is published until show(). @return a worker may still use one: wait for
    /// quiescence before reclaim()
    [[nodiscard]] bool hide(int vid);
    /// Ends the hidden devices and gives the library their indices.
    void reclaim(int vid);
    /// The front-end stops the ring and gets its place. The devices are reclaimed.
    void stop_ring(int vid, std::uint16_t ring);
    /// Publishes the rings of the connection if it is attached and the port's, and no device is published.
    /// @return whether it did: wake_workers() follows, when the change is counted
    [[nodiscard]] bool show(int vid, std::uint64_t negotiated);
    /// The workers look at the port's rings anew. Those of other ports sleep on.
    void wake_workers();
    /// The connection is hidden and reclaimed.
    void detach(int vid);
    void set_ring(int vid, std::uint16_t ring, bool enabled);
    /// The front-end says so. The frames of a disabled transmit ring are taken, and go nowhere; those that
    /// stand in a ring before it is enabled for the first time wait.
    void note_enable(int vid, std::uint16_t ring, bool enabled);
    void disconnected(int vid);
    /// The guest has moved here: the next burst from it begins with a RARP frame of this MAC address.
    /// @param mac 48 bits, first wire byte lowest
    void announce(std::uint64_t mac);

  private:
    /// A front-end at the socket.
    struct Connection {
        int vid;
        bool attached = false;
        std::uint32_t rings = 0;      ///< bit n: ring n is enabled, and the library uses it
        std::uint32_t disabled = 0;   ///< bit n: ring n was disabled by a message, and has not stopped since
        std::uint32_t signalled = 0;  ///< bit n: ring n was placed, and its driver woken
        std::uint64_t negotiated = 0;
    };

    [[nodiscard]] Connection& connection(int vid);
    void publish(Connection& one);
    void set_bit(int vid, std::uint32_t Connection::*bits, std::uint16_t ring, bool value);

    std::uint32_t queues_;
    std::vector<std::unique_ptr<VhostRings>> servers_;  // their devices change under the mutex
    mutable FrontEndFault front_end_;
    std::mutex control_;  // of the following four; no worker takes it
    RingPlaces places_;
    std::vector<Connection> connections_;
    int live_ = -1;   // the connection that is the port's
    int noted_ = -1;  // the connection whose rings' places are noted
};

}  // namespace weir
