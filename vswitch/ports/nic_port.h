// nic_port.h - any DPDK ethernet device: the uplink, or a vNIC given as `device`.
// Source: DPDK ethdev guide. Units: bytes without FCS (frame lengths), descriptors.
// Threads: NicDevice by the agent; each NicPort (one queue pair) by one worker.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/cores.h"
#include "vswitch/ports/growing_count.h"
#include "vswitch/ports/kernel_interface.h"
#include "vswitch/ports/port.h"
#include "vswitch/ports/wakeups.h"

struct rte_mempool;

namespace weir {

struct NicSettings {
    std::string device;  ///< PCI address or vdev string; probed if DPDK does not have it yet
    std::uint16_t queues = 1;
    std::uint16_t descriptors = 1024;
    std::uint32_t mtu =
        1500;           ///< largest IP packet; the device has room for three VLAN tags besides, if it can
    std::string owner;  ///< of the device, for error messages: "uplink", "vNIC vm1"
    bool interrupts = false;  ///< are wanted, if the device has them: its workers may sleep
};

/// Opens, starts and closes one ethernet device.
///
/// A device on an interface of the kernel (net_af_packet and the like) has the link that the kernel says. It
/// is opened anew when the interface was deleted and is back, because its sockets belong to the one that
/// went; net_af_packet and net_pcap also when it was down, because in their rings are frames that would leave
/// late.
class NicDevice {
  public:
    /// @param pools that the device receives into, by queue; outlive this
    /// @throws HostError that names the device, the step that failed and the remedy
    NicDevice(const NicSettings& settings, std::span<rte_mempool* const> pools);
    /// All queues receive into one pool.
    NicDevice(const NicSettings& settings, rte_mempool* pool);
    ~NicDevice();
    NicDevice(const NicDevice&) = delete;
    NicDevice& operator=(const NicDevice&) = delete;

    /// Where its PCI slot is; a device that the host makes is at none.
    [[nodiscard]] NumaNode numa_node() const;
    /// Changes in reopen().
    [[nodiscard]] std::uint16_t port_id() const { return port_id_; }
    [[nodiscard]] const std::string& driver() const { return driver_; }
    /// Its own address as MacAddress::bits; 0 = unknown.
    [[nodiscard]] std::uint64_t mac() const;
    [[nodiscard]] PortOffloads offloads() const { return offloads_; }
    /// Whether a frame that is received may cause an interrupt.
    [[nodiscard]] bool interrupts() const { return interrupts_; }
    /// Whether frames pass. While they do not, port_id() of a device of the kernel is not to be used. Any
    /// thread.
    [[nodiscard]] bool link_up() const { return link_up_.load(std::memory_order_acquire); }
    /// Whether an interface of the kernel is behind it. Any thread.
    [[nodiscard]] bool of_kernel() const { return of_kernel_; }
    /// Reads the link state from the driver or the kernel, perhaps by system calls: for the agent. Workers
    /// read link_up(). @return the device has to be opened anew: reopen(), once no worker uses it
    bool poll_link();
    /// Closes the device and opens it again; when that fails, link_fault() has the reason, and poll_link()
    /// asks for it again later. Agent; link_up() has been false since before the workers' last checkpoints.
    void reopen();
    /// Why frames do not pass, with the remedy; empty while they do. Agent.
    [[nodiscard]] const std::string& link_fault() const { return link_fault_; }
    /// Times that frames ceased to pass. Agent.
    [[nodiscard]] std::uint64_t link_losses() const { return link_losses_; }
    /// Frames that the device has lost, because its ring was full or it had no buffer. Like send_errors(), it
    /// never goes back, also when the device is opened anew or cannot be asked. Agent.
    [[nodiscard]] std::uint64_t missed();
    /// Frames that the device took and could not send. Agent.
    [[nodiscard]] std::uint64_t send_errors();

  private:
    void open();
    void plug();
    void start();
    [[nodiscard]] bool try_interrupts() const;
    void close();
    void read_counters();
    bool poll_kernel_link();
    void set_link(bool up);

    NicSettings settings_;
    std::vector<rte_mempool*> pools_;  // by receive queue
    std::string interface_;            // of the kernel; empty: none
    bool of_kernel_;
    std::uint16_t port_id_ = 0;
    bool plugged_ = false;
    bool open_ = false;
    bool stale_ = false;      // was without its interface since it was opened
    KernelLink opened_with_;  // the interface just before
    unsigned polls_to_retry_ = 0;
    std::string driver_;
    PortOffloads offloads_;
    bool interrupts_ = false;
    std::string link_fault_;
    std::uint64_t link_losses_ = 0;
    std::atomic<bool> link_up_{false};
    GrowingCount ring_full_;
    GrowingCount no_buffer_;
    GrowingCount unsent_;
};

/// One queue pair of a device.
class NicPort final : public Port {
  public:
    /// @param wakeups of the owning worker; outlives this; null: it never sleeps
    NicPort(NicDevice& device, std::uint16_t queue, Wakeups* wakeups)
        : device_(device),
          wakeups_(device.interrupts() ? wakeups : nullptr),
          kernel_(device.of_kernel()),
          port_(device.port_id()),
          queue_(queue) {}
    ~NicPort() override;

    std::uint16_t rx_burst(rte_mbuf** frames, std::uint16_t max) override;
    std::uint16_t tx_burst(rte_mbuf** frames, std::uint16_t count) override;
    /// Another worker owns the port from now on. Neither is polling.
    void serve(Wakeups* wakeups);
    /// Frames that are there already are for the caller to find.
    [[nodiscard]] Wake ask_for_wake() override;
    void forget_wake() override;
    /// Prepares frames whose checksums or segments the device makes. @return number of frames, from the
    /// first, that the device accepts
    std::uint16_t prepare(rte_mbuf** frames, std::uint16_t count);
    [[nodiscard]] bool up() const override { return device_.link_up(); }
    [[nodiscard]] PortOffloads offloads() const override { return device_.offloads(); }
    [[nodiscard]] std::vector<std::string> features() const override { return {device_.driver()}; }

  private:
    std::uint16_t rx_from_kernel(rte_mbuf** frames, std::uint16_t max);
    std::uint16_t tx_to_kernel(rte_mbuf** frames, std::uint16_t count);

    NicDevice& device_;
    Wakeups* wakeups_;
    bool kernel_;
    std::uint16_t port_;  // not of the kernel's
    std::uint16_t queue_;
    int interrupts_ = -1;  // the queue's file, once it is watched
};

}  // namespace weir
