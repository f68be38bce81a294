// renumbering.h - where the hosts, tenants and appliances of one configuration are in another.
// Source: docs/design.md 10. Units: indices. Threads: any (read-only once built).
//
// An index is a position in one configuration. State that is kept by index, and lasts over a change, is moved
// with these. Example: hosts h1, h2, h3 become h0, h1, h3. Then hosts[0] is 1, hosts[1] kNowhere and
// hosts[2] 2.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "ctrl/config/cluster_config.h"

namespace weir {

struct Renumbering {
    Renumbering(const ClusterConfig& before, const ClusterConfig& now);

    // By index in the configuration before; kNowhere: it is gone. The same name is the same thing.
    std::vector<std::uint32_t> hosts;
    std::vector<std::uint32_t> tenants;
    std::vector<std::uint32_t> appliances;
};

/// Moves a list by index to the indices of another configuration. New places have the default value.
template <typename T>
[[nodiscard]] std::vector<T> renumbered(std::vector<T>&& before, const std::vector<std::uint32_t>& places,
                                        std::size_t size) {
    std::vector<T> now(size);
    for (std::size_t i = 0; i < before.size(); ++i)
        if (places[i] < size)
            now[places[i]] = std::move(before[i]);
    return now;
}

}  // namespace weir
