// removed_vnics.cc - difference of two cluster files.
#include "ctrl/daemon/removed_vnics.h"

#include <map>
#include <set>
#include <string>
#include <variant>

namespace weir {

std::vector<RemovedVnic> removed_vnics(const std::vector<RemovedVnic>& so_far, const ClusterConfig& before,
                                       const ClusterConfig& now, std::int64_t unix_time) {
    std::set<std::string> present;
    for (const TenantConfig& tenant : now.tenants)
        for (const TenantVnicConfig& vnic : tenant.vnics)
            present.insert(vnic.name);
    std::map<std::string, RemovedVnic> removed;
    for (const RemovedVnic& each : so_far)
        if (unix_time - each.unix_time < kRemovedKept && !present.contains(each.name))
            removed.emplace(each.name, each);
    for (const TenantConfig& tenant : before.tenants)
        for (const TenantVnicConfig& vnic : tenant.vnics)
            if (!present.contains(vnic.name))
                removed.insert_or_assign(
                    vnic.name, RemovedVnic{vnic.name, tenant.name, vnic.reservation_bps, unix_time});
    std::vector<RemovedVnic> ordered;
    for (auto& [name, vnic] : removed)
        ordered.push_back(std::move(vnic));
    return ordered;
}

void note_removed_vnics(Store& store, const ClusterConfig& now, std::int64_t unix_time) {
    const std::optional<std::string> text = store.specification();
    const auto before = parse_cluster(text.value_or(""));
    const std::vector<RemovedVnic> so_far = store.removed_vnics();
    const auto* config = std::get_if<ClusterConfig>(&before);
    const std::vector<RemovedVnic> all =
        removed_vnics(so_far, config == nullptr ? now : *config, now, unix_time);
    if (all != so_far)
        store.save_removed_vnics(all);
}

}  // namespace weir
