// pool_rates.cc - demands in, entitlements out, by appliance.
#include "ctrl/daemon/pool_rates.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
namespace weir {
namespace {

using nlohmann::json;
using pools::kAbsent;
using pools::kRoot;
using pools::NodeIndex;

/// A flow that used so much of what it was told was held back by it.
constexpr double kHeldBackAt = 0.95;
/// One that was not may grow by so much within an interval.
constexpr double kRoom = 1.1;
/// One that was idle keeps so much of an equal part, with which it shows that it wakes.
constexpr double kLeast = 0.05;

/// Where windows hold an appliance, flows may for a moment have so much of what they are entitled to.
constexpr double kWindowRoom = 2;

/// A host's requests are at most so many times as long on their way as all hosts' are, or as short; and so
/// much of what is measured is believed in each interval.
constexpr double kLonger = 2;
constexpr double kSmoothing = 0.3;

json controls_json(double reservation, double limit, double shares) {
    return {{"reservation", reservation},
            {"limit", std::isfinite(limit) ? json(limit) : json()},
            {"shares", shares}};
}

bool uses(const TenantConfig& tenant, const std::string& appliance) {
    return std::any_of(tenant.appliances.begin(), tenant.appliances.end(),
                       [&](const TenantApplianceConfig& part) { return part.name == appliance; });
}

}  // namespace

PoolRates::PoolRates(const ClusterConfig& config) : config_(config), interval_(to_seconds(config.interval)) {
    const std::set<std::string> pooled = pooled_appliances(config.pools);
    for (std::uint32_t i = 0; i < config.appliances.size() && !pooled.empty(); ++i) {
        const ClusterApplianceConfig& appliance = config.appliances[i];
        by_appliance_.push_back(kNoPool);
        if (!pooled.contains(appliance.name))
            continue;
        by_appliance_.back() = static_cast<std::uint32_t>(pools_.size());
        Pools& pools = pools_.emplace_back(Pools{
            .appliance = i,
            .layout = PoolLayout(config.pools, appliance.name, static_cast<double>(appliance.capacity_min)),
            .leaves = {},
            .hosts = {},
            .wanted = {},
            .used = {},
            .least = {},
            .division = {}});
        if (appliance.latency != 0) {
            const double threshold = to_seconds(appliance.latency);
            const double least = std::max(1.0, static_cast<double>(appliance.capacity_min) * threshold);
            const double most = std::max(least, static_cast<double>(appliance.capacity_max) * threshold);
            pools.window.emplace(
                estimate::LatencySettings{.threshold = threshold, .window_min = least, .window_max = most},
                least);
        }
        for (const TenantConfig& tenant : config.tenants)
            for (const TenantVnicConfig& vnic : tenant.vnics)
                if (uses(tenant, appliance.name))
                    (void)pools.layout.add_vnic(vnic.name);
    }
}

void PoolRates::find_leaves(const Cluster& cluster) {
    found_leaves_ = true;
    for (Pools& pools : pools_)
        for (NodeIndex node = 1; node < pools.layout.tree().size(); ++node)
            if (const PoolLayout::Name& name = pools.layout.name(node); name.vnic)
                pools.leaves.emplace(cluster.find_vnic(name.text)->id, node);
}

void PoolRates::begin(const Cluster& cluster, bool whole) {
    if (!found_leaves_)
        find_leaves(cluster);
    for (Pools& pools : pools_) {
        const NodeIndex nodes = pools.layout.tree().size();
        pools.least = whole || pools.wanted.empty() ? std::vector<double>(nodes) : pools.wanted;
        pools.hosts.assign(nodes, {});
        pools.wanted.assign(nodes, kAbsent);
        pools.used.assign(nodes, 0);
        for (const auto& [id, node] : pools.leaves) {
            const ClusterEnd& vnic = *cluster.find_end(id);
            if (vnic.host == kNowhere)
                continue;
            pools.wanted[node] = 0;
            pools.hosts[node] = config_.hosts[vnic.host].name;
        }
    }
}

void PoolRates::put(const Cluster& cluster, wire::FlowKey flow, double wanted, double used) {
    Pools& pools = pools_of(cluster, flow);
    const auto leaf = pools.leaves.find(flow.source);
    if (leaf == pools.leaves.end() || pools.wanted[leaf->second] < 0)
        return;
    pools.wanted[leaf->second] += wanted;
    pools.used[leaf->second] += used;
}

void PoolRates::divide(std::uint32_t appliance, double capacity) {
    Pools& pools = pools_of(appliance);
    const pools::PoolTree& tree = pools.layout.tree();
    const double least =
        capacity * kLeast / static_cast<double>(std::max<std::size_t>(1, pools.leaves.size()));
    for (const auto& [id, node] : pools.leaves) {
        double& wanted = pools.wanted[node];
        if (wanted < 0)
            continue;
        const double used = pools.used[node];
        const double told = pools.division.entitlement.empty() ? 0 : pools.division.entitlement[node];
        const bool held_back = used > 0 && used >= kHeldBackAt * told;
        wanted = std::max({held_back ? capacity : std::max(wanted, used * kRoom), least, pools.least[node]});
        wanted = std::min(wanted, std::max(capacity, least));
    }
    pools.capacity = capacity;
    divider_.divide(tree, pools.wanted, capacity, pools.division);
    for (NodeIndex node = tree.size(); --node > 0;)
        pools.used[tree.parent(node)] += pools.used[node];
}

void PoolRates::put_outstanding(const Cluster& cluster, const wire::FlowDemand& demand) {
    Pools& pools = pools_of(cluster, demand.flow);
    pools.reading.outstanding += double{demand.outstanding[wire::kTokens]};
    pools.answered += double{demand.used[wire::kTokens]};
    Way& way = pools.ways[cluster.find_end(demand.flow.source)->host];
    way.outstanding += double{demand.outstanding[wire::kTokens]};
    way.answered += double{demand.used[wire::kTokens]};
}

std::optional<double> PoolRates::capacity_by_latency(std::uint32_t appliance, bool whole) {
    Pools& pools = pools_of(appliance);
    estimate::LatencyReading reading = std::exchange(pools.reading, {});
    const double answered = std::exchange(pools.answered, 0);
    for (auto& [host, way] : pools.ways) {
        const double outstanding = std::exchange(way.outstanding, 0);
        const double own = std::exchange(way.answered, 0);
        if (!whole || own <= 0 || reading.outstanding <= 0)
            continue;
        const double longer = (outstanding / own) / (reading.outstanding / answered);
        way.longer += kSmoothing * (std::clamp(longer, 1 / kLonger, kLonger) - way.longer);
    }
    if (!pools.window)
        return std::nullopt;
    // Little's law. The requests' own latency has what they waited in the switch, too.
    reading.latency = answered > 0 ? reading.outstanding * interval_ / answered : 0;
    if (whole)
        pools.window->update(reading);
    return pools.window->rate();
}

std::vector<Solver::Window> PoolRates::windows(const Cluster& cluster) const {
    constexpr double kShares = 100;
    constexpr double kSharesMost = 10'000;
    std::vector<Solver::Window> out;
    const auto add = [&out](HostIndex host, wire::FlowKey key, double value) -> wire::FlowAllocation& {
        out.push_back({host, {.flow = key}});
        out.back().record.rate[wire::kTokens] = static_cast<std::uint64_t>(std::max(1.0, std::round(value)));
        return out.back().record;
    };
    for (const Pools& pools : pools_) {
        if (!pools.window || pools.division.entitlement.empty())
            continue;
        const std::uint32_t appliance = cluster.appliance_id(pools.appliance);
        // On average as many as the switch's own default: by shares it knows how long a turn is.
        double shares = 1e-9;
        double sharers = 0;
        for (const auto& [id, node] : pools.leaves) {
            shares += pools.division.shares[node];
            sharers += pools.division.shares[node] > 0 ? 1 : 0;
        }
        std::map<HostIndex, double> entitled;
        for (const auto& [id, node] : pools.leaves) {
            const HostIndex host = cluster.find_end(id)->host;
            if (host == kNowhere)
                continue;
            entitled[host] += pools.division.entitlement[node];
            add(host, {id, appliance | wire::kReserved}, pools.division.entitlement[node])
                .rate[wire::kThere] = static_cast<std::uint64_t>(std::clamp(
                std::round(pools.division.shares[node] / shares * sharers * kShares), 1.0, kSharesMost));
        }
        for (const auto& [host, sum] : entitled)
            add(host, {wire::kWholeHost, appliance},
                pools.window->window() * sum / pools.window->rate() * pools.longer(host));
    }
    std::sort(out.begin(), out.end(), [](const Solver::Window& a, const Solver::Window& b) {
        return std::pair(a.host, a.record.flow) < std::pair(b.host, b.record.flow);
    });
    return out;
}

std::pair<const PoolRates::Pools*, NodeIndex> PoolRates::place_of(const Cluster& cluster,
                                                                  wire::FlowKey flow) const {
    const Pools& pools = pools_of(cluster.find_end(flow.destination)->index);
    const auto leaf = pools.leaves.find(flow.source);
    if (leaf == pools.leaves.end())
        return {nullptr, kRoot};
    return {&pools, leaf->second};
}

double PoolRates::entitlement(const Cluster& cluster, wire::FlowKey flow) const {
    const auto [pools, node] = place_of(cluster, flow);
    return pools == nullptr ? 0 : pools->division.entitlement[node];
}

double PoolRates::rate(const Cluster& cluster, wire::FlowKey flow) const {
    const auto [pools, node] = place_of(cluster, flow);
    if (pools == nullptr)
        return 0;
    const auto reserved = static_cast<double>(cluster.floor_tokens(flow));
    // Windows hold the appliance: rates only bound what a host without one, or a surprise, can do.
    const double room = pools->window ? kWindowRoom : 1;
    return std::min(std::max(room * pools->division.entitlement[node], reserved),
                    pools->division.limit[node]);
}

json PoolRates::describe() const {
    json list = json::array();
    for (const Pools& pools : pools_) {
        const pools::PoolTree& tree = pools.layout.tree();
        json nodes = json::array();
        for (NodeIndex node = 0; node < tree.size(); ++node) {
            const pools::Controls& own = tree.controls(node);
            json one{{"name", pools.layout.name(node).text},
                     {"kind", pools.layout.name(node).vnic ? "vnic" : "pool"},
                     {"parent", node == kRoot ? json() : json(tree.parent(node))},
                     {"static", controls_json(own.reservation, own.limit, own.shares)}};
            if (const auto filed = pools.filed.find(node); filed != pools.filed.end())
                one["filed"] =
                    controls_json(filed->second.reservation, filed->second.limit, filed->second.shares);
            if (!pools.division.demand.empty()) {  // else no interval has passed
                const pools::Division& now = pools.division;
                one["there"] = now.demand[node] >= 0;
                one["dynamic"] = controls_json(now.reservation[node], now.limit[node], now.shares[node]);
                one["demand"] = std::max(now.demand[node], 0.0);
                one["entitlement"] = now.entitlement[node];
                one["delivered"] = pools.used[node];
                if (!pools.hosts[node].empty())
                    one["host"] = pools.hosts[node];
            }
            nodes.push_back(std::move(one));
        }
        list.push_back({{"appliance", config_.appliances[pools.appliance].name},
                        {"capacity", pools.capacity},
                        {"window", pools.window ? json(pools.window->window()) : json()},
                        {"nodes", std::move(nodes)}});
    }
    return list;
}

}  // namespace weir
