// vhost_port.h - one vNIC's rings on the rte_vhost library.
// Source: vhost-user protocol; DPDK vhost library guide. Units: ring pairs.
// Threads: bursts by the owning worker; attach/detach/set_ring by vhost's control thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "common/metrics.h"
#include "vswitch/limits.h"
#include "vswitch/ports/port.h"

struct rte_mempool;

namespace weir {

/// A connection is one 64-bit word (device id and ring bitmap), so that a worker sees all of it or nothing
/// and a guest that toggles its rings for ever costs no memory. After detach() the caller waits for
/// quiescence: only then may the library free the rings.
class VhostPort final : public Port {
  public:
    /// @param queues ring pairs that may be used, 1 .. limits::kQueuesMax; rings beyond are left alone
    VhostPort(rte_mempool* pool, std::uint32_t queues) : pool_(pool), queues_(queues) {}

    std::uint16_t rx_burst(rte_mbuf** frames, std::uint16_t max) override;
    std::uint16_t tx_burst(rte_mbuf** frames, std::uint16_t count) override;
    [[nodiscard]] bool up() const override;
    [[nodiscard]] PortOffloads offloads() const override;
    [[nodiscard]] std::vector<std::string> features() const override;
    [[nodiscard]] std::uint64_t ring_errors() const override { return ring_errors_.value(); }
    void housekeeping() override;

    void attach(int vid, std::uint64_t negotiated);
    void detach();
    void set_ring(std::uint16_t ring, bool enabled);
    /// Forgets the rings of the last connection.
    void reset_rings();

  private:
    struct Rings {
        std::array<std::uint16_t, limits::kQueuesMax> ids{};
        std::array<std::uint16_t, limits::kQueuesMax> last_avail{};
        std::array<std::uint16_t, limits::kQueuesMax> taken{};  // since the last housekeeping, modulo 2^16
        std::uint16_t count = 0;
        std::uint16_t next = 0;  // where round robin goes on
    };

    bool refresh();
    std::uint16_t tx_ring(std::uint16_t ring, rte_mbuf** frames, std::uint16_t count);
    std::uint16_t tx_spread(rte_mbuf** frames, std::uint16_t count);

    rte_mempool* pool_;
    std::uint32_t queues_;
    // The worker's own view of the connection.
    std::uint64_t seen_ = 0;
    int vid_ = -1;
    Rings from_vm_;
    Rings to_vm_;
    Counter ring_errors_;
    // Written by the control thread: bit 63 attached, bits 32..62 vid, bits 0..31 enabled rings.
    alignas(64) std::atomic<std::uint64_t> connection_{0};
    std::atomic<std::uint64_t> negotiated_{0};
};

}  // namespace weir
