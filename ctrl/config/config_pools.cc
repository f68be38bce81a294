// config_pools.cc - the pools of the cluster file, and what holds between them and the other lists.
#include <map>
#include <set>

#include "common/config/field_kinds.h"
#include "ctrl/config/config_sections.h"
#include "ctrl/pools/pool_layout.h"

namespace weir {
namespace {

constexpr std::size_t kPoolsMax = 10'000;
constexpr std::size_t kPoolVnicsMax = 20'000;
constexpr Range kSharesRange{1, 10'000};

/// What pools and their vNICs have alike; the reservation of a pool may be absent.
void read_bounds(ObjectReader& reader, std::uint64_t reservation, std::optional<std::uint64_t>& limit,
                 std::uint32_t& shares) {
    reader.read_limit("limit", Quantity::kTokenRate, limit, kTokenRange);
    reader.read_integer("shares", shares, kSharesRange);
    if (limit && *limit < reservation)
        reader.fault("limit",
                     "at least the reservation, " + format_quantity(Quantity::kTokenRate, reservation),
                     "a limit below the reservation breaks the promise");
}

void read_pool_vnic(ObjectReader& reader, PoolConfig& pool) {
    PoolVnicConfig& vnic = pool.vnics.emplace_back();
    if (require(reader, "name", "the name of a tenant's vNIC"))
        read_name(reader, "name", vnic.name);
    reader.read_quantity("reservation", Quantity::kTokenRate, vnic.reservation_tokens, {0, kTokenRateMax});
    read_bounds(reader, vnic.reservation_tokens, vnic.limit_tokens, vnic.shares);
}

}  // namespace

void read_pools(ObjectReader& root, std::vector<PoolConfig>& out, Faults& faults) {
    read_objects(root, "pools", kPoolsMax, faults, [&](ObjectReader& reader, const std::string&) {
        PoolConfig& pool = out.emplace_back();
        if (require(reader, "name", "a name, such as \"sales\""))
            read_name(reader, "name", pool.name);
        read_name(reader, "parent", pool.parent);
        read_name(reader, "appliance", pool.appliance);
        if (pool.parent.empty() && pool.appliance.empty())
            reader.fault("appliance", "the name of an entry of \"appliances\", or a \"parent\"",
                         "a pool divides an appliance, or a part of another pool");
        std::uint64_t reservation = 0;
        if (reader.read_quantity("reservation", Quantity::kTokenRate, reservation, {0, kTokenRateMax}))
            pool.reservation_tokens = reservation;
        read_bounds(reader, reservation, pool.limit_tokens, pool.shares);
        read_objects(reader, "vnics", kPoolVnicsMax, faults,
                     [&](ObjectReader& vnic, const std::string&) { read_pool_vnic(vnic, pool); });
    });
}

void check_pools(const ClusterConfig& config, Faults& faults) {
    check_pool_tree(config.pools, faults);
    std::map<std::string_view, const ClusterApplianceConfig*> appliances;
    for (const ClusterApplianceConfig& each : config.appliances)
        appliances.emplace(each.name, &each);
    std::map<std::string_view, const TenantConfig*> owners;
    for (const TenantConfig& tenant : config.tenants)
        for (const TenantVnicConfig& vnic : tenant.vnics)
            owners.emplace(vnic.name, &tenant);
    const std::vector<std::uint32_t> tops = pool_tops(config.pools);
    std::set<std::pair<std::string_view, std::string_view>> seen;  // appliance, vNIC
    for (std::size_t i = 0; i < config.pools.size(); ++i) {
        const PoolConfig& pool = config.pools[i];
        const std::string path = "pools[" + std::to_string(i) + ']';
        const std::string_view appliance =
            tops[i] == kNoPool ? std::string_view() : config.pools[tops[i]].appliance;
        if (appliances.contains(pool.name))
            faults.push_back({path + ".name", '"' + pool.name + '"', "a name that no appliance has",
                              "the pool of all that an appliance has is called so"});
        if (!pool.appliance.empty() && !appliances.contains(pool.appliance))
            faults.push_back({path + ".appliance", '"' + pool.appliance + '"',
                              "the name of an entry of \"appliances\"", "there is no such entry"});
        else if (!pool.appliance.empty() && !appliance.empty() && pool.appliance != appliance)
            faults.push_back({path + ".appliance", '"' + pool.appliance + '"',
                              '"' + std::string(appliance) + "\", its parent's, or nothing",
                              "a pool divides what its parent has"});
        for (std::size_t j = 0; j < pool.vnics.size(); ++j) {
            const std::string& name = pool.vnics[j].name;
            const std::string own = path + ".vnics[" + std::to_string(j) + "].name";
            const auto owner = owners.find(name);
            const auto has_it = [&](const TenantApplianceConfig& part) { return part.name == appliance; };
            if (name.empty() || appliance.empty())
                continue;
            if (owner == owners.end())
                faults.push_back({own, '"' + name + '"', "the name of a tenant's vNIC", "there is none"});
            else if (std::none_of(owner->second->appliances.begin(), owner->second->appliances.end(), has_it))
                faults.push_back(
                    {own, '"' + name + '"',
                     "a vNIC whose tenant has " + std::string(appliance) + " under \"appliances\"",
                     "tenant " + owner->second->name + " has it not"});
            if (!seen.emplace(appliance, name).second)
                faults.push_back({own, '"' + name + '"', "each vNIC in one pool of an appliance",
                                  "it is in another already"});
        }
    }
}

}  // namespace weir
