// promises.cc - promises into TABLES, and the differences from switches' files.
#include "ctrl/daemon/promises.h"

#include <algorithm>

namespace weir {
namespace {

constexpr std::size_t kNamedMax = 20;

const TenantVnicConfig& config_of(const Cluster& cluster, const ClusterEnd& vnic) {
    return cluster.config().tenants[vnic.tenant].vnics[vnic.index];
}

bool has_worker_promises(const Cluster& cluster, HostIndex host) {
    return std::ranges::any_of(cluster.vnics_of(host), [&cluster](std::uint32_t id) {
        return config_of(cluster, *cluster.find_end(id)).worker != WorkerPromise{};
    });
}

bool takes_worker_promises(const Session& session) {
    return wire::has(session.capabilities, wire::capability::kWorkerPromises);
}

/// The part of the promise that the session's switch takes.
VnicPromise promise_to(const Session& session, const TenantVnicConfig& vnic) {
    VnicPromise promise = promise_of(vnic);
    if (!takes_worker_promises(session))
        promise.worker = {};
    return promise;
}

}  // namespace

VnicPromise promise_of(const TenantVnicConfig& vnic) {
    return {.guarantee = vnic.guarantee,
            .reservation_bps = vnic.reservation_bps,
            .size_bytes = vnic.size_bytes,
            .time = vnic.time,
            .limit_bps = vnic.limit_bps,
            .shares = vnic.weight,
            .worker = vnic.worker};
}

bool takes_promises(const Session& session) {
    return session.tables_by_need && wire::has(session.capabilities, wire::capability::kVnicPromises);
}

void add_promises(const Cluster& cluster, const Session& session, wire::Tables& tables) {
    if (!takes_promises(session))
        return;
    std::size_t left = wire::kPromisesMax;
    for (wire::Endpoint& end : tables.endpoints) {
        const ClusterEnd* const vnic = cluster.find_end(end.id);
        if (vnic == nullptr || vnic->is_appliance || vnic->host != session.host)
            continue;
        if (left-- == 0)
            return;
        end.promise = promise_to(session, config_of(cluster, *vnic));
    }
}

std::vector<std::string> promise_warnings(const Cluster& cluster, const Session& session) {
    if (!takes_promises(session))
        return {
            "the switch does not know promises: reservations, limits, shares and guarantee kinds at its "
            "uplink are those of its own file; upgrade its weir-switch"};
    std::vector<std::string> warnings;
    if (!takes_worker_promises(session) && has_worker_promises(cluster, session.host))
        warnings.emplace_back(
            "the switch does not know promises of packets, cycles and encryption: these are those of its own "
            "file; upgrade its weir-switch");
    std::size_t others = 0;
    for (const auto& [name, file] : session.stated) {
        const ClusterEnd* const vnic = cluster.find_vnic(name);
        if (vnic == nullptr || vnic->host != session.host)
            continue;
        const std::vector<PromiseDifference> differing =
            differences(promise_to(session, config_of(cluster, *vnic)), file);
        if (differing.empty())
            continue;
        if (warnings.size() == kNamedMax)
            ++others;
        else
            warnings.push_back("vNIC " + name +
                               ": the switch's file states other values than the specification, " +
                               "whose hold: " + text_of(differing) + "; remove them from that file");
    }
    if (others != 0)
        warnings.push_back(std::to_string(others) +
                           " more vNICs of which the switch's file states other values");
    return warnings;
}

}  // namespace weir
