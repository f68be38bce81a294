// vhost_port.h - a vNIC's port to a guest: which connection's device the worker has, and bursts on its rings.
// Source: vhost-user protocol. Units: ring pairs.
// Threads: bursts by the owning worker; events of connections by vhost's control thread.
//
// The control thread makes a virtio::Device of a connection and publishes a pointer to it. Before anything
// changes that the device has copied (memory, places of rings, files, features), it hides the device, waits
// until no worker has it, gives its indices back to the library, and after the change publishes a new one:
//
//   worker:   device -> bursts ...            | none |  new device -> bursts
//   control:            hide(), quiescence, reclaim(), the library's change, show()
//
// In server mode one socket may get several connections. The connection that attached
// first is the port's until it detaches; others wait and neither reset it nor end it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "common/metrics.h"
#include "vswitch/base/limits.h"
#include "vswitch/ports/foreign_files.h"
#include "vswitch/ports/front_end_fault.h"
#include "vswitch/ports/notifier.h"
#include "vswitch/ports/port.h"
#include "vswitch/ports/vhost_feature.h"
#include "vswitch/ports/virtio/device.h"
#include "vswitch/ports/wakeups.h"

namespace weir {

class VhostPort final : public Port {
  public:
    /// @param pool of packet buffers; outlives this
    /// @param notifier of the owning worker; outlives this
    /// @param wakeups of the owning worker; outlives this; null: it never sleeps
    /// @param queues ring pairs that may be used, 1 to limits::kQueuesMax
    VhostPort(rte_mempool* pool, Notifier& notifier, Wakeups* wakeups, std::uint32_t queues)
        : Port(true), pool_(pool), notifier_(&notifier), wakeups_(wakeups), queues_(queues) {}

    std::uint16_t rx_burst(rte_mbuf** frames, std::uint16_t max) override;
    void return_chains() override;
    [[nodiscard]] std::uint64_t straight_frames() const override { return straight_.value(); }
    /// With several rings, of the next one in turn at each call.
    [[nodiscard]] std::optional<std::uint64_t> peek_destination() override;
    [[nodiscard]] std::optional<std::size_t> watch(std::span<virtio::RingWatch> words) override;
    [[nodiscard]] Wake ask_for_wake() override;
    void forget_wake() override;
    /// Of the only ring: with several the frames' flows decide.
    void prefetch(Prefetch stage) override;
    std::uint16_t tx_burst(rte_mbuf** frames, std::uint16_t count) override;
    [[nodiscard]] std::uint16_t rings() const override { return rings_.load(std::memory_order_relaxed); }
    [[nodiscard]] bool up() const override;
    [[nodiscard]] PortOffloads offloads() const override;
    [[nodiscard]] std::vector<std::string> features() const override;
    [[nodiscard]] std::uint64_t ring_errors() const override { return ring_errors_.value(); }
    [[nodiscard]] std::string ring_fault() const override;
    [[nodiscard]] std::string front_end_fault() const override;
    /// Where the gate notes its refusals.
    [[nodiscard]] FrontEndFault& front_end() { return front_end_; }

    /// Another worker owns the port from now on. Neither is polling.
    void serve(Notifier& notifier, Wakeups* wakeups);

    // Events of connection `vid`: vhost's control thread.

    void connected(int vid);
    void attach(int vid, std::uint64_t negotiated);
    /// No device of this connection is published until show(). @return the worker may still use one: wait for
    /// quiescence before reclaim()
    [[nodiscard]] bool hide(int vid);
    /// Ends the hidden device and gives the library its indices.
    void reclaim(int vid);
    /// Publishes a device of the connection if it is attached and the port's.
    void show(int vid, std::uint64_t negotiated);
    /// The connection is hidden and reclaimed.
    void detach(int vid);
    void set_ring(int vid, std::uint16_t ring, bool enabled);
    void disconnected(int vid);
    /// The guest has moved here: the next burst from it begins with a RARP frame of this MAC address.
    /// @param mac 48 bits, first wire byte lowest
    void announce(std::uint64_t mac);

  private:
    /// A front-end at the socket.
    struct Connection {
        int vid;
        bool attached = false;
        std::uint32_t rings = 0;  ///< bit n: ring n is enabled
        std::uint64_t negotiated = 0;
        std::unique_ptr<virtio::Device> device{};
        std::vector<FileHandle> kicks{};  ///< of the device's rings, watched by the worker's wakeups
    };

    [[nodiscard]] Connection& connection(int vid);
    void publish(Connection& one);
    void watch_kicks(Connection& one);
    void forget_kicks(Connection& one);
    std::uint16_t settle(virtio::Lane& lane, const virtio::BurstResult& result);
    [[gnu::noinline]] void note_fault(std::uint16_t ring, virtio::RingFault fault);
    [[gnu::noinline]] rte_mbuf* make_announcement();
    std::uint16_t tx_lane(virtio::Device& device, virtio::Lane& lane, std::span<rte_mbuf*> frames,
                          std::uint16_t& too_long);

    rte_mempool* pool_;
    Notifier* notifier_;
    Wakeups* wakeups_;
    std::uint32_t queues_;
    Counter ring_errors_;
    Counter straight_;
    virtio::Lane* owing_ = nullptr;  ///< of the device in use, whose used chains the driver does not see yet
    std::atomic<std::uint32_t> fault_{0};  ///< of a ring that is stopped: its number << 8 | RingFault
    mutable FrontEndFault front_end_;
    std::mutex control_;  // of the following two; no worker takes it
    std::vector<Connection> connections_;
    int live_ = -1;  // the connection that is the port's
    // Written by the control thread.
    alignas(64) std::atomic<virtio::Device*> device_{nullptr};
    std::atomic<std::uint64_t> announced_{0};  ///< MAC address and bit 63; the worker clears it
    std::atomic<std::uint64_t> negotiated_{0};
    std::atomic<std::uint16_t> rings_{1};  ///< receive rings of the last device
    std::atomic<bool> up_{false};
};

}  // namespace weir
