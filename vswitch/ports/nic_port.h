// nic_port.h - any DPDK ethernet device: the uplink, or a vNIC given as `device`.
// Source: DPDK ethdev guide. Units: bytes without FCS (frame lengths), descriptors.
// Threads: NicDevice by the agent; each NicPort (one queue pair) by one worker.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "vswitch/ports/growing_count.h"
#include "vswitch/ports/port.h"

struct rte_mempool;

namespace weir {

struct NicSettings {
    std::string device;  ///< PCI address or vdev string; probed if DPDK does not have it yet
    std::uint16_t queues = 1;
    std::uint16_t descriptors = 1024;
    std::uint32_t mtu = 1500;
    std::string owner;  ///< of the device, for error messages: "uplink", "vNIC vm1"
};

/// Opens, starts and closes one ethernet device.
class NicDevice {
  public:
    /// @throws HostError that names the device, the step that failed and the remedy
    NicDevice(const NicSettings& settings, rte_mempool* pool);
    ~NicDevice();
    NicDevice(const NicDevice&) = delete;
    NicDevice& operator=(const NicDevice&) = delete;

    [[nodiscard]] std::uint16_t port_id() const { return port_id_; }
    [[nodiscard]] const std::string& driver() const { return driver_; }
    /// Its own address as MacAddress::bits; 0 = unknown.
    [[nodiscard]] std::uint64_t mac() const;
    [[nodiscard]] PortOffloads offloads() const { return offloads_; }
    [[nodiscard]] bool link_up() const { return link_up_.load(std::memory_order_relaxed); }
    /// Reads the link state and the counters of lost frames from the driver, perhaps by system calls: for the
    /// agent. Workers read link_up().
    void poll();
    /// Frames that the device has lost since its start, because its ring was full or it had no buffer. Never
    /// goes back, also when the device cannot be asked. Agent.
    [[nodiscard]] std::uint64_t missed();

  private:
    void plug(const NicSettings& settings);
    void start(const NicSettings& settings, rte_mempool* pool);
    void close();

    std::uint16_t port_id_ = 0;
    bool plugged_ = false;
    std::string driver_;
    PortOffloads offloads_;
    std::atomic<bool> link_up_{false};
    GrowingCount ring_full_;
    GrowingCount no_buffer_;
};

/// One queue pair of a device.
class NicPort final : public Port {
  public:
    NicPort(NicDevice& device, std::uint16_t queue)
        : device_(device), port_(device.port_id()), queue_(queue) {}

    std::uint16_t rx_burst(rte_mbuf** frames, std::uint16_t max) override;
    std::uint16_t tx_burst(rte_mbuf** frames, std::uint16_t count) override;
    /// Prepares frames whose checksums or segments the device makes. @return number of frames, from the
    /// first, that the device accepts
    std::uint16_t prepare(rte_mbuf** frames, std::uint16_t count);
    [[nodiscard]] bool up() const override { return device_.link_up(); }
    [[nodiscard]] PortOffloads offloads() const override { return device_.offloads(); }
    [[nodiscard]] std::vector<std::string> features() const override { return {device_.driver()}; }

  private:
    NicDevice& device_;
    std::uint16_t port_;
    std::uint16_t queue_;
};

}  // namespace weir
