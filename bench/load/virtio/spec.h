// spec.h - the generator's input: ports and runs of streams, read from JSON (bench/README.md lists the keys).
// Units: in the names; rates count frame bits without FCS and preamble. Threads: main.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace weir::load {

inline constexpr std::size_t kPortsMax = 32;
inline constexpr std::size_t kStreamsMax = 32;
inline constexpr std::uint16_t kBurstMax = 64;

using Mac = std::array<std::uint8_t, 6>;

/// One VM's virtio-user port.
struct PortSpec {
    std::string path;  ///< vhost-user socket
    Mac mac{};
    bool server = true;   ///< true: the port listens and the switch connects
    unsigned queues = 1;  ///< queue pairs; streams take them in turn, burst by burst
    std::string devargs;  ///< further ones of virtio-user, e.g. "packed_vq=1,mrg_rxbuf=0,in_order=1"
};

/// Frames from one port to the MAC of another, or to all.
struct StreamSpec {
    std::string name;
    std::size_t from = 0;  ///< port indices
    std::size_t to = 1;
    std::optional<Mac> dst_mac;  ///< instead of that of `to`, which does not count then
    std::uint16_t size = 64;     ///< frame bytes without FCS, 64..9000
    /// IPv6 extension headers that fill the frame up to UDP, 0..64; 0 = IPv4
    std::uint16_t extensions = 0;
    std::uint32_t src_ip = 0x0A00'0001;  ///< first IPv4 source; the end of the IPv6 source 2001:db8::
    std::uint32_t src_ips = 1;           ///< consecutive IPv4 sources
    std::optional<double> pps;           ///< absent = flood: as many as the ring takes
    std::uint16_t burst = 32;            ///< packets offered to the ring at once, 1..kBurstMax
    bool whole_bursts = false;           ///< a stream with pps waits until a whole burst is due
    std::uint32_t src_macs = 1;          ///< consecutive source MACs, starting at the port's
    std::uint32_t dst_macs = 1;          ///< consecutive destination MACs
    std::uint32_t flows = 1;             ///< UDP source ports in turn: distinct 5-tuples, 1..60000
    bool random = false;                 ///< MACs, sources and ports in random order, not in turn
    std::uint16_t vlan = 0;              ///< 0 = untagged
    bool stamp = false;  ///< write the TSC into every frame (one-way or round-trip time at an `inspect` port)
};

/// One measured stretch of traffic.
struct RunSpec {
    std::string name;
    double seconds = 1.0;
    double warmup = 0.2;  ///< seconds of the same traffic before counting
    double drain = 0.05;  ///< seconds of receiving after the last frame was sent
    double series = 0;    ///< seconds per point of the received-packets series; 0 = none
    /// The run ends when this port has received a frame.
    std::optional<std::size_t> stop_on_rx;
    std::vector<std::size_t> inspect;  ///< ports that read the stamp of every frame that they receive
    std::vector<std::size_t> echo;     ///< ports that send every frame back to its sender
    std::vector<std::size_t> unread;   ///< ports that take nothing from their ring
    /// A slow wire: port -> bits/s that it takes from its ring at most, with 24 bytes of preamble, FCS and
    /// gap a frame.
    std::map<std::size_t, double> wire_bps;
    std::vector<StreamSpec> streams;
};

struct LoadSpec {
    std::vector<std::string> eal;
    std::vector<PortSpec> ports;
    std::vector<RunSpec> runs;  ///< empty: runs come from standard input, one JSON object a line
};

/// @throws std::invalid_argument or nlohmann::json::exception, whose message names key, value and range
[[nodiscard]] LoadSpec parse_load(const nlohmann::json& object);
[[nodiscard]] RunSpec parse_run(const nlohmann::json& object, std::size_t ports);

}  // namespace weir::load
