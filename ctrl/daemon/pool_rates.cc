// pool_rates.cc - division of pooled appliances, windows of those with a latency, and operators' settings.
#include "ctrl/daemon/pool_rates.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "ctrl/store/store.h"

namespace weir {
namespace {

using nlohmann::json;
using pools::Controls;
using pools::kAbsent;
using pools::kRoot;
using pools::NodeIndex;

/// A vNIC that used at least this part of its entitlement was held back by it.
constexpr double kHeldBack = 0.95;
/// A vNIC that was not held back is given room to grow by this factor within an interval.
constexpr double kGrowth = 1.1;
/// An idle vNIC is taken to want this part of an equal share.
constexpr double kIdleShare = 0.05;
/// Where windows hold an appliance, a rate may exceed the entitlement by this factor: it only bounds bursts,
/// and hosts without a window.
constexpr double kRateFactor = 2;
/// Bound of HostReading::latency_factor and its inverse, and the part of a new measurement that enters it.
constexpr double kLatencyFactorMax = 2;
constexpr double kLatencySmoothing = 0.3;
/// Mean and maximum of a vNIC's shares in a window: a switch's default and upper bound.
constexpr double kMeanShares = 100;
constexpr double kSharesMax = 10'000;

json controls_json(const Controls& of) {
    return {{"reservation", of.reservation},
            {"limit", std::isfinite(of.limit) ? json(of.limit) : json()},
            {"shares", of.shares}};
}

struct Key {
    const char* name;
    double Controls::*value;
};
constexpr Key kKeys[] = {
    {"reservation", &Controls::reservation}, {"limit", &Controls::limit}, {"shares", &Controls::shares}};

std::int64_t to_stored(double value) {
    return std::isfinite(value) ? static_cast<std::int64_t>(value) : PoolSetting::kNoLimit;
}

double from_stored(std::int64_t value) {
    return value == PoolSetting::kNoLimit ? pools::kNoLimit : static_cast<double>(value);
}

std::string text_of(std::int64_t value) {
    return value == PoolSetting::kNoLimit ? "none" : std::to_string(value);
}

Controls controls_after(const PoolChange& change, Controls now) {
    if (change.reservation_tokens)
        now.reservation = static_cast<double>(*change.reservation_tokens);
    if (change.limit_tokens)
        now.limit = *change.limit_tokens ? static_cast<double>(**change.limit_tokens) : pools::kNoLimit;
    if (change.shares)
        now.shares = *change.shares;
    return now;
}

}  // namespace

PoolRates::PoolRates(const ClusterConfig& config) : config_(config), seconds_(to_seconds(config.interval)) {
    const std::set<std::string> pooled = pooled_appliances(config.pools);
    for (std::uint32_t i = 0; i < config.appliances.size(); ++i) {
        const ClusterApplianceConfig& appliance = config.appliances[i];
        const bool is_pooled = pooled.contains(appliance.name);
        by_appliance_.push_back(is_pooled ? static_cast<std::uint32_t>(pools_.size()) : kNoPool);
        if (!is_pooled)
            continue;
        const auto capacity_min = static_cast<double>(appliance.capacity_min);
        Pools& pools = pools_.emplace_back(Pools{i, PoolLayout(config.pools, appliance.name, capacity_min)});
        if (appliance.latency != 0) {
            const double threshold = to_seconds(appliance.latency);
            const double window_min = std::max(1.0, capacity_min * threshold);
            const double window_max =
                std::max(window_min, static_cast<double>(appliance.capacity_max) * threshold);
            pools.window.emplace(
                estimate::LatencySettings{
                    .threshold = threshold, .window_min = window_min, .window_max = window_max},
                window_min);
        }
        for (const TenantConfig& tenant : config.tenants)
            if (std::ranges::find(tenant.appliances, appliance.name, &TenantApplianceConfig::name) !=
                tenant.appliances.end())
                for (const TenantVnicConfig& vnic : tenant.vnics)
                    (void)pools.layout.add_vnic(vnic.name);
    }
}

void PoolRates::find_leaves(const Cluster& cluster, Pools& pools) {
    for (NodeIndex node = 1; node < pools.layout.tree().size(); ++node)
        if (const PoolLayout::Name& name = pools.layout.name(node); name.vnic)
            pools.leaves.emplace(cluster.find_vnic(name.text)->id, node);
}

NodeIndex PoolRates::leaf_of(const Cluster& cluster, wire::FlowKey flow) const {
    const Pools& pools = pools_of(cluster.find_end(flow.destination)->index);
    const auto leaf = pools.leaves.find(flow.source);
    return leaf == pools.leaves.end() ? kRoot : leaf->second;
}

void PoolRates::begin(const Cluster& cluster, bool interval_ended) {
    for (Pools& pools : pools_) {
        if (pools.leaves.empty())
            find_leaves(cluster, pools);
        const NodeIndex nodes = pools.layout.tree().size();
        pools.wanted_min = interval_ended || pools.wanted.empty() ? std::vector<double>(nodes) : pools.wanted;
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

void PoolRates::add_demand(const Cluster& cluster, wire::FlowKey flow, double wanted, double used) {
    Pools& pools = pools_of(cluster.find_end(flow.destination)->index);
    const NodeIndex node = leaf_of(cluster, flow);
    if (node == kRoot || pools.wanted[node] < 0)
        return;
    pools.wanted[node] += wanted;
    pools.used[node] += used;
}

void PoolRates::divide(std::uint32_t appliance, double capacity) {
    Pools& pools = pools_of(appliance);
    const pools::PoolTree& tree = pools.layout.tree();
    const double idle =
        capacity * kIdleShare / static_cast<double>(std::max<std::size_t>(1, pools.leaves.size()));
    for (const auto& [id, node] : pools.leaves) {
        double& wanted = pools.wanted[node];
        if (wanted < 0)
            continue;
        const double used = pools.used[node];
        const double entitled = pools.division.entitlement.empty() ? 0 : pools.division.entitlement[node];
        const bool is_held_back = used > 0 && used >= kHeldBack * entitled;
        wanted = std::max(
            {is_held_back ? capacity : std::max(wanted, used * kGrowth), idle, pools.wanted_min[node]});
        wanted = std::min(wanted, std::max(capacity, idle));
    }
    pools.capacity = capacity;
    divider_.divide(tree, pools.wanted, capacity, pools.division);
    for (NodeIndex node = tree.size(); --node > 0;)
        pools.used[tree.parent(node)] += pools.used[node];
}

void PoolRates::add_outstanding(const Cluster& cluster, const wire::FlowDemand& demand) {
    HostReading& host = pools_of(cluster.find_end(demand.flow.destination)->index)
                            .readings[cluster.find_end(demand.flow.source)->host];
    host.outstanding += double{demand.outstanding[wire::kTokens]};
    host.answered += double{demand.used[wire::kTokens]};
}

std::optional<double> PoolRates::update_latency(std::uint32_t appliance, bool interval_ended) {
    Pools& pools = pools_of(appliance);
    double outstanding = 0;
    double answered = 0;
    for (const auto& [host, reading] : pools.readings) {
        outstanding += reading.outstanding;
        answered += reading.answered;
    }
    for (auto& [host, reading] : pools.readings) {
        if (interval_ended && reading.answered > 0 && outstanding > 0) {
            const double factor = (reading.outstanding / reading.answered) / (outstanding / answered);
            reading.latency_factor +=
                kLatencySmoothing *
                (std::clamp(factor, 1 / kLatencyFactorMax, kLatencyFactorMax) - reading.latency_factor);
        }
        reading.outstanding = reading.answered = 0;
    }
    if (!pools.window)
        return std::nullopt;
    // Latency by Little's law. The one that switches report includes the requests' wait in the switch.
    if (interval_ended)
        pools.window->update(
            {.latency = answered > 0 ? outstanding * seconds_ / answered : 0, .outstanding = outstanding});
    return pools.window->rate();
}

std::optional<double> PoolRates::held_by_latency(std::uint32_t appliance) const {
    if (!divides(appliance) || !pools_of(appliance).window)
        return std::nullopt;
    return pools_of(appliance).window->rate();
}

std::vector<PoolRates::Window> PoolRates::windows(const Cluster& cluster) const {
    std::vector<Window> out;
    const auto add = [&out](HostIndex host, wire::FlowKey key, double value) -> wire::FlowAllocation& {
        out.push_back({host, {.flow = key}});
        out.back().record.rate[wire::kTokens] = static_cast<std::uint64_t>(std::max(1.0, std::round(value)));
        return out.back().record;
    };
    for (const Pools& pools : pools_) {
        if (!pools.window || pools.division.entitlement.empty())
            continue;
        const std::uint32_t appliance = cluster.appliance_id(pools.appliance);
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
                std::round(pools.division.shares[node] / shares * sharers * kMeanShares), 1.0, kSharesMax));
        }
        for (const auto& [host, sum] : entitled) {
            const auto reading = pools.readings.find(host);
            add(host, {wire::kWholeHost, appliance},
                pools.window->window() * sum / pools.window->rate() *
                    (reading == pools.readings.end() ? 1 : reading->second.latency_factor));
        }
    }
    std::ranges::sort(out, {}, [](const Window& each) { return std::pair(each.host, each.record.flow); });
    return out;
}

double PoolRates::entitlement(const Cluster& cluster, wire::FlowKey flow) const {
    const NodeIndex node = leaf_of(cluster, flow);
    return node == kRoot ? 0 : pools_of(cluster.find_end(flow.destination)->index).division.entitlement[node];
}

double PoolRates::rate(const Cluster& cluster, wire::FlowKey flow) const {
    const NodeIndex node = leaf_of(cluster, flow);
    if (node == kRoot)
        return 0;
    const Pools& pools = pools_of(cluster.find_end(flow.destination)->index);
    const double factor = pools.window ? kRateFactor : 1;
    return std::min(
        std::max(factor * pools.division.entitlement[node], static_cast<double>(cluster.floor_tokens(flow))),
        pools.division.limit[node]);
}

json PoolRates::describe() const {
    json list = json::array();
    for (const Pools& pools : pools_) {
        const pools::PoolTree& tree = pools.layout.tree();
        json nodes = json::array();
        for (NodeIndex node = 0; node < tree.size(); ++node) {
            json one{{"name", pools.layout.name(node).text},
                     {"kind", pools.layout.name(node).vnic ? "vnic" : "pool"},
                     {"parent", node == kRoot ? json() : json(tree.parent(node))},
                     {"static", controls_json(tree.controls(node))}};
            if (const auto file = pools.configured.find(node); file != pools.configured.end())
                one["configured"] = controls_json(file->second);
            if (!pools.division.demand.empty()) {  // an interval has ended
                const pools::Division& now = pools.division;
                one["present"] = now.demand[node] >= 0;
                one["dynamic"] = controls_json({now.reservation[node], now.limit[node], now.shares[node]});
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

Faults PoolRates::set(const PoolChange& change) {
    Place place;
    for (Pools& pools : pools_) {
        auto found = pools.layout.find(change.name, false);
        if (!found)
            found = pools.layout.find(change.name, true);
        if (!found ||
            (!change.appliance.empty() && change.appliance != config_.appliances[pools.appliance].name))
            continue;
        if (place.pools != nullptr)
            return {{"appliance", "nothing", "the name of an appliance whose pools have it",
                     change.name + " is in pools of several appliances"}};
        place = {&pools, *found};
    }
    if (place.pools == nullptr)
        return {{"name", '"' + change.name + '"', "a pool, or a vNIC in one; weirctl pool show lists them",
                 "no pool has this name"}};
    if (place.node == kRoot)
        return {{"name", '"' + change.name + '"', "a pool of this appliance, or a vNIC in one",
                 "the appliance itself has no reservation, limit or shares"}};
    if (!change.is_reset)
        return set(place, controls_after(change, place.pools->layout.tree().controls(place.node)));
    const auto configured = place.pools->configured.find(place.node);
    return configured == place.pools->configured.end() ? Faults{} : set(place, configured->second);
}

/// Sets a node's values, and keeps those of the cluster file beside them while they differ.
Faults PoolRates::set(Place place, const Controls& controls) {
    Pools& pools = *place.pools;
    const Controls before = pools.layout.tree().controls(place.node);
    Faults faults = pools.layout.set(place.node, controls);
    if (faults.empty() && pools.configured.emplace(place.node, before).first->second == controls)
        pools.configured.erase(place.node);
    return faults;
}

std::vector<PoolSetting> PoolRates::settings() const {
    std::vector<PoolSetting> out;
    for (const Pools& pools : pools_)
        for (const auto& [node, configured] : pools.configured)
            for (const Key& key : kKeys)
                if (const double value = pools.layout.tree().controls(node).*key.value;
                    value != configured.*key.value)
                    out.push_back({.appliance = config_.appliances[pools.appliance].name,
                                   .name = pools.layout.name(node).text,
                                   .is_vnic = pools.layout.name(node).vnic,
                                   .key = key.name,
                                   .value = to_stored(value),
                                   .configured = to_stored(configured.*key.value)});
    return out;
}

/// The node that a setting is for; the root: the cluster file has it no more.
PoolRates::Place PoolRates::place_of(const PoolSetting& setting) {
    for (Pools& pools : pools_)
        if (config_.appliances[pools.appliance].name == setting.appliance)
            return {&pools, pools.layout.find(setting.name, setting.is_vnic).value_or(kRoot)};
    return {};
}

std::vector<std::string> PoolRates::restore(std::span<const PoolSetting> settings) {
    std::vector<std::string> dropped;
    std::map<Place, Controls> wanted;
    for (const PoolSetting& setting : settings) {
        const std::string what =
            setting.name + ": " + setting.key + '=' + text_of(setting.value) + " no longer counts: ";
        const auto* const key = std::ranges::find(kKeys, setting.key, &Key::name);
        const Place place = place_of(setting);
        if (key == std::end(kKeys) || place.node == kRoot) {
            dropped.push_back(what + "the cluster file has no such pool");
            continue;
        }
        const Controls& configured = place.pools->layout.tree().controls(place.node);
        if (const std::int64_t now = to_stored(configured.*key->value); now != setting.configured)
            dropped.push_back(what + "the cluster file had " + text_of(setting.configured) +
                              " when it was set, and has " + text_of(now) + " now");
        else
            wanted.emplace(place, configured).first->second.*key->value = from_stored(setting.value);
    }
    // One setting may need capacity that another one frees, so all are tried until none of the rest fits.
    // An order in which they fit is found, independent of the order in which they were set: reductions fit
    // from the leaves up, increases from the root down.
    for (bool has_changed = true; std::exchange(has_changed, false);)
        has_changed =
            std::erase_if(wanted, [](const auto& each) { return set(each.first, each.second).empty(); }) != 0;
    for (const auto& [place, controls] : wanted)
        dropped.push_back(place.pools->layout.name(place.node).text +
                          ": what was set no longer counts: " + set(place, controls).front().to_line());
    return dropped;
}

std::vector<std::string> PoolRates::take_over(const PoolRates& before) {
    const auto bounds = [](const ClusterApplianceConfig& of) {
        return std::tie(of.name, of.capacity_min, of.capacity_max, of.latency);
    };
    for (Pools& now : pools_)
        for (const Pools& old : before.pools_)
            if (bounds(config_.appliances[now.appliance]) == bounds(before.config_.appliances[old.appliance]))
                now.window = old.window;
    return restore(before.settings());
}

}  // namespace weir
