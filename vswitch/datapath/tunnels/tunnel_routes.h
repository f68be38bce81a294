// tunnel_routes.h - which tunnel a frame takes: by the address that it is for, and from whom it may come.
// Source: RFC 826 (ARP), 4861 (neighbour discovery). Pure: bytes in. Units: bytes. Threads: owning worker.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "common/ip_network.h"

namespace weir {

using TunnelId = std::uint8_t;
inline constexpr TunnelId kNoTunnel = 0xFF;
inline constexpr TunnelId kAllTunnels = 0xFE;  ///< what is for everybody, or for a link-local address

/// Whom a frame is for, or from.
struct FrameEnd {
    enum class Kind : std::uint8_t { kNobody, kEverybody, kOne };
    Kind kind = Kind::kNobody;
    bool v6 = false;
    std::uint64_t high = 0;  ///< the address's first 8 bytes, the first highest; IPv4: the first 4
    std::uint64_t low = 0;
};

/// The destination of the IP packet in the frame, tagged or not; of ARP and neighbour solicitations whom they
/// look for.
[[nodiscard]] FrameEnd read_destination(std::span<const std::uint8_t> frame);
/// Its source; kEverybody where it says none that means anything beyond the link.
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
