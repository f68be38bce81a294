// kernel_interface.h - the kernel's interface behind a device such as net_af_packet: its name and its state.
// Source: rtnetlink(7); Linux operstates; DPDK NIC guides.
// Threads: any but workers (system calls).
#pragma once

#include <optional>
#include <string>

namespace weir {

/// Name of the interface that a vdev string names ("net_af_packet0,iface=veth0"); empty for other devices.
[[nodiscard]] std::string kernel_interface_of(const std::string& device);
/// Whether the device makes the interface itself, and takes it away with it: net_tap.
[[nodiscard]] bool makes_kernel_interface(const std::string& device);
/// Whether frames stay in its rings while the interface is down, and opening the device leaves the interface
/// as it is: net_af_packet, net_pcap. net_af_xdp may make a NIC lose its link when it is opened.
[[nodiscard]] bool keeps_old_frames(const std::string& device);

struct KernelLink {
    unsigned index = 0;    ///< differs when an interface of the same name is made again; 0: there is none
    unsigned losses = 0;   ///< times that the interface has lost its carrier
    bool enabled = false;  ///< an administrator has set it up
    bool running = false;  ///< and its other side, too: frames pass

    /// Why no frame passes, with the remedy; empty when frames pass.
    [[nodiscard]] std::string fault(const std::string& name) const;
};

/// The state at this moment, in the process's network namespace; none when the kernel does not say.
[[nodiscard]] std::optional<KernelLink> read_kernel_link(const std::string& name);

}  // namespace weir
