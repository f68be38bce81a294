// ip_address.h - an IPv4 or IPv6 address from its text, strictly.
// Source: RFC 4291 2.2 (all three forms), dotted decimal without leading zeros; as inet_pton() takes them.
// Threads: any (values); parsing never on a poll thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weir {

struct IpAddress {
    std::array<std::uint8_t, 16> bytes{};  ///< as in a packet; IPv4 in the first four
    bool v6 = false;

    /// No zone, no port, no prefix length, no space.
    [[nodiscard]] static std::optional<IpAddress> parse(std::string_view text);
    /// What one host on a network can have: not unspecified, loopback, multicast, broadcast, nor IPv4 in IPv6
    /// (::ffff:a.b.c.d, which never is on a wire).
    [[nodiscard]] bool host() const;
    bool operator==(const IpAddress&) const = default;
};

}  // namespace weir
