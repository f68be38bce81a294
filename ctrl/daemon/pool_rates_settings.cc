// pool_rates_settings.cc - values of pools that operators set while the controller runs.
#include <algorithm>
#include <cmath>
#include <utility>

#include "ctrl/daemon/pool_rates.h"
#include "ctrl/store/store.h"

namespace weir {
namespace {

using pools::Controls;
using pools::kRoot;
using pools::NodeIndex;

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
    // Whatever the order in which they were set, this finds one: reductions fit from the leaves up, increases
    // from the root down.
    for (bool has_changed = true; std::exchange(has_changed, false);)
        has_changed =
            std::erase_if(wanted, [](const auto& each) { return set(each.first, each.second).empty(); }) != 0;
    for (const auto& [place, controls] : wanted)
        dropped.push_back(place.pools->layout.name(place.node).text +
                          ": what was set no longer counts: " + set(place, controls).front().to_line());
    return dropped;
}

}  // namespace weir
