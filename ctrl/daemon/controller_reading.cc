// controller_reading.cc - the controller's reading of itself.
#include "ctrl/daemon/controller_reading.h"

#include <algorithm>

#include "common/units.h"
#include "ctrl/daemon/controller_commands.h"

namespace weir {
namespace {

std::vector<ApplianceReading> appliances_of(const World& world) {
    std::vector<ApplianceReading> out;
    const nlohmann::json described = world.solver->describe_appliances();
    for (const ClusterApplianceConfig& config : world.config.appliances) {
        ApplianceReading& one = out.emplace_back();
        one.name = config.name;
        one.capacity_min = static_cast<double>(config.capacity_min);
        one.capacity_max = static_cast<double>(config.capacity_max);
        if (out.size() > described.size())
            continue;
        const nlohmann::json& state = described[out.size() - 1];
        one.phase = state.value("phase", "");
        one.estimate = state.value("estimate", 0.0);
        one.allocate = state.value("allocate", 0.0);
    }
    return out;
}

bool is_reserved(const World& world, const ClusterEnd& end) {
    return world.config.tenants[end.tenant].vnics[end.index].reservation_bps != 0;
}

/// The tenant of a flow's source on a connected host. Flows of one source follow each other, so that each
/// source is looked up once.
class TenantOfSource {
  public:
    TenantOfSource(const World& world, const Sessions& sessions) : world_(world), sessions_(sessions) {}
    TenantIndex operator()(wire::FlowKey flow) {
        if (flow.source == source_)
            return tenant_;
        source_ = flow.source;
        const ClusterEnd* end = world_.cluster.find_end(flow.source);
        const bool has_host = end != nullptr && end->host != kNowhere;
        const Session* session = has_host ? sessions_.of_host(end->host) : nullptr;
        tenant_ = session != nullptr && !session->is_silent ? end->tenant : kNowhere;
        return tenant_;
    }

  private:
    const World& world_;
    const Sessions& sessions_;
    std::uint32_t source_ = wire::kWholeHost;
    TenantIndex tenant_ = kNowhere;
};

std::vector<TenantReading> tenants_of(const World& world, const Sessions& sessions) {
    std::vector<TenantReading> out;
    out.reserve(world.config.tenants.size());
    for (const TenantConfig& tenant : world.config.tenants) {
        TenantReading& one =
            out.emplace_back(TenantReading{.name = tenant.name, .vnics = tenant.vnics.size()});
        for (const TenantVnicConfig& vnic : tenant.vnics)
            one.reserved += static_cast<double>(vnic.reservation_bps) / double{kBitsPerByte};
    }
    TenantOfSource tenant_of(world, sessions);
    const double seconds = to_seconds(world.config.interval);
    for (const auto& [flow, demand] : world.demands.flows())
        if (const TenantIndex tenant = tenant_of(flow); tenant != kNowhere)
            out[tenant].used += double{demand.used[wire::kThere]} / seconds;
    for (const Session* session : sessions.active())
        for (const wire::FlowAllocation& record : session->rates)
            if (const TenantIndex tenant = tenant_of(record.flow);
                tenant != kNowhere && record.rate[wire::kThere] != wire::kNoStatement)
                out[tenant].allocated += static_cast<double>(record.rate[wire::kThere]);
    return out;
}

}  // namespace

HostReading Controller::read_host(HostIndex host, Nanos now) const {
    const Session* session = sessions_.of_host(host);
    const Cluster& cluster = world_->cluster;
    HostReading one{.name = world_->config.hosts[host].name,
                    .state = name_of_state(session),
                    .link = cluster.link_plan(host),
                    .vnics = cluster.vnics_of(host).size()};
    if (one.link.kept_part < 1)
        for (const std::uint32_t id : cluster.vnics_of(host))
            one.cut_vnics += is_reserved(*world_, *cluster.find_end(id)) ? 1 : 0;
    if (session == nullptr)
        return one;
    one.has_session = true;
    one.silence = now > session->last_message ? now - session->last_message : 0;
    one.flows = session->rates.size();
    one.refused = session->refused_vnics.size();
    for (const Refusal& refusal : session->refused_vnics)
        if (const ClusterEnd* end = cluster.find_vnic(refusal.vnic.name))
            one.unkept += is_reserved(*world_, *end) ? 1 : 0;
    one.left_out = session->endpoints_left_out;
    one.revision = session->revision;
    if (const auto kept = kept_.find(host); kept != kept_.end() && kept->second.until > now)
        one.kept = kept->second.until - now;
    return one;
}

ControllerReading Controller::read(const ConnectionCounters& connections, Nanos now) const {
    ControllerReading reading{.cluster = world_->config.name,
                              .epoch = epoch_,
                              .interval = interval_,
                              .interval_length = world_->config.interval,
                              .revision = revision_,
                              .unix_time = unix_time_,
                              .flows = world_->demands.flows().size(),
                              .tenants = tenants_of(*world_, sessions_),
                              .appliances = appliances_of(*world_),
                              .counters = counters_,
                              .connections = connections,
                              .store = writes_.state(),
                              .audit_waiting = writes_.waiting().size(),
                              .bill = store_.bill().state(),
                              .periods = usage_desk_.counters()};
    reading.hosts.reserve(world_->config.hosts.size());
    for (HostIndex host = 0; host < world_->config.hosts.size(); ++host)
        reading.hosts.push_back(read_host(host, now));
    if (loop_report_)
        reading.loop = loop_report_();
    return reading;
}

}  // namespace weir
