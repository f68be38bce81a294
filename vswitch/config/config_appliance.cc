// config_appliance.cc - appliances, and a vNIC's part of them: read, checked against the others, written as
// JSON.
#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "common/config/config_text.h"
#include "common/ip_address.h"
#include "cost_functions/protocols/registry.h"
#include "vswitch/base/limits.h"
#include "vswitch/config/config_fields.h"
#include "vswitch/config/config_files.h"

namespace weir {
namespace {

using nlohmann::json;

constexpr Range kReservedRange{0, 1'000'000'000'000};
constexpr Range kLinkRange{1'000, kRateMax};  // bit/s
constexpr Range kBurstRange{1'000'000, 10 * kNanosPerSec};
constexpr Range kPortRange{1, 65'535};
constexpr std::array kBuckets{Word<bool>{"multi", true}, Word<bool>{"single", false}};

bool is_file(std::string_view text) {
    return !text.empty() && !text.ends_with('/') && text.size() <= kPathBytesMax;
}

void check_unique(ObjectReader& reader, const ApplianceConfig& appliance,
                  const std::vector<ApplianceConfig>& others) {
    const std::optional<IpAddress> address = IpAddress::parse(appliance.address);
    for (const ApplianceConfig& other : others) {
        const std::string owner = "appliance \"" + other.name + "\" has it already";
        if (!appliance.name.empty() && other.name == appliance.name)
            reader.fault("name", "a name of its own", owner);
        if (address && appliance.port != 0 && other.port == appliance.port &&
            IpAddress::parse(other.address) == address)
            reader.fault("address", "an address and port of its own", owner);
    }
}

ApplianceConfig read_appliance(ObjectReader& reader, const std::vector<ApplianceConfig>& others) {
    constexpr const char* kCost =
        "a file, or the name of a table that comes with the switch, such as \"ssd_file_store\"";
    ApplianceConfig appliance;
    require(reader, "name", "a name, such as \"disk\"");
    read_name(reader, "name", appliance.name);
    if (require(reader, "address", "a host's IPv4 or IPv6 address, such as \"10.0.0.5\" or \"fd00::5\""))
        read_host_address(reader, "address", appliance.address);
    require(reader, "port", "a TCP port, such as 10809");
    reader.read_integer("port", appliance.port, kPortRange);
    const ProtocolEntry* protocol = nullptr;
    require(reader, "protocol", "the service's protocol, such as \"nbd\"; \"bytes\" for any other");
    if (reader.read_entry<ProtocolEntry>("protocol", protocol, kProtocolEntries))
        appliance.protocol = protocol->name;
    require(reader, "cost", kCost);
    read_valid(reader, "cost", appliance.cost, is_file, kCost, "this cannot be a file");
    read_valid(reader, "program", appliance.program, is_file, "a file, such as \"writes.o\"",
               "this cannot be a file");
    reader.read_limit("window", Quantity::kTokens, appliance.window_tokens, kTokensRange);
    reader.read_entry<SchedulerEntry>("scheduler", appliance.scheduler, kSchedulers);
    if (!appliance.window_tokens && appliance.scheduler != &kSchedulers.front())
        reader.fault("scheduler", "an appliance with a \"window\"",
                     "without a window no request waits for the scheduler");
    check_unique(reader, appliance, others);
    return appliance;
}

template <typename Appliances>
std::string names_of(const Appliances& appliances) {
    const std::string names = list_words(appliances, [](const auto& each) { return each.name; });
    return names.empty() ? "the name of an entry of \"appliances\"" : names;
}

/// Reads the vNIC's part of the appliance's window.
void read_window_part(ObjectReader& reader, VnicApplianceConfig& part, bool has_window) {
    constexpr const char* kAllowed = "an appliance with a \"window\"";
    constexpr const char* kWhy = "it is a part of the window, and there is none";
    reader.read_quantity("reservation", Quantity::kTokenRate, part.reservation_tokens, kReservedRange);
    reader.read_integer("shares", part.shares, kSharesRange);
    if (!has_window && part.reservation_tokens != 0)
        reader.fault("reservation", kAllowed, kWhy);
    if (!has_window && part.shares != VnicApplianceConfig{}.shares)
        reader.fault("shares", kAllowed, kWhy);
    if (part.limit_tokens && part.reservation_tokens > *part.limit_tokens)
        reader.fault("reservation",
                     "at most the limit, " + format_quantity(Quantity::kTokenRate, *part.limit_tokens),
                     "the reservation is above the limit");
}

/// Reads a vNIC's part of one appliance. @param before the parts before it in the list
VnicApplianceConfig read_part(ObjectReader& reader, const SwitchConfig& base,
                              const std::vector<VnicApplianceConfig>& before) {
    VnicApplianceConfig part;
    const auto same = [&part](const auto& other) { return other.name == part.name; };
    require(reader, "name", "the name of an entry of \"appliances\"");
    if (read_name(reader, "name", part.name)) {
        if (std::none_of(base.appliances.begin(), base.appliances.end(), same))
            reader.fault("name", names_of(base.appliances), "there is no such appliance");
        if (std::any_of(before.begin(), before.end(), same))
            reader.fault("name", "each appliance once", "the vNIC names it already");
    }
    reader.read_limit("limit", Quantity::kTokenRate, part.limit_tokens, kTokensRange);
    reader.read_limit("uplink", Quantity::kBitRate, part.uplink_bps, kLinkRange);
    reader.read_limit("downlink", Quantity::kBitRate, part.downlink_bps, kLinkRange);
    reader.read_limit("cycles", Quantity::kCycleRate, part.cycles, kTokensRange);
    if (part.cycles && base.cycle_costs.empty())
        reader.fault("cycles", "null, or \"cycle_costs\" with the file that weir-calibrate switch writes",
                     "the cycles of a request on this host's workers were not measured");
    reader.read_quantity("burst", Quantity::kDuration, part.burst, kBurstRange);
    reader.read_word<bool>("buckets", part.multi_resource, kBuckets);
    if (!part.multi_resource && !part.limit_tokens && !part.uplink_bps && !part.downlink_bps && !part.cycles)
        reader.fault("buckets", "multi, or a limit, an uplink, a downlink or cycles",
                     "single is the first of the limits alone, and there is none");
    const auto found = std::find_if(base.appliances.begin(), base.appliances.end(), same);
    read_window_part(reader, part, found != base.appliances.end() && found->window_tokens);
    return part;
}

}  // namespace

void read_appliances(ObjectReader& root, std::vector<ApplianceConfig>& out, Faults& faults) {
    const auto read = [&](ObjectReader& entry, const std::string& /*path*/) {
        out.push_back(read_appliance(entry, out));
    };
    read_objects(root, "appliances", limits::kAppliancesMax, faults, read, " appliances");
}

void read_vnic_appliances(ObjectReader& vnic, std::vector<VnicApplianceConfig>& out, const SwitchConfig& base,
                          Faults& faults) {
    const auto read = [&](ObjectReader& entry, const std::string& /*path*/) {
        out.push_back(read_part(entry, base, out));
    };
    read_objects(vnic, "appliances", limits::kAppliancesPerVnic, faults, read,
                 " parts, such as [{\"name\": \"disk\", \"limit\": \"800tokens\"}]");
}

json vnic_appliances_to_json(const std::vector<VnicApplianceConfig>& appliances) {
    json list = json::array();
    for (const VnicApplianceConfig& part : appliances) {
        json one{{"name", part.name},
                 {"burst", format_duration(part.burst)},
                 {"buckets", kBuckets[part.multi_resource ? 0 : 1].text}};
        if (part.limit_tokens)
            one["limit"] = format_quantity(Quantity::kTokenRate, *part.limit_tokens);
        if (part.uplink_bps)
            one["uplink"] = format_rate(*part.uplink_bps);
        if (part.downlink_bps)
            one["downlink"] = format_rate(*part.downlink_bps);
        if (part.cycles)
            one["cycles"] = format_quantity(Quantity::kCycleRate, *part.cycles);
        if (part.reservation_tokens != 0)
            one["reservation"] = format_quantity(Quantity::kTokenRate, part.reservation_tokens);
        if (part.shares != VnicApplianceConfig{}.shares)
            one["shares"] = part.shares;
        list.push_back(std::move(one));
    }
    return list;
}

json merge_vnic_appliances(const json& change, const std::vector<VnicApplianceConfig>& current) {
    if (!change.is_array())
        return change;
    json rest = vnic_appliances_to_json(current);
    json merged = json::array();
    for (const json& part : change) {
        const auto same = [&part](const json& other) {
            return part.is_object() && part.contains("name") && other["name"] == part["name"];
        };
        merged.push_back(part);
        const auto found = std::find_if(rest.begin(), rest.end(), same);
        if (found == rest.end())
            continue;
        found->update(part);
        merged.back() = *found;
        rest.erase(found);
    }
    for (json& part : rest)
        merged.push_back(std::move(part));
    return merged;
}

void check_vnic_appliances(std::vector<VnicApplianceConfig>& changed,
                           const std::vector<VnicApplianceConfig>& current, const std::string& path,
                           Faults& faults) {
    const auto place = [&current](const VnicApplianceConfig& part) {
        return std::ranges::find(current, part.name, &VnicApplianceConfig::name) - current.begin();
    };
    const auto known = static_cast<std::ptrdiff_t>(current.size());
    for (std::size_t i = 0; i < changed.size() && faults.empty(); ++i)
        if (place(changed[i]) == known)
            faults.push_back({path + '[' + std::to_string(i) + "].name", changed[i].name, names_of(current),
                              "the vNIC has no part of it; remove the vNIC and add it anew"});
    std::ranges::stable_sort(changed, {}, place);
}

void resolve_files(SwitchConfig& config, const std::string& config_file) {
    const std::filesystem::path folder = std::filesystem::path(config_file).parent_path();
    for (ApplianceConfig& appliance : config.appliances) {
        if (!is_shipped_table(appliance.cost))
            appliance.cost = folder / appliance.cost;
        if (!appliance.program.empty())
            appliance.program = folder / appliance.program;
    }
    for (TunnelConfig& tunnel : config.tunnels)
        if (!is_shipped_table(tunnel.cost))
            tunnel.cost = folder / tunnel.cost;
}

}  // namespace weir
