// new_revision.cc - ids that are new or retired, and vNICs that are removed or back.
#include "ctrl/daemon/new_revision.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <variant>

#include "ctrl/config/audited_values.h"
#include "ctrl/config/cluster_change.h"

namespace weir {
namespace {

using nlohmann::json;

struct Owner {
    std::string_view tenant;
    std::uint64_t reservation_bps = 0;
};
using Owners = std::unordered_map<std::string_view, Owner>;  // by vNIC

Owners owners_of(const ClusterConfig& config) {
    Owners owners;
    std::size_t vnics = 0;
    for (const TenantConfig& tenant : config.tenants)
        vnics += tenant.vnics.size();
    owners.reserve(vnics);
    for (const TenantConfig& tenant : config.tenants)
        for (const TenantVnicConfig& vnic : tenant.vnics)
            owners.emplace(vnic.name, Owner{tenant.name, vnic.reservation_bps});
    return owners;
}

/// vNICs of earlier revisions, and of the one before, that the new one does not have in their tenant.
std::vector<RemovedVnic> removed_by(Store& store, const Owners& before, const Owners& now,
                                    std::int64_t unix_time) {
    const auto is_there = [&now](std::string_view name, std::string_view tenant) {
        const auto found = now.find(name);
        return found != now.end() && found->second.tenant == tenant;
    };
    std::vector<RemovedVnic> removed;
    for (RemovedVnic& each : store.removed_vnics())
        if (unix_time - each.unix_time < kRemovedKept && !is_there(each.name, each.tenant))
            removed.push_back(std::move(each));
    for (const auto& [name, owner] : before)
        if (!is_there(name, owner.tenant))
            if (const auto id = store.find_endpoint("vnic", name))
                removed.push_back(
                    {*id, std::string(name), std::string(owner.tenant), owner.reservation_bps, unix_time});
    std::ranges::sort(removed, {}, [](const RemovedVnic& each) { return std::tie(each.name, each.id); });
    return removed;
}

}  // namespace

NewRevision new_revision(Store& store, const ClusterConfig* before, const ClusterConfig& now,
                         std::string_view text, std::int64_t unix_time) {
    NewRevision revision{.text = text};
    const Owners owners = owners_of(now);
    const Owners earlier = before == nullptr ? Owners{} : owners_of(*before);
    revision.removed = removed_by(store, earlier, owners, unix_time);
    std::unordered_map<std::string_view, std::uint32_t> retired;  // by name
    for (const RemovedVnic& vnic : revision.removed)
        if (owners.contains(vnic.name) && store.find_endpoint("vnic", vnic.name) == vnic.id)
            retired.emplace(vnic.name, vnic.id);
    std::uint32_t next = store.next_endpoint();
    const auto add = [&](const char* kind, const std::string& name) {
        const auto known = store.find_endpoint(kind, name);
        if (known && !retired.contains(name))
            revision.ends.back.push_back({*known, kind, name});
        else
            revision.ends.added.push_back({next++, kind, name});
    };
    for (const ClusterApplianceConfig& appliance : now.appliances)
        add("appliance", appliance.name);
    for (const TenantConfig& tenant : now.tenants)
        for (const TenantVnicConfig& vnic : tenant.vnics) {
            const auto known = earlier.find(vnic.name);
            if (known != earlier.end() && known->second.tenant == tenant.name)
                continue;
            add("vnic", vnic.name);
        }
    for (const auto& [name, id] : retired)
        revision.ends.retired.push_back(id);
    return revision;
}

Cluster::IdOf ids_under(const EndpointChanges& ends, const Cluster& before) {
    std::map<std::pair<std::string, std::string>, std::uint32_t, std::less<>> ids;
    for (const auto* list : {&ends.added, &ends.back})
        for (const EndpointChanges::Added& each : *list)
            ids.emplace(std::pair(each.kind, each.name), each.id);
    return [&before, ids = std::move(ids)](std::string_view kind, std::string_view name) -> std::uint32_t {
        const auto found = ids.find(std::pair(std::string(kind), std::string(name)));
        if (found != ids.end())
            return found->second;
        const ClusterEnd* end = before.find_vnic(name);  // of an appliance the id is listed
        return end == nullptr ? 0 : end->id;
    };
}

std::int64_t import_specification(Store& store, const ClusterConfig& now, std::string_view text,
                                  const std::string& author, std::int64_t unix_time) {
    const std::optional<std::string> last = store.specification();
    if (last == text)
        return store.revision();
    const auto parsed = parse_cluster(last.value_or(""));
    NewRevision revision = new_revision(store, std::get_if<ClusterConfig>(&parsed), now, text, unix_time);
    revision.author = author;
    const AuditedValues audited =
        audited_values(changed_values(last ? cluster_part(*last) : json::object(), cluster_part(text)));
    revision.values = audited.list;
    revision.values_in_all = audited.in_all;
    return store.add_revision(revision, unix_time);
}

}  // namespace weir
