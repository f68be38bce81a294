// cluster_config.cc - the parser of the cluster file, one function for each object in it.
#include "ctrl/config/cluster_config.h"

#include <algorithm>
#include <array>

#include "common/config/config_text.h"
#include "common/config/field_kinds.h"

namespace weir {
namespace {

using alloc::SharingRule;
using nlohmann::json;

constexpr std::size_t kListenMax = 8;
constexpr std::size_t kRacksMax = 2'000;
constexpr std::size_t kHostsMax = 10'000;
constexpr std::size_t kAppliancesMax = 1'000;
constexpr std::size_t kTenantsMax = 10'000;
constexpr std::size_t kTenantVnicsMax = 20'000;
constexpr std::size_t kPoolsMax = 10'000;
constexpr std::size_t kPoolVnicsMax = 20'000;
constexpr double kPriceMax = 1e9;
constexpr Range kLinkRange{1'000'000, kLinkRateMax};
constexpr Range kWeightRange{1, 10'000};
constexpr Range kSharesRange{1, 10'000};
constexpr Range kReservationRange{0, kTokenRateMax};
constexpr const char* kLimitBelow = "a limit below the reservation would break the guarantee";

constexpr std::array kWeights{Word<GlobalWeights>{"guarantees", GlobalWeights::kGuarantees},
                              Word<GlobalWeights>{"weights", GlobalWeights::kWeights},
                              Word<GlobalWeights>{"equal", GlobalWeights::kEqual}};
constexpr std::array kSharingRules{Word<SharingRule>{"minimum", SharingRule::kMinimum},
                                   Word<SharingRule>{"fixed", SharingRule::kFixed}};

void read_listen(ObjectReader& reader, std::vector<std::string>& out) {
    constexpr const char* kAllowed =
        "a list of 1 to 8 addresses, such as [\"tcp://10.0.0.1:5555\"] or [\"ipc:///run/weir/ctrl.ipc\"]";
    const json* list = reader.take("listen");
    if (list == nullptr)
        return;
    if (!list->is_array() || list->empty() || list->size() > kListenMax) {
        reader.fault("listen", kAllowed, "not a list of that length");
        return;
    }
    std::vector<std::string> addresses;
    for (const json& entry : *list) {
        if (!entry.is_string() || !is_endpoint(entry.get_ref<const std::string&>())) {
            reader.fault("listen", kAllowed, show_value(entry) + " is no address to listen on");
            return;
        }
        addresses.push_back(entry.get<std::string>());
    }
    out = std::move(addresses);
}

void read_head(ObjectReader& reader, ClusterConfig& config) {
    std::string schema;  // for editors; the parser is the authority
    reader.read_text("$schema", schema);
    read_name(reader, "name", config.name);
    reader.read_quantity("interval", Quantity::kDuration, config.interval, {100'000'000, 60 * kNanosPerSec});
    read_listen(reader, config.listen);
    read_file_path(reader, "secret_key_file", config.secret_key_file);
    read_socket_path(reader, "control_socket", config.control_socket);
    read_file_path(reader, "store", config.store);
    read_part(reader, "headroom", config.headroom, {0, 500'000});
    read_part(reader, "resolve_change", config.resolve_change, {10'000, 1'000'000});
    reader.read_flag("overcommit", config.overcommit);
    read_part(reader, "overcommit_utilisation", config.overcommit_utilisation, {10'000, 1'000'000});
    read_part(reader, "overcommit_failure_max", config.overcommit_failure_max, {0, 1'000'000});
}

void read_global(ObjectReader& root, ClusterConfig& config, Faults& faults) {
    const json* object = root.take("global");
    if (object == nullptr)
        return;
    ObjectReader reader(*object, "global", faults);
    reader.read_entry<alloc::MechanismEntry>("mechanism", config.global, alloc::kMechanisms);
    reader.read_word<GlobalWeights>("weights", config.global_weights, kWeights);
    reader.finish();
}

/// Prices count only when all of them are valid: a missing price must not become 0.
void read_prices(ObjectReader& root, ClusterConfig& config, Faults& faults) {
    const json* object = root.take("prices");
    if (object == nullptr)
        return;
    ObjectReader reader(*object, "prices", faults);
    const std::size_t before = faults.size();
    billing::Prices prices{.p0 = 0, .beta = 0.5, .link = 0};
    const bool has_p0 = require(reader, "p0", "a number: the price of 1 Mbit/s for a second");
    const json* p0 = reader.take("p0");
    if (has_p0 && p0 != nullptr) {
        prices.p0 = p0->is_number() ? p0->get<double>() : -1;
        if (!(prices.p0 >= 0 && prices.p0 <= kPriceMax))
            reader.fault("p0", "a number from 0 to 1000000000", "this is no price");
    }
    read_part(reader, "beta", prices.beta, {0, 1'000'000});
    std::uint64_t link_bps = 0;
    require(reader, "link", "a rate, such as \"10Gbit\": that of a host's uplink");
    reader.read_quantity("link", Quantity::kBitRate, link_bps, kLinkRange);
    prices.link = static_cast<double>(link_bps) / 1e6;
    reader.read_quantity("period", Quantity::kDuration, config.billing_period,
                         {kBillingPeriod, kBillingPeriodMax});
    reader.finish();
    if (faults.size() == before && object->is_object())
        config.prices = prices;
}

void read_needed_name(ObjectReader& reader, const char* allowed, std::string& out) {
    if (require(reader, "name", allowed))
        read_name(reader, "name", out);
}

void read_host(ObjectReader& reader, ClusterConfig& config) {
    HostConfig host;
    read_needed_name(reader, "the host's name, as in its switch's file", host.name);
    reader.read_quantity("uplink", Quantity::kBitRate, host.uplink_bps, kLinkRange);
    read_name(reader, "rack", host.rack);
    read_curve_key(reader, "key", host.key);
    reader.read_integer("vms_max", host.vms_max, {1, 10'000});
    config.hosts.push_back(std::move(host));
}

void read_topology(ObjectReader& root, ClusterConfig& config, Faults& faults) {
    const json* object = root.take("topology");
    if (object == nullptr)
        return;
    ObjectReader reader(*object, "topology", faults);
    read_objects(reader, "racks", kRacksMax, faults, [&](ObjectReader& entry, const std::string&) {
        RackConfig rack;
        read_needed_name(entry, "a name, such as \"r1\"", rack.name);
        if (require(entry, "uplink", "a rate, such as \"40Gbit\""))
            entry.read_quantity("uplink", Quantity::kBitRate, rack.uplink_bps,
                                {1'000'000, 100 * kLinkRateMax});
        config.racks.push_back(std::move(rack));
    });
    read_objects(reader, "hosts", kHostsMax, faults,
                 [&](ObjectReader& entry, const std::string&) { read_host(entry, config); });
    reader.finish();
}

void read_appliance(ObjectReader& reader, ClusterConfig& config) {
    ClusterApplianceConfig appliance;
    read_needed_name(reader, "the appliance's name, as in the switches' files", appliance.name);
    read_name(reader, "host", appliance.host);
    reader.read_quantity("link", Quantity::kBitRate, appliance.link_bps, kLinkRange);
    for (const auto& [key, out] : {std::pair{"capacity_min", &appliance.capacity_min},
                                   std::pair{"capacity_max", &appliance.capacity_max}})
        if (require(reader, key, "tokens per second, such as \"5ktokens\""))
            reader.read_quantity(key, Quantity::kTokenRate, *out, kTokenRange);
    reader.read_quantity("latency", Quantity::kDuration, appliance.latency, {10'000, 10 * kNanosPerSec});
    if (appliance.capacity_max < appliance.capacity_min && appliance.capacity_max != 0)
        reader.fault("capacity_max", "at least capacity_min", "the window is empty");
    if (!appliance.host.empty() && appliance.link_bps != 0)
        reader.fault("link", "a host or a link", "an appliance behind a host shares that host's uplink");
    config.appliances.push_back(std::move(appliance));
}

void read_tenant_vnic(ObjectReader& reader, TenantConfig& tenant) {
    TenantVnicConfig vnic;
    read_needed_name(reader, "the vNIC's name, as in the switch's file", vnic.name);
    read_name(reader, "host", vnic.host);
    reader.read_quantity("reservation", Quantity::kBitRate, vnic.reservation_bps, {0, kLinkRateMax});
    reader.read_limit("limit", Quantity::kBitRate, vnic.limit_bps, kLinkRange);
    reader.read_integer("weight", vnic.weight, kWeightRange);
    if (vnic.limit_bps && *vnic.limit_bps < vnic.reservation_bps)
        reader.fault("limit", "at least the reservation, " + format_rate(vnic.reservation_bps), kLimitBelow);
    tenant.vnics.push_back(std::move(vnic));
}

/// A reservation of tokens is checked against its limit alike for tenants, pools and vNICs in pools.
void check_token_limit(ObjectReader& reader, std::uint64_t reservation,
                       const std::optional<std::uint64_t>& limit) {
    if (limit && *limit < reservation)
        reader.fault("limit",
                     "at least the reservation, " + format_quantity(Quantity::kTokenRate, reservation),
                     kLimitBelow);
}

void read_tenant_appliance(ObjectReader& reader, TenantConfig& tenant) {
    TenantApplianceConfig part;
    read_needed_name(reader, "the name of an entry of \"appliances\"", part.name);
    reader.read_quantity("reservation", Quantity::kTokenRate, part.reservation_tokens, kReservationRange);
    reader.read_limit("limit", Quantity::kTokenRate, part.limit_tokens, kTokenRange);
    reader.read_limit("bandwidth", Quantity::kBitRate, part.bandwidth_bps, {0, kLinkRateMax});
    check_token_limit(reader, part.reservation_tokens, part.limit_tokens);
    tenant.appliances.push_back(std::move(part));
}

void read_tenant(ObjectReader& reader, ClusterConfig& config, Faults& faults) {
    TenantConfig tenant;
    read_needed_name(reader, "a name, such as \"A\"", tenant.name);
    reader.read_word<SharingRule>("guarantee", tenant.sharing_rule, kSharingRules);
    reader.read_entry<alloc::MechanismEntry>(
        "local", tenant.local, alloc::kMechanisms,
        [](const auto& mechanism) { return mechanism.scope == alloc::Scope::kLocalAndGlobal; });
    reader.read_integer("weight", tenant.weight, kWeightRange);
    read_objects(reader, "vnics", kTenantVnicsMax, faults,
                 [&](ObjectReader& vnic, const std::string&) { read_tenant_vnic(vnic, tenant); });
    read_objects(reader, "appliances", kAppliancesMax, faults,
                 [&](ObjectReader& part, const std::string&) { read_tenant_appliance(part, tenant); });
    config.tenants.push_back(std::move(tenant));
}

void read_pool_bounds(ObjectReader& reader, std::uint64_t reservation, std::optional<std::uint64_t>& limit,
                      std::uint32_t& shares) {
    reader.read_limit("limit", Quantity::kTokenRate, limit, kTokenRange);
    reader.read_integer("shares", shares, kSharesRange);
    check_token_limit(reader, reservation, limit);
}

void read_pool_vnic(ObjectReader& reader, PoolConfig& pool) {
    PoolVnicConfig& vnic = pool.vnics.emplace_back();
    read_needed_name(reader, "the name of a tenant's vNIC", vnic.name);
    reader.read_quantity("reservation", Quantity::kTokenRate, vnic.reservation_tokens, kReservationRange);
    read_pool_bounds(reader, vnic.reservation_tokens, vnic.limit_tokens, vnic.shares);
}

void read_pool(ObjectReader& reader, std::vector<PoolConfig>& out, Faults& faults) {
    PoolConfig& pool = out.emplace_back();
    read_needed_name(reader, "a name, such as \"sales\"", pool.name);
    read_name(reader, "parent", pool.parent);
    read_name(reader, "appliance", pool.appliance);
    if (pool.parent.empty() && pool.appliance.empty())
        reader.fault("appliance", "the name of an entry of \"appliances\", or a \"parent\"",
                     "a pool divides an appliance, or a part of another pool");
    std::uint64_t reservation = 0;
    if (reader.read_quantity("reservation", Quantity::kTokenRate, reservation, kReservationRange))
        pool.reservation_tokens = reservation;
    read_pool_bounds(reader, reservation, pool.limit_tokens, pool.shares);
    read_objects(reader, "vnics", kPoolVnicsMax, faults,
                 [&](ObjectReader& vnic, const std::string&) { read_pool_vnic(vnic, pool); });
}

}  // namespace

void read_pools(ObjectReader& root, std::vector<PoolConfig>& out, Faults& faults) {
    read_objects(root, "pools", kPoolsMax, faults,
                 [&](ObjectReader& reader, const std::string&) { read_pool(reader, out, faults); });
}

std::variant<ClusterConfig, Faults> parse_cluster(std::string_view text, const ClusterCheck& check) {
    return parse_document<ClusterConfig>(text, [&check](const json& root, Faults& faults) {
        ClusterConfig config;
        ObjectReader reader(root, "", faults);
        read_head(reader, config);
        read_global(reader, config, faults);
        read_prices(reader, config, faults);
        read_topology(reader, config, faults);
        read_objects(reader, "appliances", kAppliancesMax, faults,
                     [&](ObjectReader& entry, const std::string&) { read_appliance(entry, config); });
        read_objects(reader, "tenants", kTenantsMax, faults,
                     [&](ObjectReader& entry, const std::string&) { read_tenant(entry, config, faults); });
        read_pools(reader, config.pools, faults);
        reader.finish();
        if (root.is_object())
            check_cluster(config, faults);
        if (root.is_object() && check)
            for (Fault& fault : check(config))
                faults.push_back(std::move(fault));
        return config;
    });
}

std::variant<ClusterConfig, Faults> load_cluster(const std::string& path, const ClusterCheck& check) {
    return load_document(path, [&check](std::string_view text) { return parse_cluster(text, check); });
}

}  // namespace weir
