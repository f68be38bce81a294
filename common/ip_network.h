// ip_network.h - a network in CIDR notation, and whether an address is in it.
// Source: RFC 4632, 4291 2.3. Units: bits. Threads: any (values); parsing never on a poll thread.
#pragma once

#include <optional>
#include <string_view>

#include "common/ip_address.h"

namespace weir {

struct IpNetwork {
    IpAddress base;
    unsigned bits = 0;

    /// "10.1.2.0/24"; an address alone is itself. Bits behind the prefix are zero, or it is none.
    [[nodiscard]] static std::optional<IpNetwork> parse(std::string_view text);
    [[nodiscard]] bool contains(const IpAddress& address) const;
    bool operator==(const IpNetwork&) const = default;
};

}  // namespace weir
