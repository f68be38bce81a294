// topology_promises.cc - the controller's promises to vNICs in the place of the file's values.
// Units: in the field names.
#include <spdlog/spdlog.h>

#include <utility>

#include "vswitch/config/promised_vnic.h"
#include "vswitch/topology/topology.h"

namespace weir {

const VnicPromise* Topology::controller_promise(const std::string& vnic) const {
    const auto found = promises_.by_vnic.find(vnic);
    return found == promises_.by_vnic.end() ? nullptr : &found->second;
}

VnicConfig Topology::in_force(const VnicConfig& file) const {
    const VnicPromise* const promise = controller_promise(file.name);
    return promise == nullptr ? file : with_promise(file, *promise, config_.accounting);
}

VnicPromises Topology::promises() const {
    const std::scoped_lock lock(mutex_);
    return promises_;
}

/// The profiles that were not posted because a worker did not answer are still due in the next call.
void Topology::set_promises(const VnicPromises& promises) {
    const std::scoped_lock lock(mutex_);
    if (promises == promises_)
        return post_due_profiles();
    take_snapshots();
    const VnicPromises before = std::exchange(promises_, promises);
    for (const auto& vnic : vnics_) {
        if (!vnic)
            continue;
        const auto old = before.by_vnic.find(vnic->config.name);
        const VnicPromise* const now = controller_promise(vnic->config.name);
        const bool is_same =
            old == before.by_vnic.end() ? now == nullptr : now != nullptr && *now == old->second;
        if (is_same)
            continue;
        change_guarantee(*vnic, vnic->config);
        vnic->profile_due = true;
        name_differences(*vnic);
    }
    post_due_profiles();
}

VnicPromiseReport Topology::report_promise(const VnicConfig& file) const {
    const VnicPromise* const promise = controller_promise(file.name);
    if (promise == nullptr)
        return {};
    return {.from = promises_.is_kept ? "kept" : "controller",
            .differences = differences_from_file(*promise, file)};
}

/// Once, until there are others.
void Topology::name_differences(Vnic& vnic) const {
    std::vector<PromiseDifference> now = report_promise(vnic.config).differences;
    if (now == vnic.differences_named)
        return;
    vnic.differences_named = std::move(now);
    if (!vnic.differences_named.empty())
        spdlog::warn(
            "vNIC {}: the controller's specification holds, and the file states other values: {}; remove "
            "them "
            "from the file",
            vnic.config.name, text_of(vnic.differences_named));
}

}  // namespace weir
