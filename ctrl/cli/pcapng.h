// pcapng.h - the blocks of a capture file.
// Source: pcapng. Units: ns of Unix time; bytes. Threads: any (pure functions).
//
// A file is a section, the interface that frames refer to, the frames, and at the end the interface's
// statistics. DPDK's rte_pcapng of 22.11 has no comments of frames, and its interfaces are ethdevs, which
// vNICs are not.
//
// Example: a frame of 60 bytes without a comment takes 32 + 60 + 4 (flags) bytes and more, each block a
// multiple of 4 bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::cli {

struct PcapngFrame {
    std::uint64_t unix_ns = 0;
    std::uint32_t length = 0;  ///< on the wire
    std::string bytes{};       ///< the first ones of the frame
    bool inbound = true;       ///< into the switch
    std::string comment{};     ///< empty: none
};

/// Begins a file. @param application the program that writes
[[nodiscard]] std::string pcapng_section(std::string_view application);
/// An Ethernet interface with times in ns. The first has number 0, the only one that frames refer to.
/// @param snap bytes that are kept of each frame  @param filter an expression; empty: none
[[nodiscard]] std::string pcapng_interface(std::string_view name, std::uint32_t snap,
                                           std::string_view filter);
[[nodiscard]] std::string pcapng_frame(const PcapngFrame& frame);
/// Ends a file. @param received frames that fitted  @param missed of these, not copied
[[nodiscard]] std::string pcapng_statistics(std::uint64_t unix_ns, std::uint64_t received,
                                            std::uint64_t missed);

}  // namespace weir::cli
