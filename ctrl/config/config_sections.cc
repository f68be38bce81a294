// config_sections.cc - racks, hosts, appliances and tenants, each read by itself.
#include "ctrl/config/config_sections.h"

#include <array>

#include "common/config/field_kinds.h"

namespace weir {
namespace {

using alloc::SharingRule;
using nlohmann::json;

constexpr std::size_t kRacksMax = 2'000;
constexpr std::size_t kHostsMax = 10'000;
constexpr std::size_t kAppliancesMax = 1'000;
constexpr std::size_t kTenantsMax = 10'000;
constexpr std::size_t kTenantVnicsMax = 20'000;
constexpr Range kLinkRange{1'000'000, kLinkRateMax};
constexpr Range kWeightRange{1, 10'000};
constexpr std::array kSharingRules{Word<SharingRule>{"minimum", SharingRule::kMinimum},
                                   Word<SharingRule>{"fixed", SharingRule::kFixed}};

void read_needed_name(ObjectReader& reader, std::string_view key, const char* allowed, std::string& out) {
    if (require(reader, key, allowed))
        read_name(reader, key, out);
}

void read_host(ObjectReader& reader, ClusterConfig& config) {
    HostConfig host;
    read_needed_name(reader, "name", "the host's name, as in its switch's file", host.name);
    reader.read_quantity("uplink", Quantity::kBitRate, host.uplink_bps, kLinkRange);
    read_name(reader, "rack", host.rack);
    read_curve_key(reader, "key", host.key);
    reader.read_integer("vms_max", host.vms_max, {1, 10'000});
    config.hosts.push_back(std::move(host));
}

void read_tenant_vnic(ObjectReader& reader, TenantConfig& tenant) {
    TenantVnicConfig vnic;
    read_needed_name(reader, "name", "the vNIC's name, as in its switch's file", vnic.name);
    read_name(reader, "host", vnic.host);
    reader.read_quantity("reservation", Quantity::kBitRate, vnic.reservation_bps, {0, kLinkRateMax});
    reader.read_limit("limit", Quantity::kBitRate, vnic.limit_bps, kLinkRange);
    reader.read_integer("weight", vnic.weight, kWeightRange);
    if (vnic.limit_bps && *vnic.limit_bps < vnic.reservation_bps)
        reader.fault("limit", "at least the reservation, " + format_rate(vnic.reservation_bps),
                     "a limit below the reservation breaks the promise");
    tenant.vnics.push_back(std::move(vnic));
}

void read_tenant_appliance(ObjectReader& reader, TenantConfig& tenant) {
    TenantApplianceConfig part;
    read_needed_name(reader, "name", "the name of an entry of \"appliances\"", part.name);
    reader.read_quantity("reservation", Quantity::kTokenRate, part.reservation_tokens, {0, kTokenRateMax});
    reader.read_limit("limit", Quantity::kTokenRate, part.limit_tokens, kTokenRange);
    reader.read_limit("bandwidth", Quantity::kBitRate, part.bandwidth_bps, {0, kLinkRateMax});
    if (part.limit_tokens && *part.limit_tokens < part.reservation_tokens)
        reader.fault(
            "limit",
            "at least the reservation, " + format_quantity(Quantity::kTokenRate, part.reservation_tokens),
            "a limit below the reservation breaks the promise");
    tenant.appliances.push_back(std::move(part));
}

}  // namespace

void read_topology(ObjectReader& root, ClusterConfig& config, Faults& faults) {
    const json* object = root.take("topology");
    if (object == nullptr)
        return;
    ObjectReader reader(*object, "topology", faults);
    read_objects(reader, "racks", kRacksMax, faults, [&](ObjectReader& entry, const std::string&) {
        RackConfig rack;
        read_needed_name(entry, "name", "a name, such as \"r1\"", rack.name);
        if (require(entry, "uplink", "a rate, such as \"40Gbit\""))
            entry.read_quantity("uplink", Quantity::kBitRate, rack.uplink_bps,
                                {1'000'000, 100 * kLinkRateMax});
        config.racks.push_back(std::move(rack));
    });
    read_objects(reader, "hosts", kHostsMax, faults,
                 [&](ObjectReader& entry, const std::string&) { read_host(entry, config); });
    reader.finish();
}

void read_cluster_appliances(ObjectReader& root, ClusterConfig& config, Faults& faults) {
    read_objects(root, "appliances", kAppliancesMax, faults, [&](ObjectReader& entry, const std::string&) {
        ClusterApplianceConfig appliance;
        read_needed_name(entry, "name", "the appliance's name, as in the switches' files", appliance.name);
        read_name(entry, "host", appliance.host);
        entry.read_quantity("link", Quantity::kBitRate, appliance.link_bps, kLinkRange);
        for (const auto& [key, out] : {std::pair{"capacity_min", &appliance.capacity_min},
                                       std::pair{"capacity_max", &appliance.capacity_max}})
            if (require(entry, key, "tokens per second, such as \"5ktokens\""))
                entry.read_quantity(key, Quantity::kTokenRate, *out, kTokenRange);
        entry.read_quantity("latency", Quantity::kDuration, appliance.latency, {10'000, 10 * kNanosPerSec});
        if (appliance.capacity_max < appliance.capacity_min && appliance.capacity_max != 0)
            entry.fault("capacity_max", "at least capacity_min", "the window is empty");
        if (!appliance.host.empty() && appliance.link_bps != 0)
            entry.fault("link", "a host or a link", "an appliance behind a host shares that host's uplink");
        config.appliances.push_back(std::move(appliance));
    });
}

void read_tenants(ObjectReader& root, ClusterConfig& config, Faults& faults) {
    read_objects(root, "tenants", kTenantsMax, faults, [&](ObjectReader& entry, const std::string&) {
        TenantConfig tenant;
        read_needed_name(entry, "name", "a name, such as \"A\"", tenant.name);
        entry.read_word<SharingRule>("guarantee", tenant.sharing_rule, kSharingRules);
        entry.read_entry<alloc::MechanismEntry>(
            "local", tenant.local, alloc::kMechanisms,
            [](const auto& mechanism) { return mechanism.scope == alloc::Scope::kLocalAndGlobal; });
        entry.read_integer("weight", tenant.weight, kWeightRange);
        read_objects(entry, "vnics", kTenantVnicsMax, faults,
                     [&](ObjectReader& vnic, const std::string&) { read_tenant_vnic(vnic, tenant); });
        read_objects(entry, "appliances", kAppliancesMax, faults,
                     [&](ObjectReader& part, const std::string&) { read_tenant_appliance(part, tenant); });
        config.tenants.push_back(std::move(tenant));
    });
}

}  // namespace weir
