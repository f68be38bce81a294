// vhost_port.h - a vNIC's rings on the rte_vhost library, and virtio-net's feature bits.
// Source: vhost-user protocol; virtio 1.2 5.1.3; virtio 1.2 6; DPDK vhost library guide. Units: ring pairs.
// Threads: bursts by the owning worker; what happens to connections by vhost's control thread.
//
// The control thread publishes a connection as one 64-bit word: bit 63 attached, bits 32 to 62 the library's
// device id, bit n whether ring n is enabled. The worker compares the word with the last one before each
// burst and reads the rings anew when it changed, so it sees all of a change or nothing, and a guest that
// toggles its rings costs no memory. A guest with 2 queue pairs, device 5, has 0x8000'0005'0000'000F.
//
// In server mode one socket may get several connections. The connection that attached
// first is the port's until it detaches; others wait and neither reset it nor end it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "common/metrics.h"
#include "vswitch/limits.h"
#include "vswitch/ports/port.h"

namespace weir::vhost {

enum Feature : unsigned {
    kChecksum = 0,
    kGuestChecksum = 1,
    kMtu = 3,
    kGuestTso4 = 7,
    kGuestTso6 = 8,
    kGuestEcn = 9,
    kGuestUfo = 10,
    kHostTso4 = 11,
    kHostTso6 = 12,
    kHostEcn = 13,
    kHostUfo = 14,
    kMergeable = 15,
    kMultiqueue = 22,
    kLogAll = 26,
    kIndirect = 28,
    kEventIndex = 29,
    kVersion1 = 32,
    kRingPacked = 34,
    kInOrder = 35,
};

[[nodiscard]] constexpr bool has(std::uint64_t features, Feature feature) {
    return (features >> feature & 1) != 0;
}

[[nodiscard]] constexpr std::uint64_t mask(std::initializer_list<Feature> features) {
    std::uint64_t bits = 0;
    for (const Feature feature : features)
        bits |= 1ULL << feature;
    return bits;
}

[[nodiscard]] inline std::vector<std::string> names(std::uint64_t features) {
    static constexpr std::pair<Feature, const char*> kNames[] = {
        {kChecksum, "checksum"},
        {kGuestChecksum, "guest-checksum"},
        {kMtu, "mtu"},
        {kGuestTso4, "guest-tso4"},
        {kHostTso4, "tso4"},
        {kMergeable, "mergeable"},
        {kMultiqueue, "multiqueue"},
        {kLogAll, "dirty-log"},
        {kIndirect, "indirect"},
        {kEventIndex, "event-index"},
        {kRingPacked, "packed"},
        {kInOrder, "in-order"},
    };
    std::vector<std::string> found;
    for (const auto& [feature, name] : kNames)
        if (has(features, feature))
            found.emplace_back(name);
    return found;
}

}  // namespace weir::vhost

namespace weir {

class BurstPool;

/// When detach() says so the caller waits for quiescence: only then may the library free the rings.
class VhostPort final : public Port {
  public:
    /// @param pool of its worker
    /// @param queues ring pairs that may be used, 1 to limits::kQueuesMax; the guest's other rings are
    /// ignored
    VhostPort(BurstPool& pool, std::uint32_t queues) : pool_(pool), queues_(queues) {}

    std::uint16_t rx_burst(rte_mbuf** frames, std::uint16_t max) override;
    std::uint16_t tx_burst(rte_mbuf** frames, std::uint16_t count) override;
    [[nodiscard]] bool up() const override;
    [[nodiscard]] PortOffloads offloads() const override;
    [[nodiscard]] std::vector<std::string> features() const override;
    [[nodiscard]] std::uint64_t ring_errors() const override { return ring_errors_.value(); }
    void housekeeping(Nanos now) override;

    // What happens to connection `vid`; any thread.

    void connected(int vid);
    void attach(int vid, std::uint64_t negotiated);
    /// @return the worker may still use the connection's rings: wait for quiescence
    [[nodiscard]] bool detach(int vid);
    void set_ring(int vid, std::uint16_t ring, bool enabled);
    void disconnected(int vid);

  private:
    struct Rings {
        std::array<std::uint16_t, limits::kQueuesMax> ids{};
        std::array<std::uint16_t, limits::kQueuesMax> last_avail{};
        std::array<std::uint16_t, limits::kQueuesMax> taken{};  // since the last housekeeping, modulo 2^16
        std::uint16_t count = 0;
        std::uint16_t next = 0;  // of round robin: the ring of the next burst
    };

    /// A front-end at the socket.
    struct Connection {
        int vid;
        bool attached = false;
        std::uint32_t rings = 0;  ///< bit n: ring n is enabled
        std::uint64_t negotiated = 0;
    };

    [[nodiscard]] Connection& connection(int vid);
    void publish();
    bool refresh();
    void poll_carefully();
    std::uint16_t tx_ring(std::uint16_t ring, rte_mbuf** frames, std::uint16_t count);
    std::uint16_t tx_spread(rte_mbuf** frames, std::uint16_t count);

    BurstPool& pool_;
    std::uint32_t queues_;
    // The worker's copy of the connection.
    std::uint64_t seen_ = 0;
    int vid_ = -1;
    bool one_by_one_ = false;  ///< a chain was longer than any frame: one frame per burst, for a second
    bool refused_ = false;     ///< such a chain came since the last housekeeping
    Nanos one_by_one_until_ = 0;
    Rings from_vm_;
    Rings to_vm_;
    Counter ring_errors_;
    std::mutex control_;  // of the following two; no worker takes it
    std::vector<Connection> connections_;
    int live_ = -1;  // the connection that the worker uses
    // Written by the control thread.
    alignas(64) std::atomic<std::uint64_t> connection_{0};
    std::atomic<std::uint64_t> negotiated_{0};
};

}  // namespace weir
