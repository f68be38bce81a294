// port.h - one virtio-user device of the generator: a VM's network card without the VM.
// Threads: main constructs and destroys; the polling core sends and receives.
#pragma once

#include <rte_ethdev.h>
#include <rte_mempool.h>

#include <cstdint>

#include "bench/load/virtio/spec.h"

namespace weir::load {

class Port {
  public:
    /// Attaches and starts the device; in server mode, blocks until the switch has connected.
    /// @throws std::runtime_error when DPDK refuses
    Port(std::size_t index, const PortSpec& spec);
    ~Port();
    Port(const Port&) = delete;
    Port& operator=(const Port&) = delete;

    /// Whether a peer is connected. In server mode the call also accepts a returning peer. Main thread only.
    [[nodiscard]] bool link_up() const;

    /// Gives packets to the next transmit queue in turn. @return how many it took; the caller keeps the
    /// others
    std::uint16_t send(rte_mbuf** packets, std::uint16_t count) {
        tx_queue_ = tx_queue_ + 1 < queues_ ? static_cast<std::uint16_t>(tx_queue_ + 1) : std::uint16_t{0};
        return rte_eth_tx_burst(id_, tx_queue_, packets, count);
    }
    std::uint16_t receive(std::uint16_t queue, rte_mbuf** packets, std::uint16_t count) {
        return rte_eth_rx_burst(id_, queue, packets, count);
    }
    [[nodiscard]] std::uint16_t queues() const { return queues_; }
    [[nodiscard]] const Mac& mac() const { return mac_; }

  private:
    void start();

    Mac mac_;
    std::uint16_t id_ = 0;
    std::uint16_t queues_;
    std::uint16_t tx_queue_ = 0;
    rte_mempool* rx_pool_ = nullptr;
};

}  // namespace weir::load
