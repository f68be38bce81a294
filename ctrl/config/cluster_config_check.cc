// cluster_config_check.cc - check_cluster: names and keys between the lists of the cluster file.
#include <algorithm>
#include <map>
#include <set>

#include "ctrl/config/cluster_config.h"

namespace weir {
namespace {

using Names = std::set<std::string>;

constexpr const char* kUnknown = "there is no such entry";

std::string at(const std::string& list, std::size_t index) {
    return list + '[' + std::to_string(index) + ']';
}

std::string in_quotes(std::string_view text) {
    return '"' + std::string(text) + '"';
}

/// Adds a fault for each value that another entry of the list has already; empty values have other faults.
template <typename List, typename Value>
void check_unique(const std::string& list, const char* key, const List& entries, Value value,
                  Faults& faults) {
    Names seen;
    for (std::size_t i = 0; i < entries.size(); ++i)
        if (const std::string& each = entries[i].*value; !each.empty() && !seen.insert(each).second)
            faults.push_back(
                {at(list, i) + '.' + key, in_quotes(each), "each once", "another entry has it already"});
}

template <typename List>
Names names_of(const List& entries) {
    Names names;
    for (const auto& entry : entries)
        names.insert(entry.name);
    return names;
}

void check_known(const std::string& path, const std::string& value, const Names& known, const char* list,
                 Faults& faults) {
    if (!value.empty() && !known.contains(value))
        faults.push_back(
            {path, in_quotes(value), std::string("the name of an entry of \"") + list + '"', kUnknown});
}

void check_keys(const ClusterConfig& config, Faults& faults) {
    const bool has_tcp = std::ranges::any_of(
        config.listen, [](const std::string& each) { return each.starts_with("tcp://"); });
    if (!has_tcp)
        return;
    if (config.secret_key_file.empty())
        faults.push_back({"listen", "tcp without a key", "\"secret_key_file\", or only ipc:// addresses",
                          "over a network both ends authenticate: weir-ctrl --make-key FILE"});
    for (std::size_t i = 0; i < config.hosts.size(); ++i)
        if (config.hosts[i].key.empty())
            faults.push_back({at("topology.hosts", i) + ".key", "nothing",
                              "the host's public key, 40 characters of Z85",
                              "with tcp every host needs one: weir-ctrl --make-key FILE prints it"});
}

/// At an appliance that pools divide, only pools have reservations and limits; only there a latency can be
/// held.
void check_pooled_appliances(const ClusterConfig& config, Faults& faults) {
    const Names pooled = pooled_appliances(config.pools);
    for (std::size_t i = 0; i < config.appliances.size(); ++i)
        if (config.appliances[i].latency != 0 && !pooled.contains(config.appliances[i].name))
            faults.push_back(
                {at("appliances", i) + ".latency", "an appliance without pools",
                 "an appliance that \"pools\" divide",
                 "the tokens outstanding there are divided by entitlements, which only pools have"});
    for (std::size_t i = 0; i < config.tenants.size(); ++i)
        for (std::size_t j = 0; j < config.tenants[i].appliances.size(); ++j) {
            const TenantApplianceConfig& part = config.tenants[i].appliances[j];
            if (!pooled.contains(part.name) || (part.reservation_tokens == 0 && !part.limit_tokens))
                continue;
            const char* key = part.reservation_tokens != 0 ? ".reservation" : ".limit";
            faults.push_back({at("tenants", i) + '.' + at("appliances", j) + key, "a bound beside pools",
                              "none here: put it into a pool of " + in_quotes(part.name),
                              "capacity that pools divide cannot be reserved or limited beside them"});
        }
}

void check_tenant(const TenantConfig& tenant, const std::string& path, const Names& hosts,
                  const Names& appliances, Names& endpoints, Faults& faults) {
    for (std::size_t i = 0; i < tenant.vnics.size(); ++i) {
        const TenantVnicConfig& vnic = tenant.vnics[i];
        const std::string own = path + '.' + at("vnics", i);
        if (!vnic.name.empty() && !endpoints.insert(vnic.name).second)
            faults.push_back({own + ".name", in_quotes(vnic.name), "each name once in the cluster",
                              "another vNIC or appliance has it already"});
        check_known(own + ".host", vnic.host, hosts, "topology.hosts", faults);
    }
    check_unique(path + ".appliances", "name", tenant.appliances, &TenantApplianceConfig::name, faults);
    for (std::size_t i = 0; i < tenant.appliances.size(); ++i)
        check_known(path + '.' + at("appliances", i) + ".name", tenant.appliances[i].name, appliances,
                    "appliances", faults);
}

/// The vNICs of a pool of this appliance. `seen` has pairs of appliance and vNIC.
void check_pool_vnics(const PoolConfig& pool, const std::string& path, const std::string& appliance,
                      const std::map<std::string_view, const TenantConfig*>& tenants,
                      std::set<std::pair<std::string, std::string>>& seen, Faults& faults) {
    for (std::size_t i = 0; i < pool.vnics.size(); ++i) {
        const std::string& name = pool.vnics[i].name;
        const std::string own = path + '.' + at("vnics", i) + ".name";
        if (name.empty() || appliance.empty())
            continue;
        const auto tenant = tenants.find(name);
        if (tenant == tenants.end())
            faults.push_back({own, in_quotes(name), "the name of a tenant's vNIC", "there is none"});
        else if (std::ranges::find(tenant->second->appliances, appliance, &TenantApplianceConfig::name) ==
                 tenant->second->appliances.end())
            faults.push_back({own, in_quotes(name),
                              "a vNIC whose tenant has " + appliance + " under \"appliances\"",
                              "tenant " + tenant->second->name + " does not have it"});
        if (!seen.emplace(appliance, name).second)
            faults.push_back({own, in_quotes(name), "each vNIC in one pool of an appliance",
                              "it is in another pool already"});
    }
}

void check_pools(const ClusterConfig& config, const Names& appliances, Faults& faults) {
    check_pool_tree(config.pools, faults);
    std::map<std::string_view, const TenantConfig*> tenants;  // by vNIC
    for (const TenantConfig& tenant : config.tenants)
        for (const TenantVnicConfig& vnic : tenant.vnics)
            tenants.emplace(vnic.name, &tenant);
    const std::vector<std::uint32_t> tops = pool_tops(config.pools);
    std::set<std::pair<std::string, std::string>> seen;
    for (std::size_t i = 0; i < config.pools.size(); ++i) {
        const PoolConfig& pool = config.pools[i];
        const std::string path = at("pools", i);
        const std::string appliance = tops[i] == kNoPool ? "" : config.pools[tops[i]].appliance;
        if (appliances.contains(pool.name))
            faults.push_back({path + ".name", in_quotes(pool.name), "a name that no appliance has",
                              "the root of an appliance's pools has the appliance's name"});
        if (!pool.appliance.empty() && !appliances.contains(pool.appliance))
            faults.push_back({path + ".appliance", in_quotes(pool.appliance),
                              "the name of an entry of \"appliances\"", kUnknown});
        else if (!pool.appliance.empty() && !appliance.empty() && pool.appliance != appliance)
            faults.push_back({path + ".appliance", in_quotes(pool.appliance),
                              in_quotes(appliance) + ", its parent's, or nothing",
                              "a pool divides a part of its parent"});
        check_pool_vnics(pool, path, appliance, tenants, seen, faults);
    }
}

}  // namespace

void check_cluster(const ClusterConfig& config, Faults& faults) {
    check_unique("topology.racks", "name", config.racks, &RackConfig::name, faults);
    check_unique("topology.hosts", "name", config.hosts, &HostConfig::name, faults);
    check_unique("topology.hosts", "key", config.hosts, &HostConfig::key, faults);
    check_unique("appliances", "name", config.appliances, &ClusterApplianceConfig::name, faults);
    check_unique("tenants", "name", config.tenants, &TenantConfig::name, faults);
    check_keys(config, faults);
    const Names racks = names_of(config.racks);
    const Names hosts = names_of(config.hosts);
    const Names appliances = names_of(config.appliances);
    Names endpoints = appliances;  // flows name their ends: a vNIC cannot have an appliance's name
    for (std::size_t i = 0; i < config.hosts.size(); ++i)
        check_known(at("topology.hosts", i) + ".rack", config.hosts[i].rack, racks, "topology.racks", faults);
    for (std::size_t i = 0; i < config.appliances.size(); ++i)
        check_known(at("appliances", i) + ".host", config.appliances[i].host, hosts, "topology.hosts",
                    faults);
    for (std::size_t i = 0; i < config.tenants.size(); ++i)
        check_tenant(config.tenants[i], at("tenants", i), hosts, appliances, endpoints, faults);
    check_pools(config, appliances, faults);
    check_pooled_appliances(config, faults);
}

}  // namespace weir
