// tunnel_routes.h - the tunnel that a frame takes, by the IP address it is for.
// Source: RFC 826; RFC 4861; docs/algorithms.md 11.1. Units: bytes. Threads: owning worker.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "common/ip_address.h"

namespace weir {

using TunnelId = std::uint8_t;
inline constexpr TunnelId kNoTunnel = 0xFF;
inline constexpr TunnelId kAllTunnels = 0xFE;  ///< broadcast, multicast, or a link-local address

/// IP address that a frame is for, or from.
struct FrameEnd {
    enum class Kind : std::uint8_t { kNone, kAll, kOne };
    Kind kind = Kind::kNone;
    bool v6 = false;
    std::uint64_t high = 0;  ///< the address's first 8 bytes, the first highest; IPv4: the first 4
    std::uint64_t low = 0;
};

/// Destination of the IP packet in the frame, tagged or not; of ARP requests and neighbor solicitations the
/// address that they ask for.
[[nodiscard]] FrameEnd read_destination(std::span<const std::uint8_t> frame);
/// Source of the same; kAll if it has none that is valid beyond the link.
[[nodiscard]] FrameEnd read_source(std::span<const std::uint8_t> frame);

class TunnelRoutes {
  public:
    /// The longest prefix wins. Before the first find().
    void add(const IpNetwork& network, TunnelId tunnel);
    [[nodiscard]] TunnelId find(const FrameEnd& end);

  private:
    struct Route {
        std::uint64_t high;
        std::uint64_t low;
        std::uint64_t high_mask;
        std::uint64_t low_mask;
        unsigned bits;
        bool v6;
        TunnelId tunnel;
    };
    struct Cached {
        std::uint64_t high = 0;
        std::uint64_t low = 0;
        bool used = false;
        bool v6 = false;
        TunnelId tunnel = kNoTunnel;
    };
    static constexpr unsigned kCacheBits = 8;

    std::vector<Route> routes_;  // longest prefix first
    std::array<Cached, 1U << kCacheBits> cache_{};
};

}  // namespace weir
