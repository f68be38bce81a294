// adoption_changes.h - random configurations of a small cluster, and random changes of them.
// Units: in the field names. Threads: tests only.
#pragma once

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include "common/wire/records.h"
#include "ctrl/placement/cluster_plan.h"
#include "test/support/random.h"

namespace weir::adoption {

using testing::Random32;

inline constexpr std::uint32_t kHosts = 4;
inline constexpr std::uint32_t kTenants = 3;
inline constexpr std::uint32_t kVnics = 4;  // of a tenant
inline const std::vector<std::string> kAppliances{"cache", "disk", "tape"};

inline std::uint64_t draw(Random32& random, std::uint64_t from, std::uint64_t to) {
    return from + random() % (to - from + 1);
}

inline bool one_in(Random32& random, unsigned n) {
    return random() % n == 0;
}

inline std::string host_name(std::uint32_t host) {
    return "h" + std::to_string(host + 1);
}

inline std::string tenant_name(std::uint32_t tenant) {
    return std::string(1, static_cast<char>('A' + tenant));
}

/// A tenant begins with vNICs of its own name; later ones may move to it from other tenants.
inline std::string vnic_name(std::uint32_t tenant, std::uint32_t vnic) {
    return std::string(1, static_cast<char>('a' + tenant)) + std::to_string(vnic + 1);
}

/// All that there may be.
inline std::vector<std::string> vnic_names() {
    std::vector<std::string> names;
    for (std::uint32_t tenant = 0; tenant < kTenants; ++tenant)
        for (std::uint32_t vnic = 0; vnic < kVnics; ++vnic)
            names.push_back(vnic_name(tenant, vnic));
    return names;
}

/// Each vNIC that any configuration may have is on one host, whether the present one has it or not.
inline std::uint32_t home_of(const std::string& vnic) {
    return static_cast<std::uint32_t>(vnic[0] - 'a' + vnic[1] - '1') % kHosts;
}

inline std::string mac_of(const std::string& vnic) {
    return "52:54:00:00:0" + std::string(1, vnic[0]) + ":0" + vnic.substr(1);
}

inline TenantVnicConfig random_vnic(Random32& random, const std::string& name, const ClusterConfig& config) {
    TenantVnicConfig made{.name = name,
                          .reservation_bps = one_in(random, 2) ? 0 : draw(random, 1, 40) * 1'000'000};
    const std::string home = host_name(home_of(name));
    if (one_in(random, 2) && std::ranges::find(config.hosts, home, &HostConfig::name) != config.hosts.end())
        made.host = home;
    if (one_in(random, 4))
        made.limit_bps = made.reservation_bps + draw(random, 1, 200) * 1'000'000;
    if (one_in(random, 3))
        made.weight = static_cast<std::uint32_t>(draw(random, 50, 200));
    return made;
}

inline TenantApplianceConfig random_part(Random32& random, const std::string& appliance) {
    TenantApplianceConfig made{.name = appliance, .reservation_tokens = draw(random, 0, 200)};
    if (one_in(random, 3))
        made.limit_tokens = made.reservation_tokens + draw(random, 1, 500);
    return made;
}

inline TenantConfig random_tenant(Random32& random, std::uint32_t tenant, const ClusterConfig& config) {
    TenantConfig made;
    made.name = tenant_name(tenant);
    for (std::uint32_t vnic = 0; vnic < kVnics; ++vnic)
        if (!one_in(random, 3))
            made.vnics.push_back(random_vnic(random, vnic_name(tenant, vnic), config));
    for (const ClusterApplianceConfig& appliance : config.appliances)
        if (one_in(random, 2))
            made.appliances.push_back(random_part(random, appliance.name));
    return made;
}

/// Adds the element of this name, or replaces or removes it, at a place in the order of names.
template <typename List, typename Make>
void change_one(Random32& random, List& list, const std::string& name, Make make) {
    const auto at = std::ranges::lower_bound(list, name, {}, &List::value_type::name);
    const bool is_there = at != list.end() && at->name == name;
    if (is_there && one_in(random, 3))
        list.erase(at);
    else if (is_there)
        *at = make();
    else
        list.insert(at, make());
}

/// A vNIC of another tenant leaves it, and one of its name comes to this tenant.
inline void move_name(Random32& random, ClusterConfig& config, TenantConfig& to) {
    TenantConfig& from = config.tenants[random() % config.tenants.size()];
    if (&from == &to || from.vnics.empty())
        return;
    const auto leaving = from.vnics.begin() + static_cast<std::ptrdiff_t>(random() % from.vnics.size());
    const TenantVnicConfig coming = random_vnic(random, leaving->name, config);
    from.vnics.erase(leaving);
    to.vnics.insert(std::ranges::lower_bound(to.vnics, coming.name, {}, &TenantVnicConfig::name), coming);
}

/// One change. The result may be no valid configuration.
inline ClusterConfig changed(Random32& random, ClusterConfig config) {
    const auto tenant = static_cast<std::uint32_t>(random() % kTenants);
    const auto at = std::ranges::find(config.tenants, tenant_name(tenant), &TenantConfig::name);
    const std::string host = host_name(static_cast<std::uint32_t>(random() % kHosts));
    const std::string appliance = kAppliances[random() % kAppliances.size()];
    const auto vnic = static_cast<std::uint32_t>(random() % kVnics);
    switch (at == config.tenants.end() ? random() % 3 : random() % 9) {
        case 0:
            change_one(random, config.tenants, tenant_name(tenant),
                       [&] { return random_tenant(random, tenant, config); });
            break;
        case 1:
            change_one(random, config.hosts, host, [&] {
                return HostConfig{.name = host, .uplink_bps = draw(random, 4, 10) * 100'000'000};
            });
            break;
        case 2:
            change_one(random, config.appliances, appliance, [&] {
                const std::uint64_t capacity = draw(random, 8, 20) * 100;
                return ClusterApplianceConfig{
                    .name = appliance,
                    .link_bps = one_in(random, 2) ? 0 : draw(random, 1, 10) * 100'000'000,
                    .capacity_min = capacity,
                    .capacity_max = capacity};
            });
            break;
        case 3:
            change_one(random, at->appliances, appliance, [&] { return random_part(random, appliance); });
            break;
        case 4:
            at->weight = static_cast<std::uint32_t>(draw(random, 50, 200));
            at->sharing_rule = one_in(random, 3) ? alloc::SharingRule::kFixed : alloc::SharingRule::kMinimum;
            break;
        case 5:
            move_name(random, config, *at);
            break;
        default:
            change_one(random, at->vnics, vnic_name(tenant, vnic),
                       [&] { return random_vnic(random, vnic_name(tenant, vnic), config); });
            break;
    }
    return config;
}

/// Whether the file's parser and the check of placement accept it.
inline bool is_valid(const ClusterConfig& config) {
    const auto has = [](const auto& list, const std::string& name) {
        return std::ranges::any_of(list, [&](const auto& each) { return each.name == name; });
    };
    std::set<std::string_view> names;
    for (const TenantConfig& tenant : config.tenants) {
        for (const TenantVnicConfig& vnic : tenant.vnics)
            if (!names.insert(vnic.name).second || (!vnic.host.empty() && !has(config.hosts, vnic.host)))
                return false;
        for (const TenantApplianceConfig& part : tenant.appliances)
            if (!has(config.appliances, part.name))
                return false;
        if (tenant.vnics.empty())
            return false;
    }
    return !config.hosts.empty() && !config.tenants.empty() && placement_faults(config).empty();
}

inline ClusterConfig first_config(Random32& random) {
    ClusterConfig config;
    config.headroom = 0.05;
    for (std::uint32_t host = 0; host < kHosts; ++host)
        config.hosts.push_back({.name = host_name(host), .uplink_bps = 1'000'000'000});
    for (const std::string& appliance : kAppliances)
        config.appliances.push_back({.name = appliance, .capacity_min = 1'000, .capacity_max = 1'000});
    do {
        config.tenants.clear();
        for (std::uint32_t tenant = 0; tenant < kTenants; ++tenant)
            config.tenants.push_back(random_tenant(random, tenant, config));
    } while (!is_valid(config));
    return config;
}

struct Ask {
    std::string vnic;
    std::string destination;  ///< a vNIC, or an appliance
    std::array<float, wire::kParts> tokens{};
};

/// The demands of all vNICs that a configuration may have. Those between vNICs that are of different tenants
/// at present have no effect.
inline std::vector<Ask> draw_asks(Random32& random) {
    const std::vector<std::string> names = vnic_names();
    std::vector<Ask> asks;
    for (const std::string& name : names) {
        for (const std::string& peer : names)
            if (home_of(peer) != home_of(name) && one_in(random, peer[0] == name[0] ? 2 : 4))
                asks.push_back({name, peer, {static_cast<float>(draw(random, 1, 60'000'000)), 0, 0}});
        for (const std::string& appliance : kAppliances)
            if (one_in(random, 2)) {
                const auto tokens = static_cast<float>(draw(random, 200, 600));
                asks.push_back({name, appliance, {tokens * 100, tokens, tokens * 400}});
            }
    }
    return asks;
}

}  // namespace weir::adoption
