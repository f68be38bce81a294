// cluster.cc - the cluster built from its file; endpoints and paths, places of vNICs, floors of flows.
#include "ctrl/daemon/cluster.h"

#include <algorithm>
#include <cmath>

#include "common/units.h"

namespace weir {
namespace {

using Kind = ClusterResource::Kind;

template <typename List>
std::uint32_t index_of(const List& list, const std::string& name) {
    const auto found = std::ranges::find(list, name, &List::value_type::name);
    return found == list.end() ? kNowhere : static_cast<std::uint32_t>(found - list.begin());
}

}  // namespace

std::string cut_text(const LinkPlan& plan) {
    const auto bits = [](double bytes) {
        return format_rate(static_cast<std::uint64_t>(std::llround(bytes * double{kBitsPerByte})));
    };
    return "its vNICs reserve " + bits(plan.reserved) + " of its uplink, of which " + bits(plan.planned) +
           " are planned: each reservation is cut to " +
           std::to_string(static_cast<int>(plan.kept_part * 100)) + "%";
}

Cluster::Cluster(const ClusterConfig& config, const IdOf& id_of) : config_(config) {
    for (HostIndex host = 0; host < config.hosts.size(); ++host) {
        hosts_.emplace(config.hosts[host].name, host);
        host_rack_.push_back(index_of(config.racks, config.hosts[host].rack));
    }
    host_vnics_.resize(config.hosts.size());
    host_reserved_.resize(config.hosts.size());
    link_plans_.resize(config.hosts.size());
    const std::set<std::string> pooled = pooled_appliances(config.pools);
    for (std::uint32_t i = 0; i < config.appliances.size(); ++i)
        if (pooled.contains(config.appliances[i].name))
            pooled_.emplace(i, parts_in_pools(config.pools, config.appliances[i].name));
    add_resources();
    add_ends(id_of);
    std::ranges::sort(ends_, {}, &ClusterEnd::id);
    index_.reserve(ends_.size());
    for (const ClusterEnd& end : ends_)
        index_.emplace(end.id, static_cast<std::uint32_t>(index_.size()));
    for (HostIndex host = 0; host < config.hosts.size(); ++host)
        plan_link(host);
}

ResourceIndex Cluster::add(Kind kind, std::uint32_t index, double capacity) {
    resources_.push_back({kind, index, capacity});
    return static_cast<ResourceIndex>(resources_.size() - 1);
}

void Cluster::add_resources() {
    for (std::uint32_t i = 0; i < config_.hosts.size(); ++i) {
        host_out_.push_back(add(Kind::kHostOut, i, allocatable_bytes(config_.hosts[i].uplink_bps)));
        add(Kind::kHostIn, i, allocatable_bytes(config_.hosts[i].uplink_bps));
    }
    for (std::uint32_t i = 0; i < config_.racks.size(); ++i) {
        rack_out_.push_back(add(Kind::kRackOut, i, allocatable_bytes(config_.racks[i].uplink_bps)));
        add(Kind::kRackIn, i, allocatable_bytes(config_.racks[i].uplink_bps));
    }
    for (std::uint32_t i = 0; i < config_.appliances.size(); ++i) {
        const ClusterApplianceConfig& appliance = config_.appliances[i];
        tokens_.push_back(add(Kind::kTokens, i, static_cast<double>(appliance.capacity_min)));
        if (appliance.link_bps == 0)
            continue;
        add(Kind::kLinkIn, i, allocatable_bytes(appliance.link_bps));
        add(Kind::kLinkOut, i, allocatable_bytes(appliance.link_bps));
    }
}

void Cluster::add_ends(const IdOf& id_of) {
    for (std::uint32_t i = 0; i < config_.appliances.size(); ++i) {
        const ClusterEnd end{.id = id_of("appliance", config_.appliances[i].name),
                             .is_appliance = true,
                             .index = i,
                             .host = index_of(config_.hosts, config_.appliances[i].host)};
        appliance_ends_.push_back(end.id);
        ends_.push_back(end);
    }
    users_.resize(config_.appliances.size());
    for (TenantIndex tenant = 0; tenant < config_.tenants.size(); ++tenant) {
        const TenantConfig& each = config_.tenants[tenant];
        tenant_vnics_.emplace_back();
        for (std::uint32_t i = 0; i < each.vnics.size(); ++i) {
            const ClusterEnd end{.id = id_of("vnic", each.vnics[i].name), .index = i, .tenant = tenant};
            vnics_.emplace(each.vnics[i].name, end.id);
            tenant_vnics_.back().push_back(end.id);
            ends_.push_back(end);
        }
        tenant_weights_.push_back(0);
        tenant_reserved_.push_back(0);
        for (const TenantVnicConfig& vnic : each.vnics) {
            tenant_weights_.back() += vnic.weight;
            tenant_reserved_.back() += vnic.reservation_bps;
        }
        tenant_parts_.emplace_back();
        for (const TenantApplianceConfig& part : each.appliances) {
            tenant_parts_.back().push_back({index_of(config_.appliances, part.name), &part});
            users_[tenant_parts_.back().back().appliance] += each.vnics.size();
        }
    }
}

HostIndex Cluster::find_host(std::string_view name) const {
    const auto found = hosts_.find(name);
    return found == hosts_.end() ? kNowhere : found->second;
}

const ClusterEnd* Cluster::find_end(std::uint32_t id) const {
    const auto found = index_.find(id);
    return found == index_.end() ? nullptr : &ends_[found->second];
}

const ClusterEnd* Cluster::find_vnic(std::string_view name) const {
    const auto found = vnics_.find(name);
    return found == vnics_.end() ? nullptr : find_end(found->second);
}

std::vector<std::uint32_t> Cluster::vnics() const {
    std::vector<std::uint32_t> ids;
    for (const ClusterEnd& end : ends_)
        if (!end.is_appliance)
            ids.push_back(end.id);
    return ids;
}

const std::string& Cluster::name_of(const ClusterEnd& end) const {
    return end.is_appliance ? config_.appliances[end.index].name
                            : config_.tenants[end.tenant].vnics[end.index].name;
}

void Cluster::set_uplink(HostIndex host, std::uint64_t bps) {
    double bytes = allocatable_bytes(config_.hosts[host].uplink_bps);
    if (bps != 0)
        bytes = std::min(bytes, static_cast<double>(bps) / kBitsPerByte);
    resources_[host_out_[host]].capacity = resources_[host_out_[host] + 1].capacity = bytes;
    plan_link(host);
}

void Cluster::reserve(const ClusterEnd& vnic, HostIndex host, bool is_there) {
    const std::uint64_t bps = config_.tenants[vnic.tenant].vnics[vnic.index].reservation_bps;
    host_reserved_[host][vnic.tenant] += is_there ? bps : -bps;
    plan_link(host);
}

void Cluster::plan_link(HostIndex host) {
    LinkPlan& plan = link_plans_[host];
    plan = {.planned = uplink_bytes(host)};
    double usable = 0;
    for (const auto& [tenant, bps] : host_reserved_[host]) {
        plan.reserved += static_cast<double>(bps) / kBitsPerByte;
        const std::uint64_t others =
            config_.tenants[tenant].appliances.empty() ? tenant_reserved_[tenant] - bps : bps;
        usable += static_cast<double>(std::min(bps, others)) / kBitsPerByte;
    }
    if (planned_part(host) >= 1 || usable <= plan.planned)
        return;
    const double whole = allocatable_bytes(config_.hosts[host].uplink_bps);
    plan.kept_part = plan.planned / (config_.overcommit ? std::min(plan.reserved, whole) : plan.reserved);
}

/// Of the file's plan of the host's link: below 1 while its switch states less.
double Cluster::planned_part(HostIndex host) const {
    return uplink_bytes(host) / allocatable_bytes(config_.hosts[host].uplink_bps);
}

bool Cluster::has_cuts() const {
    return std::ranges::any_of(link_plans_, [](const LinkPlan& plan) { return plan.kept_part < 1; });
}

void Cluster::place_vnic(std::uint32_t id, HostIndex host, const std::string& mac, std::uint16_t vlan,
                         bool states_tenant) {
    remove_vnic(id);
    ClusterEnd& end = ends_[index_.at(id)];
    end.host = host;
    end.mac = mac;
    end.vlan = vlan;
    end.states_tenant = states_tenant;
    host_vnics_[host].insert(id);
    reserve(end, host, true);
    if (!mac.empty())
        addresses_[{end.tenant, vlan, mac}].insert(id);
}

void Cluster::remove_vnic(std::uint32_t id) {
    ClusterEnd& end = ends_[index_.at(id)];
    if (end.host == kNowhere)
        return;
    host_vnics_[end.host].erase(id);
    reserve(end, end.host, false);
    end.host = kNowhere;
    if (const auto at = addresses_.find({end.tenant, end.vlan, end.mac}); at != addresses_.end()) {
        at->second.erase(id);
        if (at->second.empty())
            addresses_.erase(at);
    }
}

const ClusterEnd* Cluster::find_peer(TenantIndex tenant, const std::string& mac, std::uint16_t vlan) const {
    const auto found = addresses_.find({tenant, vlan, mac});
    return found == addresses_.end() ? nullptr : find_end(*found->second.begin());
}

std::vector<std::uint32_t> Cluster::appliances_of(TenantIndex tenant) const {
    std::vector<std::uint32_t> ids;
    for (const Part& part : tenant_parts_[tenant])
        ids.push_back(appliance_ends_[part.appliance]);
    return ids;
}

const TenantApplianceConfig* Cluster::part_of(TenantIndex tenant, std::uint32_t appliance) const {
    const auto& parts = tenant_parts_[tenant];
    const auto found = std::ranges::find(parts, appliance, &Part::appliance);
    return found == parts.end() ? nullptr : found->config;
}

bool Cluster::allows(wire::FlowKey flow) const {
    const ClusterEnd* source = find_end(flow.source);
    const ClusterEnd* destination = find_end(flow.destination);
    if (source == nullptr || destination == nullptr || source->is_appliance || source == destination)
        return false;
    return destination->is_appliance ? part_of(source->tenant, destination->index) != nullptr
                                     : destination->tenant == source->tenant;
}

void Cluster::add_links(HostIndex from, HostIndex to, wire::Part part, std::vector<PathStep>& out) const {
    if (from == to)
        return;
    const std::uint32_t from_rack = from == kNowhere ? kNowhere : host_rack_[from];
    const std::uint32_t to_rack = to == kNowhere ? kNowhere : host_rack_[to];
    if (from != kNowhere)
        out.push_back({host_out_[from], part});
    if (from_rack != kNowhere && from_rack != to_rack)
        out.push_back({rack_out_[from_rack], part});
    if (to_rack != kNowhere && from_rack != to_rack)
        out.push_back({rack_out_[to_rack] + 1, part});
    if (to != kNowhere)
        out.push_back({host_out_[to] + 1, part});
}

void Cluster::path_of(wire::FlowKey flow, std::vector<PathStep>& out) const {
    out.clear();
    const ClusterEnd& source = end_of(flow.source);
    const ClusterEnd& destination = end_of(flow.destination);
    if (source.host == kNowhere || (!destination.is_appliance && destination.host == kNowhere))
        return;
    add_links(source.host, destination.host, wire::Part::kThere, out);
    if (!destination.is_appliance)
        return;
    const ResourceIndex tokens = tokens_[destination.index];
    out.push_back({tokens, wire::Part::kAppliance});
    add_links(destination.host, source.host, wire::Part::kBack, out);
    if (config_.appliances[destination.index].link_bps != 0) {
        out.push_back({tokens + 1, wire::Part::kThere});
        out.push_back({tokens + 2, wire::Part::kBack});
    }
}

double Cluster::guaranteed_share(TenantIndex tenant) const {
    double share = 1e-4;
    for (const Part& part : tenant_parts_[tenant])
        share = std::max(share, static_cast<double>(part.config->reservation_tokens) /
                                    resources_[tokens_[part.appliance]].capacity);
    std::map<HostIndex, double> bytes;
    for (const std::uint32_t id : tenant_vnics_[tenant])
        if (const ClusterEnd& vnic = end_of(id); vnic.host != kNowhere)
            bytes[vnic.host] +=
                static_cast<double>(config_.tenants[tenant].vnics[vnic.index].reservation_bps) / kBitsPerByte;
    for (const auto& [host, reserved] : bytes)
        share = std::max(share, reserved * kept_part(host) / resources_[host_out_[host]].capacity);
    return share;
}

wire::Endpoint Cluster::endpoint_of(const ClusterEnd& end, bool with_floor) const {
    wire::Endpoint out{.id = end.id, .name = name_of(end)};
    if (end.is_appliance) {
        out.kind = wire::Endpoint::Kind::kAppliance;
        return out;
    }
    out.tenant = config_.tenants[end.tenant].name;
    if (end.host != kNowhere)
        out.host = config_.hosts[end.host].name;
    out.mac = end.mac;
    out.vlan = end.vlan;
    if (with_floor)
        out.floor = static_cast<std::uint64_t>(std::max(peer_floor(end), 1.0));
    return out;
}

wire::Tables Cluster::tables_of(HostIndex host, bool with_floors) const {
    wire::Tables tables;
    std::set<TenantIndex> tenants;
    std::set<std::uint32_t> ends;
    for (const std::uint32_t id : host_vnics_[host])
        tenants.insert(end_of(id).tenant);
    for (const TenantIndex tenant : tenants) {
        ends.insert(tenant_vnics_[tenant].begin(), tenant_vnics_[tenant].end());
        for (const Part& part : tenant_parts_[tenant])
            ends.insert(appliance_ends_[part.appliance]);
    }
    for (const std::uint32_t id : ends)
        tables.endpoints.push_back(endpoint_of(end_of(id), with_floors));
    for (const std::uint32_t id : host_vnics_[host]) {
        const ClusterEnd& vnic = end_of(id);
        for (const Part& part : tenant_parts_[vnic.tenant])
            tables.guarantees.push_back(guarantee_of({id, appliance_ends_[part.appliance]}));
    }
    return tables;
}

std::vector<wire::FlowKey> Cluster::reserved_requests(std::uint32_t vnic) const {
    std::vector<wire::FlowKey> flows;
    const ClusterEnd& source = end_of(vnic);
    for (const Part& part : tenant_parts_[source.tenant])
        if (part_tokens(source, part.appliance).reservation > 0)
            flows.push_back({vnic, appliance_ends_[part.appliance]});
    return flows;
}

wire::FlowAllocation Cluster::guarantee_of(wire::FlowKey flow) const {
    wire::FlowAllocation guarantee{.flow = flow};
    guarantee.rate[wire::kTokens] = floor_tokens(flow);
    return guarantee;
}

double Cluster::allocatable_bytes(std::uint64_t link_bps) const {
    return static_cast<double>(link_bps) * ((1 - config_.headroom) / kBitsPerByte);
}

/// Tokens per second that are a vNIC's of an appliance: in its pools, else its part, by weight, of those of
/// its tenant.
PoolPart Cluster::part_tokens(const ClusterEnd& vnic, std::uint32_t appliance) const {
    const TenantConfig& tenant = config_.tenants[vnic.tenant];
    const TenantVnicConfig& config = tenant.vnics[vnic.index];
    if (const auto pooled = pooled_.find(appliance); pooled != pooled_.end()) {
        const auto part = pooled->second.find(config.name);
        return part == pooled->second.end() ? PoolPart{0, pools::kNoLimit} : part->second;
    }
    const TenantApplianceConfig& whole = *part_of(vnic.tenant, appliance);
    const double weight = config.weight / tenant_weights_[vnic.tenant];
    return {static_cast<double>(whole.reservation_tokens) * weight,
            whole.limit_tokens ? static_cast<double>(*whole.limit_tokens) * weight : pools::kNoLimit};
}

/// The reservation, as far as the host's link keeps it, or the vNIC's part of the headroom if that is more,
/// within the limit.
std::uint64_t Cluster::floor_tokens(wire::FlowKey flow) const {
    const std::uint32_t appliance = end_of(flow.destination).index;
    const ClusterEnd& vnic = end_of(flow.source);
    const PoolPart part = part_tokens(vnic, appliance);
    const double headroom = static_cast<double>(config_.appliances[appliance].capacity_min) *
                            config_.headroom / static_cast<double>(users_[appliance]);
    return static_cast<std::uint64_t>(
        std::max(std::min(std::max(part.reservation * kept_part(vnic.host), headroom), part.limit), 1.0));
}

/// Bytes per second for one peer of a vNIC: an equal part of its reservation, as far as the host's link keeps
/// it, or of its part of the headroom of the host's link if that is more, within its limit. All other vNICs
/// of the tenant count as peers, so that the floors never add up to more.
double Cluster::peer_floor(const ClusterEnd& vnic) const {
    const auto& vnics = config_.tenants[vnic.tenant].vnics;
    double bits = static_cast<double>(vnics[vnic.index].reservation_bps) * kept_part(vnic.host);
    if (vnic.host != kNowhere)
        bits =
            std::max(bits, static_cast<double>(config_.hosts[vnic.host].uplink_bps) * config_.headroom *
                               planned_part(vnic.host) /
                               static_cast<double>(std::max<std::size_t>(host_vnics_[vnic.host].size(), 1)));
    if (const auto& limit = vnics[vnic.index].limit_bps)
        bits = std::min(bits, static_cast<double>(*limit));
    return bits / kBitsPerByte / static_cast<double>(std::max<std::size_t>(vnics.size(), 2) - 1);
}

std::uint64_t Cluster::floor_bytes(wire::FlowKey flow) const {
    const double both = std::min(peer_floor(end_of(flow.source)), peer_floor(end_of(flow.destination)));
    return static_cast<std::uint64_t>(std::max(both, 1.0));
}

}  // namespace weir
