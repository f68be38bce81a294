// ip_address.h - IPv4 and IPv6 addresses, and networks in CIDR notation, parsed strictly.
// Source: RFC 4291 2.2; RFC 4632; POSIX inet_pton(). Threads: any (values); parsing never on a poll thread.
//
// Texts are accepted as by inet_pton(): all three forms of RFC 4291 2.2, and dotted decimal without leading
// zeros.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

struct IpAddress {
    std::array<std::uint8_t, 16> bytes{};  ///< as in a packet; IPv4 in the first four
    bool v6 = false;

    /// @return nothing when the text has a zone, a port, a prefix length or a blank
    [[nodiscard]] static std::optional<IpAddress> parse(std::string_view text);
    /// A host on a network can have this address: it is not unspecified, loopback, multicast or broadcast,
    /// nor IPv4 in IPv6 (::ffff:a.b.c.d, which is never on a wire).
    [[nodiscard]] bool is_host() const;
    /// As inet_ntop() writes it: parse() reads it back.
    [[nodiscard]] std::string to_string() const;
    bool operator==(const IpAddress&) const = default;
};

struct IpNetwork {
    IpAddress base;
    unsigned bits = 0;  ///< of the prefix: 0..32, or 0..128

    /// "10.1.2.0/24"; an address alone is a network of this address. @return nothing when bits behind the
    /// prefix are not zero
    [[nodiscard]] static std::optional<IpNetwork> parse(std::string_view text);
    [[nodiscard]] bool contains(const IpAddress& address) const;
    [[nodiscard]] bool overlaps(const IpNetwork& other) const {
        return contains(other.base) || other.contains(base);
    }
    [[nodiscard]] IpAddress last() const;
    /// An address alone without "/32" or "/128".
    [[nodiscard]] std::string to_string() const;
    bool operator==(const IpNetwork&) const = default;
};

}  // namespace weir
