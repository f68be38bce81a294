// cluster_config.cc - parser of the cluster file, one function for each object in it, and check_cluster().
#include "ctrl/config/cluster_config.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "common/config/config_text.h"
#include "common/config/field_kinds.h"
#include "common/config/json_text.h"
#include "common/config/vnic_promise.h"

namespace weir {
namespace {

using alloc::SharingRule;
using nlohmann::json;
using Names = std::set<std::string>;

constexpr std::size_t kListenMax = 8;
constexpr std::size_t kRacksMax = 2'000;
constexpr std::size_t kHostsMax = 10'000;
constexpr std::size_t kAppliancesMax = 1'000;
constexpr std::size_t kTenantsMax = 10'000;
constexpr std::size_t kTenantVnicsMax = 20'000;
constexpr std::size_t kPoolsMax = 10'000;
constexpr std::size_t kPoolVnicsMax = 20'000;
/// Of a whole file: vNICs, parts of appliances in all tenants, vNICs in all pools.
constexpr std::size_t kAllMax = 100'000;
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
        "a list of 1 to 8 addresses of this machine, such as [\"tcp://10.0.0.1:5555\"], "
        "[\"tcp://[fd00::1]:5555\"] or [\"ipc:///run/weir/admin/ctrl.ipc\"]";
    const json* list = reader.take("listen");
    if (list == nullptr)
        return;
    if (!list->is_array() || list->empty() || list->size() > kListenMax) {
        reader.fault("listen", kAllowed, "not a list of that length");
        return;
    }
    std::vector<std::string> addresses;
    for (const json& entry : *list) {
        if (!entry.is_string() || !is_listen_endpoint(entry.get_ref<const std::string&>())) {
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
    if (read_socket_path(reader, "control_read_socket", config.control_read_socket) &&
        config.control_read_socket == config.control_socket)
        reader.fault("control_read_socket", "another path than control_socket",
                     "one socket cannot be for reading alone and for changes");
    read_file_path(reader, "store", config.store);
    read_part(reader, "headroom", config.headroom, {0, 500'000});
    read_part(reader, "resolve_change", config.resolve_change, {10'000, 1'000'000});
    reader.read_quantity("keep_silent", Quantity::kDuration, config.keep_silent, {0, 3'600 * kNanosPerSec});
    read_part(reader, "confirm_above", config.confirm_above, {0, 1'000'000});
    reader.read_flag("overcommit", config.overcommit);
    read_part(reader, "overcommit_utilization", config.overcommit_utilization, {10'000, 1'000'000});
    read_part(reader, "overcommit_failure_max", config.overcommit_failure_max, {0, 1'000'000});
}

/// Tokens are not sent in the clear over a network.
void read_api(ObjectReader& reader, ApiConfig& out) {
    constexpr const char* kAllowed =
        "an IP address of this machine and a port, such as \"127.0.0.1:9419\" or \"[::1]:9419\"";
    constexpr const char* kTokens = "the absolute path of a file with the lines of `weirctl token create`";
    if (require(reader, "listen", kAllowed))
        read_valid(reader, "listen", out.listen, is_address_with_port, kAllowed,
                   "this is no IP address with a port");
    if (require(reader, "token_file", kTokens))
        read_file_path(reader, "token_file", out.token_file);
    read_file_path(reader, "certificate_file", out.certificate_file);
    read_file_path(reader, "key_file", out.key_file);
    if (reader.has("certificate_file") != reader.has("key_file"))
        reader.fault(reader.has("key_file") ? "certificate_file" : "key_file",
                     "both, certificate_file and key_file, or none", "TLS needs a certificate and its key");
    else if (!out.listen.empty() && !reader.has("key_file") && !is_loopback_with_port(out.listen))
        reader.fault("listen", "a loopback address, such as \"127.0.0.1:9419\", or TLS",
                     "without certificate_file and key_file the network could read the tokens");
}

void read_global(ObjectReader& reader, ClusterConfig& config) {
    reader.read_entry<alloc::MechanismEntry>("mechanism", config.global, alloc::kMechanisms);
    reader.read_word<GlobalWeights>("weights", config.global_weights, kWeights);
}

/// A price that is missing is a fault: it must not become 0.
void read_prices(ObjectReader& reader, ClusterConfig& config) {
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
    reader.read_quantity("encryption", Quantity::kTokenRate, host.encryption_tokens,
                         kPromisedTokenLimitRange);
    reader.read_integer("vms_max", host.vms_max, {1, 10'000});
    reader.read_flag("drain", host.drain);
    config.hosts.push_back(std::move(host));
}

void read_topology(ObjectReader& reader, ClusterConfig& config, Faults& faults) {
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
    read_mac(reader, "mac", vnic.mac);
    reader.read_integer("vlan", vnic.vlan, {0, 4094});
    VnicPromise promise;
    read_guarantee(reader, promise);
    vnic.guarantee = promise.guarantee;
    vnic.reservation_bps = promise.reservation_bps;
    vnic.size_bytes = promise.size_bytes;
    vnic.time = promise.time;
    reader.read_limit("limit", Quantity::kBitRate, vnic.limit_bps, kLinkRange);
    reader.read_integer("weight", vnic.weight, kWeightRange);
    read_worker_promise(reader, promise);
    vnic.worker = promise.worker;
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
    reader.read_word<SharingRule>("sharing_rule", tenant.sharing_rule, kSharingRules);
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
        faults.push_back({path, in_quotes(value), std::string("the name of an entry of \"") + list + '"',
                          "there is no such entry"});
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

/// At an appliance that pools divide, only pools have reservations and limits; only there holds a latency.
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

/// Two vNICs of a tenant in one VLAN cannot share an address; a VLAN that is not stated may be any.
void check_addresses(const TenantConfig& tenant, const std::string& path, Faults& faults) {
    std::map<std::pair<std::string_view, std::optional<std::uint16_t>>, std::string_view> owners;
    for (std::size_t i = 0; i < tenant.vnics.size(); ++i) {
        const TenantVnicConfig& vnic = tenant.vnics[i];
        if (vnic.mac.empty())
            continue;
        const auto [owner, is_new] =
            owners.emplace(std::pair(std::string_view(vnic.mac), vnic.vlan), vnic.name);
        if (!is_new)
            faults.push_back({path + '.' + at("vnics", i) + ".mac", in_quotes(vnic.mac),
                              "an address of its own among the tenant's vNICs of a VLAN",
                              "vNIC " + in_quotes(owner->second) + " has it already"});
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
    check_addresses(tenant, path, faults);
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
        check_known(path + ".appliance", pool.appliance, appliances, "appliances", faults);
        if (appliances.contains(pool.appliance) && !appliance.empty() && pool.appliance != appliance)
            faults.push_back({path + ".appliance", in_quotes(pool.appliance),
                              in_quotes(appliance) + ", its parent's, or nothing",
                              "a pool divides a part of its parent"});
        check_pool_vnics(pool, path, appliance, tenants, seen, faults);
    }
}

/// The lists of one tenant or pool have their own bounds; these are of all together.
void check_sizes(const ClusterConfig& config, Faults& faults) {
    std::size_t vnics = 0;
    std::size_t parts = 0;
    std::size_t pooled = 0;
    for (const TenantConfig& tenant : config.tenants) {
        vnics += tenant.vnics.size();
        parts += tenant.appliances.size();
    }
    for (const PoolConfig& pool : config.pools)
        pooled += pool.vnics.size();
    const auto check = [&faults](const char* path, std::size_t count, const char* noun) {
        if (count > kAllMax)
            faults.push_back({path, std::to_string(count) + noun,
                              "at most " + std::to_string(kAllMax) + " in all together",
                              "one controller manages no more: divide the hosts between two clusters"});
    };
    check("tenants", vnics, " vNICs");
    check("tenants", parts, " appliances of tenants");
    check("pools", pooled, " vNICs of pools");
}

/// Adds the faults of names and keys that are unknown, stand twice, or contradict another entry.
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
    check_sizes(config, faults);
    check_pools(config, appliances, faults);
    check_pooled_appliances(config, faults);
}

}  // namespace

void read_pools(ObjectReader& root, std::vector<PoolConfig>& out, Faults& faults) {
    read_objects(root, "pools", kPoolsMax, faults,
                 [&](ObjectReader& reader, const std::string&) { read_pool(reader, out, faults); });
}

std::variant<ClusterConfig, Faults> parse_cluster(std::string_view text, const ClusterCheck& check) {
    return parse_document<ClusterConfig>(
        text,
        [&check](const json& root, Faults& faults) {
            ClusterConfig config;
            ObjectReader reader(root, "", faults);
            read_head(reader, config);
            read_object(reader, "global", faults, read_global, config);
            read_object(reader, "metrics", faults, read_metrics, config.metrics);
            read_object(reader, "api", faults, read_api, config.api);
            read_object(reader, "prices", faults, read_prices, config);
            read_object(reader, "topology", faults, read_topology, config, faults);
            read_objects(reader, "appliances", kAppliancesMax, faults,
                         [&](ObjectReader& entry, const std::string&) { read_appliance(entry, config); });
            read_objects(
                reader, "tenants", kTenantsMax, faults,
                [&](ObjectReader& entry, const std::string&) { read_tenant(entry, config, faults); });
            read_pools(reader, config.pools, faults);
            reader.finish();
            if (root.is_object())
                check_cluster(config, faults);
            if (root.is_object() && check)
                for (Fault& fault : check(config))
                    faults.push_back(std::move(fault));
            return config;
        },
        kClusterBounds);
}

std::variant<ClusterConfig, Faults> load_cluster(const std::string& path, const ClusterCheck& check) {
    return load_document(path, [&check](std::string_view text) { return parse_cluster(text, check); });
}

}  // namespace weir
