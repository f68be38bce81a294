// cluster_change.cc - two cluster files compared, as JSON and as structs.
#include "ctrl/config/cluster_change.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>

#include "common/config/field_kinds.h"
#include "common/config/json_text.h"
#include "common/config/vnic_promise.h"
#include "common/units.h"

namespace weir {
namespace {

using nlohmann::json;

bool has_names(const json& list) {
    return list.is_array() && !list.empty() && std::ranges::all_of(list, [](const json& each) {
               return each.is_object() && each.contains("name") && each["name"].is_string();
           });
}

/// A list of named members as an object of them.
json by_name(const json& list) {
    json members = json::object();
    for (const json& each : list)
        members[each["name"].get<std::string>()] = each;
    return members;
}

void compare(const std::string& path, const json& before, const json& now, std::vector<ChangedValue>& out) {
    if (before == now)
        return;
    const bool are_lists = (has_names(before) && (now.empty() || has_names(now))) ||
                           (has_names(now) && (before.empty() || has_names(before)));
    if (are_lists)
        return compare(path, by_name(before), by_name(now), out);
    if (!before.is_object() || !now.is_object()) {
        out.push_back({path, before.dump(), now.dump()});
        return;
    }
    std::set<std::string> keys;
    for (const json* each : {&before, &now})
        for (const auto& [key, value] : each->items())
            keys.insert(key);
    for (const std::string& key : keys) {
        const std::string place = path.empty() ? key : path + '.' + key;
        if (before.contains(key) && now.contains(key))
            compare(place, before[key], now[key], out);
        else if (before.contains(key))
            out.push_back({place, before[key].dump(), ""});
        else
            out.push_back({place, "", now[key].dump()});
    }
}

template <typename List>
const typename List::value_type* find(const List& list, std::string_view name) {
    const auto found = std::ranges::find(list, name, &List::value_type::name);
    return found == list.end() ? nullptr : &*found;
}

/// Members of a list by name; a walk over two lists stays linear.
template <typename List>
std::map<std::string_view, const typename List::value_type*> index_of(const List& list) {
    std::map<std::string_view, const typename List::value_type*> index;
    for (const auto& each : list)
        index.emplace(each.name, &each);
    return index;
}

class Promises {
  public:
    void note(const std::string& owner, const char* promise, const std::string& before,
              const std::string& now) {
        sentences.push_back(owner + ": " + promise + ' ' + before + " -> " + now);
    }
    void compare_rate(const std::string& owner, const char* promise, std::uint64_t before,
                      std::uint64_t now) {
        if (now < before)
            note(owner, promise, format_rate(before), format_rate(now));
    }
    /// A limit; absent = none.
    template <typename Text>
    void compare_limit(const std::string& owner, const char* promise, std::optional<std::uint64_t> before,
                       std::optional<std::uint64_t> now, Text text) {
        if (now && (!before || *now < *before))
            note(owner, promise, before ? text(*before) : "none", text(*now));
    }
    void compare_tokens(const std::string& owner, const std::string& promise, std::uint64_t before,
                        std::uint64_t now) {
        if (now < before)
            note(owner, promise.c_str(), std::to_string(before), std::to_string(now) + " tokens/s");
    }

    std::vector<std::string> sentences;
};

void compare_parts(const TenantConfig& before, const TenantConfig& now, Promises& out) {
    const std::string owner = "tenant " + before.name;
    const auto tokens = [](std::uint64_t amount) { return std::to_string(amount) + " tokens/s"; };
    const auto index = index_of(now.appliances);
    for (const TenantApplianceConfig& old : before.appliances) {
        const auto found = index.find(old.name);
        if (found == index.end()) {
            out.sentences.push_back(owner + ": its part of " + old.name + " is removed");
            continue;
        }
        const TenantApplianceConfig& part = *found->second;
        out.compare_tokens(owner, "reservation at " + old.name, old.reservation_tokens,
                           part.reservation_tokens);
        out.compare_limit(owner, ("limit at " + old.name).c_str(), old.limit_tokens, part.limit_tokens,
                          tokens);
        if (old.bandwidth_bps && part.bandwidth_bps)
            out.compare_rate(owner, ("bandwidth at " + old.name).c_str(), *old.bandwidth_bps,
                             *part.bandwidth_bps);
    }
}

/// Kinds are ordered from the largest promise to the smallest.
GuaranteeKind kind_in(const TenantVnicConfig& vnic) {
    return kind_of({.guarantee = vnic.guarantee, .reservation_bps = vnic.reservation_bps});
}

std::string kind_text(const TenantVnicConfig& vnic) {
    return std::string(guarantee_name(kind_in(vnic)));
}

/// Only values that both state: of others the switch's file decides.
void compare_workers(const std::string& owner, const WorkerPromise& old, const WorkerPromise& now,
                     Promises& out) {
    const auto tokens = [](std::uint64_t amount) { return format_quantity(Quantity::kTokenRate, amount); };
    if (old.reservation_pps && now.reservation_pps.value_or(0) < *old.reservation_pps)
        out.note(owner, "reservation_pps", format_packet_rate(*old.reservation_pps),
                 format_packet_rate(now.reservation_pps.value_or(0)));
    if (old.cycle_shares && now.cycle_shares && *now.cycle_shares < *old.cycle_shares)
        out.note(owner, "cycle_shares", std::to_string(*old.cycle_shares), std::to_string(*now.cycle_shares));
    if (old.encrypt_reservation && now.encrypt_reservation.value_or(0) < *old.encrypt_reservation)
        out.note(owner, "encrypt_reservation", tokens(*old.encrypt_reservation),
                 tokens(now.encrypt_reservation.value_or(0)));
    out.compare_limit(owner, "limit_pps", old.limit_pps, now.limit_pps, format_packet_rate);
    out.compare_limit(owner, "encrypt_limit", old.encrypt_limit, now.encrypt_limit, tokens);
}

void compare_vnics(const TenantConfig& before, const TenantConfig& now, Promises& out) {
    const auto index = index_of(now.vnics);
    for (const TenantVnicConfig& old : before.vnics) {
        const std::string owner = "vNIC " + old.name;
        const auto found = index.find(old.name);
        if (found == index.end()) {
            out.sentences.push_back(owner + " is removed");
            continue;
        }
        const TenantVnicConfig& vnic = *found->second;
        // A reservation that comes or goes has its own sentence.
        if ((old.guarantee || vnic.guarantee) && kind_in(vnic) > kind_in(old))
            out.note(owner, "guarantee_kind", kind_text(old), kind_text(vnic));
        out.compare_rate(owner, "reservation", old.reservation_bps, vnic.reservation_bps);
        out.compare_limit(owner, "limit", old.limit_bps, vnic.limit_bps, format_rate);
        if (vnic.weight < old.weight)
            out.note(owner, "weight", std::to_string(old.weight), std::to_string(vnic.weight));
        compare_workers(owner, old.worker, vnic.worker, out);
    }
}

/// Whether values differ that every flow's rate depends on.
bool differs_as_a_whole(const ClusterConfig& a, const ClusterConfig& b) {
    return a.headroom != b.headroom || a.overcommit != b.overcommit ||
           a.overcommit_utilization != b.overcommit_utilization ||
           a.overcommit_failure_max != b.overcommit_failure_max || a.global != b.global ||
           a.global_weights != b.global_weights;
}

bool is_same_but_vnics(const TenantConfig& a, const TenantConfig& b) {
    return a.sharing_rule == b.sharing_rule && a.local == b.local && a.weight == b.weight &&
           a.appliances == b.appliances;
}

using ChangedNames = std::set<std::string, std::less<>>;

/// Names of members that differ or are gone.
template <typename List>
ChangedNames changed_names(const List& before, const List& now) {
    const auto index = index_of(now);
    ChangedNames names;
    for (const auto& each : before)
        if (const auto found = index.find(each.name); found == index.end() || *found->second != each)
            names.insert(each.name);
    return names;
}

/// That a host is drained concerns none of the vNICs that are there.
std::vector<HostConfig> without_drain(std::vector<HostConfig> hosts) {
    for (HostConfig& host : hosts)
        host.drain = false;
    return hosts;
}

}  // namespace

json cluster_part(std::string_view text) {
    json stated = read_json_text(text, kClusterBounds).value;
    if (stated.is_object())
        for (const char* key : {"$schema", "listen", "secret_key_file", "control_socket",
                                "control_read_socket", "store", "metrics", "api"})
            stated.erase(key);
    return stated;
}

std::vector<ChangedValue> changed_values(const json& before, const json& now) {
    std::vector<ChangedValue> out;
    compare("", before, now, out);
    return out;
}

std::vector<std::string> smaller_promises(const ClusterConfig& before, const ClusterConfig& now) {
    Promises out;
    const auto tenants = index_of(now.tenants);
    for (const TenantConfig& old : before.tenants) {
        const auto found = tenants.find(old.name);
        if (found == tenants.end()) {
            out.sentences.push_back("tenant " + old.name + " is removed");
            continue;
        }
        const TenantConfig& tenant = *found->second;
        if (tenant == old)
            continue;
        if (tenant.weight < old.weight)
            out.note("tenant " + old.name, "weight", std::to_string(old.weight),
                     std::to_string(tenant.weight));
        if (old.sharing_rule == alloc::SharingRule::kMinimum && tenant.sharing_rule != old.sharing_rule)
            out.note("tenant " + old.name, "sharing_rule", "minimum", "fixed");
        compare_parts(old, tenant, out);
        compare_vnics(old, tenant, out);
    }
    const auto hosts = index_of(now.hosts);
    for (const HostConfig& old : before.hosts)
        if (const auto found = hosts.find(old.name); found != hosts.end())
            out.compare_rate("host " + old.name, "uplink", old.uplink_bps, found->second->uplink_bps);
    const auto appliances = index_of(now.appliances);
    for (const ClusterApplianceConfig& old : before.appliances)
        if (const auto found = appliances.find(old.name); found != appliances.end())
            out.compare_tokens("appliance " + old.name, "capacity_min", old.capacity_min,
                               found->second->capacity_min);
    return out.sentences;
}

std::size_t concerned_vnics(const ClusterConfig& before, const ClusterConfig& now,
                            const std::function<std::string_view(const std::string& vnic)>& host_of) {
    const bool is_whole = differs_as_a_whole(before, now);
    const bool do_pools_differ = before.pools != now.pools;
    const std::set<std::string> pooled = pooled_appliances(before.pools);
    const auto racks = changed_names(before.racks, now.racks);
    ChangedNames hosts = changed_names(without_drain(before.hosts), without_drain(now.hosts));
    for (const HostConfig& host : before.hosts)
        if (racks.contains(host.rack))
            hosts.insert(host.name);
    const auto appliances = changed_names(before.appliances, now.appliances);
    const auto uses_changed = [&](const TenantConfig& tenant) {
        return std::ranges::any_of(tenant.appliances, [&](const TenantApplianceConfig& part) {
            return appliances.contains(part.name) || (do_pools_differ && pooled.contains(part.name));
        });
    };
    const auto is_on_changed = [&](const TenantVnicConfig& vnic) {
        return !hosts.empty() && (hosts.contains(vnic.host) || hosts.contains(host_of(vnic.name)));
    };
    const auto tenants = index_of(now.tenants);
    std::size_t concerned = 0;
    for (const TenantConfig& old : before.tenants) {
        const auto found = tenants.find(old.name);
        const bool is_all = is_whole || found == tenants.end() || !is_same_but_vnics(old, *found->second) ||
                            uses_changed(old);
        const auto changed = is_all || old.vnics == found->second->vnics
                                 ? ChangedNames{}
                                 : changed_names(old.vnics, found->second->vnics);
        for (const TenantVnicConfig& vnic : old.vnics)
            concerned += is_all || changed.contains(vnic.name) || is_on_changed(vnic) ? 1 : 0;
    }
    return concerned;
}

Faults faults_of_live_change(const ClusterConfig& running, const ClusterConfig& now, const json& stated) {
    constexpr const char* kRestart =
        "it cannot change while weir-ctrl runs: restart weir-ctrl with --import FILE";
    constexpr const char* kProcess = "it is the process's own, in the file of --config";
    Faults faults;
    const auto check = [&](const char* key, bool is_same, const std::string& value, const char* why) {
        if (!is_same)
            faults.push_back({key, stated.contains(key) ? stated[key].dump() : "nothing", value, why});
    };
    const auto check_process = [&](const char* key, bool is_same, const std::string& value) {
        check(key, is_same || !stated.contains(key), value, kProcess);
    };
    check("name", running.name == now.name, '"' + running.name + '"', kRestart);
    check("interval", running.interval == now.interval, std::to_string(running.interval) + "ns", kRestart);
    check("billing_period", running.billing_period == now.billing_period,
          std::to_string(running.billing_period) + "ns", kRestart);
    check_process("listen", running.listen == now.listen, json(running.listen).dump());
    check_process("secret_key_file", running.secret_key_file == now.secret_key_file,
                  '"' + running.secret_key_file + '"');
    check_process("control_socket", running.control_socket == now.control_socket,
                  '"' + running.control_socket + '"');
    check_process("control_read_socket", running.control_read_socket == now.control_read_socket,
                  '"' + running.control_read_socket + '"');
    check_process("store", running.store == now.store, '"' + running.store + '"');
    check_process(
        "metrics", running.metrics == now.metrics,
        running.metrics.listen.empty() ? "nothing" : json{{"listen", running.metrics.listen}}.dump());
    check_process("api", running.api == now.api,
                  running.api.listen.empty() ? "nothing" : "that of " + running.api.listen);
    return faults;
}

ClusterConfig with_process_of(const ClusterConfig& process, ClusterConfig cluster) {
    cluster.listen = process.listen;
    cluster.secret_key_file = process.secret_key_file;
    cluster.control_socket = process.control_socket;
    cluster.control_read_socket = process.control_read_socket;
    cluster.store = process.store;
    cluster.metrics = process.metrics;
    cluster.api = process.api;
    return cluster;
}

}  // namespace weir
