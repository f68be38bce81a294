// pool_settings.cc - pools that an operator changes: at once, after a restart, and back to what the file
// says.
#include <algorithm>
#include <cmath>
#include <utility>

#include "ctrl/daemon/pool_rates.h"

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

std::int64_t stored(double value) {
    return std::isfinite(value) ? static_cast<std::int64_t>(value) : PoolSetting::kNoLimit;
}

double read(std::int64_t value) {
    return value == PoolSetting::kNoLimit ? pools::kNoLimit : static_cast<double>(value);
}

std::string words(std::int64_t value) {
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
    Pools* where = nullptr;
    NodeIndex node = kRoot;
    for (Pools& pools : pools_) {
        auto found = pools.layout.find(change.name, false);
        if (!found)
            found = pools.layout.find(change.name, true);
        if (!found ||
            (!change.appliance.empty() && change.appliance != config_.appliances[pools.appliance].name))
            continue;
        if (where != nullptr)
            return {{"appliance", "nothing", "one of those that it is in a pool of",
                     change.name + " stands in pools of several appliances"}};
        where = &pools;
        node = *found;
    }
    if (where == nullptr)
        return {{"name", '"' + change.name + '"', "a pool, or a vNIC in one; weirctl pool show lists them",
                 "there is nothing of this name"}};
    if (node == kRoot)
        return {{"name", '"' + change.name + '"', "a pool below it", "an appliance itself is not promised"}};
    const Controls& now = where->layout.tree().controls(node);
    const auto filed = where->filed.find(node);
    if (!change.as_filed)
        return set(*where, node, controls_after(change, now));
    return filed == where->filed.end() ? Faults{} : set(*where, node, filed->second);
}

/// Keeps what the file says beside what is set now.
Faults PoolRates::set(Pools& pools, NodeIndex node, const Controls& controls) {
    const Controls before = pools.layout.tree().controls(node);
    Faults faults = pools.layout.set(node, controls);
    if (faults.empty() && pools.filed.emplace(node, before).first->second == controls)
        pools.filed.erase(node);
    return faults;
}

std::vector<PoolSetting> PoolRates::settings() const {
    std::vector<PoolSetting> out;
    for (const Pools& pools : pools_)
        for (const auto& [node, filed] : pools.filed)
            for (const Key& key : kKeys)
                if (const double value = pools.layout.tree().controls(node).*key.value;
                    value != filed.*key.value)
                    out.push_back({.appliance = config_.appliances[pools.appliance].name,
                                   .name = pools.layout.name(node).text,
                                   .vnic = pools.layout.name(node).vnic,
                                   .key = key.name,
                                   .value = stored(value),
                                   .filed = stored(filed.*key.value)});
    return out;
}

/// Where a setting's pool stands now; nowhere when it is gone.
std::pair<std::size_t, NodeIndex> PoolRates::place_of(const PoolSetting& setting) const {
    for (std::size_t i = 0; i < pools_.size(); ++i)
        if (config_.appliances[pools_[i].appliance].name == setting.appliance)
            return {i, pools_[i].layout.find(setting.name, setting.vnic).value_or(kRoot)};
    return {0, kRoot};
}

std::vector<std::string> PoolRates::restore(std::span<const PoolSetting> settings) {
    std::vector<std::string> lost;
    std::map<std::pair<std::size_t, NodeIndex>, Controls> wanted;
    for (const PoolSetting& setting : settings) {
        const std::string what = setting.name + ": " + setting.key + '=' + words(setting.value);
        const auto* const key = std::ranges::find(kKeys, setting.key, &Key::name);
        const auto place = place_of(setting);
        if (key == std::end(kKeys) || place.second == kRoot) {
            lost.push_back(what + " no longer counts: the cluster file has no such pool");
            continue;
        }
        const Controls& filed = pools_[place.first].layout.tree().controls(place.second);
        if (const std::int64_t now = stored(filed.*key->value); now != setting.filed)
            lost.push_back(what + " no longer counts: it was set when the cluster file said " +
                           words(setting.filed) + ", which says " + words(now) + " now");
        else
            wanted.emplace(place, filed).first->second.*key->value = read(setting.value);
    }
    // One may need what another gives back. Whatever order they were set in, some order of the last values is
    // allowed: from the leaves up what becomes less, then from the root down what becomes more.
    for (bool moved = true; std::exchange(moved, false);)
        moved = std::erase_if(wanted, [this](const auto& each) {
                    return set(pools_[each.first.first], each.first.second, each.second).empty();
                }) != 0;
    for (const auto& [place, controls] : wanted)
        lost.push_back(pools_[place.first].layout.name(place.second).text +
                       ": what was set no longer counts: " +
                       set(pools_[place.first], place.second, controls).front().to_line());
    return lost;
}

}  // namespace weir
