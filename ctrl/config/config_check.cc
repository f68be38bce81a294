// config_check.cc - what holds between the lists of the cluster file: names and keys.
#include <algorithm>
#include <set>

#include "ctrl/config/config_sections.h"
#include "ctrl/pools/pool_layout.h"

namespace weir {
namespace {

std::string at(const char* list, std::size_t index) {
    return std::string(list) + '[' + std::to_string(index) + ']';
}

/// Faults for what stands more than once; empty texts were faults before.
template <typename List, typename Text>
void check_unique(const char* list, const char* key, const List& entries, Text text, Faults& faults) {
    std::set<std::string> seen;
    for (std::size_t i = 0; i < entries.size(); ++i)
        if (const std::string& value = text(entries[i]); !value.empty() && !seen.insert(value).second)
            faults.push_back(
                {at(list, i) + '.' + key, '"' + value + '"', "each once", "another has it already"});
}

template <typename List>
std::set<std::string> names(const List& entries) {
    std::set<std::string> out;
    for (const auto& entry : entries)
        out.insert(entry.name);
    return out;
}

void check_known(const std::string& path, const std::string& value, const std::set<std::string>& known,
                 const char* what, Faults& faults) {
    if (!value.empty() && !known.contains(value))
        faults.push_back({path, '"' + value + '"', std::string("the name of an entry of \"") + what + '"',
                          "there is no such entry"});
}

void check_keys(const ClusterConfig& config, Faults& faults) {
    const bool tcp = std::any_of(config.listen.begin(), config.listen.end(),
                                 [](const std::string& each) { return each.starts_with("tcp://"); });
    if (!tcp)
        return;
    if (config.secret_key_file.empty())
        faults.push_back({"listen", "tcp without a key", "\"secret_key_file\", or ipc:// alone",
                          "over a network both ends must prove who they are: weir-ctrl --make-key FILE"});
    for (std::size_t i = 0; i < config.hosts.size(); ++i)
        if (config.hosts[i].key.empty())
            faults.push_back({at("topology.hosts", i) + ".key", "nothing",
                              "the host's public key, 40 characters of Z85",
                              "with tcp every host needs one: weir-ctrl --make-key FILE prints it"});
}

/// Whoever reserves a part of an appliance that pools divide does so in a pool.
void check_pooled_parts(const ClusterConfig& config, Faults& faults) {
    const std::set<std::string> pooled = pooled_appliances(config.pools);
    for (std::size_t i = 0; i < config.appliances.size(); ++i)
        if (config.appliances[i].latency != 0 && !pooled.contains(config.appliances[i].name))
            faults.push_back({at("appliances", i) + ".latency", "an appliance without pools",
                              "at an appliance that \"pools\" divide",
                              "what may be outstanding is divided by entitlements, which pools have"});
    for (std::size_t i = 0; i < config.tenants.size(); ++i)
        for (std::size_t j = 0; j < config.tenants[i].appliances.size(); ++j) {
            const TenantApplianceConfig& part = config.tenants[i].appliances[j];
            if (!pooled.contains(part.name) || (part.reservation_tokens == 0 && !part.limit_tokens))
                continue;
            const char* key = part.reservation_tokens != 0 ? ".reservation" : ".limit";
            faults.push_back({at("tenants", i) + '.' + at("appliances", j) + key, "a bound beside pools",
                              "none here: put it into a pool of \"" + part.name + '"',
                              "what is divided by pools cannot be promised beside them"});
        }
}

/// What the tenants' entries may name.
struct Known {
    std::set<std::string> hosts;
    std::set<std::string> appliances;
    std::set<std::string> ends;  ///< of flows: each has one name
};

void check_tenant(const TenantConfig& tenant, const std::string& path, Known& known, Faults& faults) {
    for (std::size_t i = 0; i < tenant.vnics.size(); ++i) {
        const TenantVnicConfig& vnic = tenant.vnics[i];
        const std::string own = path + '.' + at("vnics", i);
        if (!vnic.name.empty() && !known.ends.insert(vnic.name).second)
            faults.push_back({own + ".name", '"' + vnic.name + '"', "each name once in the cluster",
                              "another vNIC has it already"});
        check_known(own + ".host", vnic.host, known.hosts, "topology.hosts", faults);
    }
    check_unique((path + ".appliances").c_str(), "name", tenant.appliances,
                 [](const auto& part) { return part.name; }, faults);
    for (std::size_t i = 0; i < tenant.appliances.size(); ++i)
        check_known(path + '.' + at("appliances", i) + ".name", tenant.appliances[i].name, known.appliances,
                    "appliances", faults);
}

}  // namespace

void check_cluster(const ClusterConfig& config, Faults& faults) {
    const auto name = [](const auto& entry) { return entry.name; };
    check_unique("topology.racks", "name", config.racks, name, faults);
    check_unique("topology.hosts", "name", config.hosts, name, faults);
    check_unique(
        "topology.hosts", "key", config.hosts, [](const auto& host) { return host.key; }, faults);
    check_unique("appliances", "name", config.appliances, name, faults);
    check_unique("tenants", "name", config.tenants, name, faults);
    check_keys(config, faults);
    const std::set<std::string> racks = names(config.racks);
    for (std::size_t i = 0; i < config.hosts.size(); ++i)
        check_known(at("topology.hosts", i) + ".rack", config.hosts[i].rack, racks, "topology.racks", faults);
    Known known{names(config.hosts), names(config.appliances), names(config.appliances)};
    for (std::size_t i = 0; i < config.appliances.size(); ++i)
        check_known(at("appliances", i) + ".host", config.appliances[i].host, known.hosts, "topology.hosts",
                    faults);
    for (std::size_t i = 0; i < config.tenants.size(); ++i)
        check_tenant(config.tenants[i], at("tenants", i), known, faults);
    check_pools(config, faults);
    check_pooled_parts(config, faults);
}

}  // namespace weir
