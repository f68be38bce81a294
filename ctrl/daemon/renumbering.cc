// renumbering.cc - places by name.
#include "ctrl/daemon/renumbering.h"

#include <string_view>
#include <unordered_map>

#include "ctrl/daemon/cluster.h"

namespace weir {
namespace {

template <typename List>
std::vector<std::uint32_t> places(const List& before, const List& now) {
    std::unordered_map<std::string_view, std::uint32_t> by_name;
    for (const auto& each : now)
        by_name.emplace(each.name, static_cast<std::uint32_t>(by_name.size()));
    std::vector<std::uint32_t> out;
    out.reserve(before.size());
    for (const auto& each : before) {
        const auto found = by_name.find(each.name);
        out.push_back(found == by_name.end() ? kNowhere : found->second);
    }
    return out;
}

}  // namespace

Renumbering::Renumbering(const ClusterConfig& before, const ClusterConfig& now)
    : hosts(places(before.hosts, now.hosts)),
      tenants(places(before.tenants, now.tenants)),
      appliances(places(before.appliances, now.appliances)) {}

}  // namespace weir
