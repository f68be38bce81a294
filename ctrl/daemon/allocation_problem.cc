// allocation_problem.cc - building the matrices of an interval, and reading rates from their solution.
#include "ctrl/daemon/allocation_problem.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/units.h"

namespace weir {
namespace {

/// The ways to and from an appliance get at most this many times the bandwidth that was measured.
constexpr double kWideningMax = 100;

double limit_of(const std::optional<std::uint64_t>& limit, double scale) {
    return limit ? static_cast<double>(*limit) * scale : alloc::kInfinite;
}

double of(const PartTokens& tokens, wire::Part part) {
    return tokens[static_cast<std::size_t>(part)];
}

}  // namespace

AllocationProblem::AllocationProblem(const ClusterConfig& config, double seconds)
    : config_(config), seconds_(seconds) {
    for (const TenantConfig& tenant : config.tenants) {
        tenants_.push_back({.sharing_rule = tenant.sharing_rule, .local = tenant.local, .weight = 1});
        vnic_columns_.emplace_back();
        for (const TenantVnicConfig& vnic : tenant.vnics) {
            const double bytes = seconds / kBitsPerByte;
            const double reserved = static_cast<double>(vnic.reservation_bps) * bytes;
            const double limit = limit_of(vnic.limit_bps, bytes);
            VnicColumns& columns = vnic_columns_.back().emplace_back(VnicColumns{
                add_virtual(reserved, limit), add_virtual(reserved, limit), vnic.reservation_bps != 0});
            if (vnic.limit_bps && !columns.is_reserved) {
                columns.bound_out = add_virtual(alloc::kInfinite, limit);
                columns.bound_in = add_virtual(alloc::kInfinite, limit);
            }
        }
        appliance_columns_.emplace_back();
        for (const TenantApplianceConfig& part : tenant.appliances) {
            const auto appliance =
                std::ranges::find(config.appliances, part.name, &ClusterApplianceConfig::name);
            appliance_columns_.back()[static_cast<std::uint32_t>(appliance - config.appliances.begin())] =
                add_virtual(static_cast<double>(part.reservation_tokens) * seconds,
                            limit_of(part.limit_tokens, seconds));
        }
    }
}

std::uint32_t AllocationProblem::add_virtual(double reserved, double limit) {
    virtual_resources_.push_back({.reserved = reserved, .limit = limit});
    limits_.push_back(limit / seconds_);
    return static_cast<std::uint32_t>(virtual_resources_.size() - 1);
}

bool AllocationProblem::has_limit(TenantIndex tenant, std::uint32_t appliance) const {
    return std::isfinite(limits_[appliance_columns_[tenant].at(appliance)]);
}

/// vNICs on a host whose link does not carry all reservations have a part of theirs.
void AllocationProblem::cut_reservations(const Cluster& cluster) {
    const bool had_cuts = std::exchange(has_cuts_, cluster.has_cuts());
    if (!had_cuts && !has_cuts_)
        return;
    for (TenantIndex tenant = 0; tenant < vnic_columns_.size(); ++tenant)
        for (std::uint32_t i = 0; i < vnic_columns_[tenant].size(); ++i) {
            const VnicColumns& columns = vnic_columns_[tenant][i];
            const double reserved = static_cast<double>(config_.tenants[tenant].vnics[i].reservation_bps) *
                                    seconds_ / kBitsPerByte * cluster.kept_part(cluster.vnic(tenant, i).host);
            virtual_resources_[columns.out].reserved = virtual_resources_[columns.in].reserved = reserved;
        }
}

void AllocationProblem::begin(const Cluster& cluster, std::span<const double> appliance_tokens) {
    for (TenantIndex tenant = 0; tenant < tenants_.size(); ++tenant)
        tenants_[tenant].weight = config_.global_weights == GlobalWeights::kWeights
                                      ? static_cast<double>(config_.tenants[tenant].weight)
                                  : config_.global_weights == GlobalWeights::kGuarantees
                                      ? cluster.guaranteed_share(tenant)
                                      : 1.0;
    cut_reservations(cluster);
    capacity_.clear();
    for (const ClusterResource& resource : cluster.resources())
        capacity_.push_back(resource.kind == ClusterResource::Kind::kTokens ? appliance_tokens[resource.index]
                                                                            : seconds_ * resource.capacity);
    flows_.clear();
    tenant_.clear();
    weights_.clear();
    physical_.clear();
    virtual_.clear();
    parts_.clear();
}

void AllocationProblem::add_flow(const Cluster& cluster, wire::FlowKey flow, PartTokens demand) {
    cluster.path_of(flow, path_);
    if (path_.empty())
        return;
    double scale = 1;
    for (const PathStep& step : path_)
        if (const double wanted = of(demand, step.part); wanted > capacity_[step.resource])
            scale = std::min(scale, capacity_[step.resource] / wanted);
    for (double& part : demand)
        part *= scale;
    for (const PathStep& step : path_) {
        const std::size_t before = physical_.entries();
        physical_.put(step.resource, of(demand, step.part));
        if (physical_.entries() != before)
            parts_.push_back(step.part);
    }
    physical_.end_flow();
    const ClusterEnd& source = *cluster.find_end(flow.source);
    add_virtual_row(source, *cluster.find_end(flow.destination), demand);
    flows_.push_back(flow);
    tenant_.push_back(source.tenant);
    weights_.push_back(config_.tenants[source.tenant].vnics[source.index].weight);
}

/// A flow between vNICs uses the sender's reservation out and the receiver's in. A flow to an appliance uses
/// the tenant's part of it, and the bandwidth of its vNIC only if the vNIC has a reservation or a limit:
/// where a tenant reserved tokens at an appliance but no bandwidth, only the links' capacity limits the
/// bandwidth.
void AllocationProblem::add_virtual_row(const ClusterEnd& source, const ClusterEnd& destination,
                                        const PartTokens& demand) {
    const VnicColumns& vnic = vnic_columns_[source.tenant][source.index];
    const double there = of(demand, wire::Part::kThere);
    if (!destination.is_appliance) {
        const VnicColumns& peer = vnic_columns_[destination.tenant][destination.index];
        put_way(vnic.out, vnic.bound_out, there);
        put_way(peer.in, peer.bound_in, there);
    } else {
        put_way(vnic.is_reserved ? vnic.out : alloc::kNone, vnic.bound_out, there);
        put_way(vnic.is_reserved ? vnic.in : alloc::kNone, vnic.bound_in, of(demand, wire::Part::kBack));
        virtual_.put(appliance_columns_[source.tenant].at(destination.index),
                     of(demand, wire::Part::kAppliance));
    }
    virtual_.end_flow();
}

void AllocationProblem::put_way(std::uint32_t column, std::uint32_t bound, double tokens) {
    if (column != alloc::kNone)
        virtual_.put(column, tokens);
    if (bound != alloc::kNone)
        virtual_.put(bound, tokens);
}

alloc::VdcProblem AllocationProblem::view() const {
    return {.demand = physical_,
            .inside = virtual_,
            .tenant = tenant_,
            .weights = weights_,
            .tenants = tenants_,
            .capacity = capacity_,
            .resources = virtual_resources_,
            .give_spare = true};
}

/// Factors for the rates on the ways to and from an appliance. Sizes of requests vary between intervals; on
/// links with room, a rate for the last interval's sizes would hold requests back needlessly.
PartTokens AllocationProblem::widening_of(const Cluster& cluster, std::uint32_t index,
                                          const alloc::VdcAllocation& allocation) const {
    PartTokens widening{1, 1, 1};
    const bool is_fixed = config_.tenants[tenant_[index]].sharing_rule == alloc::SharingRule::kFixed;
    if (is_fixed || !cluster.find_end(flows_[index].destination)->is_appliance)
        return widening;
    widening[wire::kThere] = widening[wire::kBack] = kWideningMax;
    for (const std::uint32_t at : physical_.row(index)) {
        const std::uint32_t resource = physical_.resource()[at];
        double& factor = widening[static_cast<std::size_t>(parts_[at])];
        factor =
            std::min(factor, std::max(1.0, capacity_[resource] / std::max(allocation.used[resource], 1.0)));
    }
    return widening;
}

/// Numbers of the limits that the flow's parts count against.
void AllocationProblem::set_limits(const ClusterEnd& source, const ClusterEnd& destination,
                                   FlowParts& parts) const {
    const VnicColumns& vnic = vnic_columns_[source.tenant][source.index];
    parts[wire::kThere].limits[0] = vnic.out;
    if (destination.is_appliance) {
        parts[wire::kTokens].limits[0] = appliance_columns_[source.tenant].at(destination.index);
        parts[wire::kBack].limits[0] = vnic.in;
    } else {
        parts[wire::kThere].limits[1] = vnic_columns_[destination.tenant][destination.index].in;
    }
}

double AllocationProblem::demand_of(std::uint32_t index, wire::Part part) const {
    for (const std::uint32_t at : physical_.row(index))
        if (parts_[at] == part)
            return physical_.tokens()[at] / seconds_;
    return 0;
}

std::string AllocationProblem::owner_of(std::uint32_t resource) const {
    for (TenantIndex tenant = 0; tenant < config_.tenants.size(); ++tenant) {
        const TenantConfig& config = config_.tenants[tenant];
        for (std::size_t i = 0; i < config.vnics.size(); ++i)
            if (const VnicColumns& columns = vnic_columns_[tenant][i];
                columns.out == resource || columns.in == resource || columns.bound_out == resource ||
                columns.bound_in == resource)
                return "vNIC " + config.vnics[i].name;
        for (const auto& [appliance, column] : appliance_columns_[tenant])
            if (column == resource)
                return "tenant " + config.name + " at appliance " + config_.appliances[appliance].name;
    }
    return {};
}

/// The least of the part's limits.
double AllocationProblem::most_of(const PartRate& part) const {
    double most = alloc::kInfinite;
    for (const std::uint32_t limit : part.limits)
        if (limit != alloc::kNone)
            most = std::min(most, limits_[limit]);
    return most;
}

AllocationProblem::FlowParts AllocationProblem::parts_of(const Cluster& cluster, std::uint32_t index,
                                                         const alloc::VdcAllocation& allocation) {
    FlowParts parts;
    const wire::FlowKey flow = flows_[index];
    set_limits(*cluster.find_end(flow.source), *cluster.find_end(flow.destination), parts);
    for (const std::uint32_t at : physical_.row(index)) {
        PartRate& part = parts[static_cast<std::size_t>(parts_[at])];
        const double tokens =
            (allocation.local[at] + allocation.global[at] + allocation.spare[at]) / seconds_;
        part.allocated = part.is_stated ? std::min(part.allocated, tokens) : tokens;
        part.is_stated = true;
    }
    const PartTokens widening = widening_of(cluster, index, allocation);
    for (std::size_t i = 0; i < wire::kParts; ++i)
        parts[i].wanted = widening[i] * parts[i].allocated;
    // A part without demand has no rate, unless a limit holds there.
    if (std::ranges::none_of(
            parts, [this](const PartRate& part) { return !part.is_stated && std::isfinite(most_of(part)); }))
        return parts;
    cluster.path_of(flow, path_);
    for (const PathStep& step : path_) {
        PartRate& part = parts[static_cast<std::size_t>(step.part)];
        if (const double most = most_of(part); !part.is_stated && std::isfinite(most))
            part = {.is_stated = true, .wanted = most, .limits = part.limits};
    }
    return parts;
}

}  // namespace weir
