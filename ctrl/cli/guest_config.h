// guest_config.h - what QEMU or libvirt must be told to plug a guest into a vNIC.
// Source: QEMU's and libvirt's manuals; vectors = 2 N + 2, queue sizes of 1024, shared memory (peers 3.8).
// Pure: a vNIC as JSON (vnic.show's data, or the configuration's) in, text out. Threads: any.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace weir::cli {

struct GuestOptions {
    std::string memory = "1G";  ///< of the guest, as QEMU takes it
    bool tcg = false;  ///< software emulation: no MSI-X vectors (QEMU 7.2 crashes with them), no boot ROM
};

/// QEMU's arguments, one option with its value per element, quoted for a shell.
/// @throws Failure (2) when the vNIC is a device and not a socket
[[nodiscard]] std::vector<std::string> qemu_arguments(const nlohmann::json& vnic,
                                                      const GuestOptions& options);

/// The <interface> element, and the <memoryBacking> that it needs.
/// @throws Failure (2) when the vNIC is a device and not a socket
[[nodiscard]] std::string libvirt_xml(const nlohmann::json& vnic);

}  // namespace weir::cli
