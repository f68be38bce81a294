// guest.h - weirctl qemu-args and libvirt-xml: a guest's side of a vNIC for QEMU and for libvirt.
// Source: virtio 1.2 5.1. Threads: any (pure functions).
//
// Both need memory that the switch can map (share=on), the vNIC's socket in the opposite role (the switch
// connects where QEMU listens), two vectors per queue pair and two more (configuration, control), and rings
// of 1024 descriptors, the most that QEMU allows for vhost-user.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace weir::cli {

struct GuestOptions {
    std::string memory = "1G";  ///< size of the guest's memory in QEMU's notation
    bool tcg = false;  ///< software emulation: no MSI-X vectors (QEMU 7.2 crashes with them) and no boot ROM
};

/// QEMU's arguments, one option with its value per element, quoted for a shell.
/// @param vnic reply to vnic.show, or a vNIC of the configuration
/// @throws Failure (kExitBadInput) when the vNIC is a DPDK device and has no socket
[[nodiscard]] std::vector<std::string> qemu_arguments(const nlohmann::json& vnic,
                                                      const GuestOptions& options);

/// The elements <memoryBacking> and <interface>. Parameter and failure as above.
[[nodiscard]] std::string libvirt_xml(const nlohmann::json& vnic);

}  // namespace weir::cli
