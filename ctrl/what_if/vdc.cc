// vdc.cc - what-if kind `vdc`: tenants' reservations first, then the rest.
// Source: Pulsar 4.1; docs/design.md 5.4
// Units: tokens in the control interval.
#include "ctrl/alloc/vdc.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>

#include "ctrl/what_if/fields.h"
#include "ctrl/what_if/registry.h"

namespace weir::what_if {
namespace {

using alloc::SharingRule;
using nlohmann::json;

constexpr std::array kSharingRules{Word<SharingRule>{"fixed", SharingRule::kFixed},
                                   Word<SharingRule>{"minimum", SharingRule::kMinimum}};
enum class Weights { kGiven, kGuarantees };
constexpr std::array kWeightsWords{Word<Weights>{"given", Weights::kGiven},
                                   Word<Weights>{"guarantees", Weights::kGuarantees}};

struct Tenants {
    Names names;
    std::vector<alloc::VdcTenant> tenants;
    /// By tenant and physical resource.
    std::map<std::pair<std::uint32_t, std::uint32_t>, alloc::VirtualResource> resources;
};

void read_reservations(ObjectReader& object, std::uint32_t tenant, const Resources& resources, Tenants& all,
                       Faults& faults) {
    for (const Amount& amount : read_amounts(object, "reservations", resources.names, true, faults))
        all.resources[{tenant, amount.number}].reserved = amount.value;
    for (const Amount& amount : read_amounts(object, "limits", resources.names, false, faults)) {
        alloc::VirtualResource& one = all.resources[{tenant, amount.number}];
        one.limit = amount.value;
        if (one.limit < one.reserved)
            faults.push_back({object.path_of("limits") + '.' + resources.names[amount.number],
                              json(amount.value).dump(),
                              "at least the reservation, " + json(one.reserved).dump(),
                              "a limit below the reservation breaks the promise"});
    }
}

Tenants read_tenants(ObjectReader& reader, const Resources& resources, Faults& faults) {
    Tenants all;
    for_objects(reader, "tenants", true, faults, [&](ObjectReader& object) {
        const std::uint32_t number = all.names.add(object);
        alloc::VdcTenant& tenant = all.tenants.emplace_back();
        require(object, "sharing_rule", "fixed, minimum");
        object.read_word<SharingRule>("sharing_rule", tenant.sharing_rule, kSharingRules);
        object.read_entry<alloc::MechanismEntry>("local", tenant.local, alloc::kMechanisms);
        read_weight(object, "weight", tenant.weight);
        read_reservations(object, number, resources, all, faults);
    });
    Weights weights = Weights::kGiven;
    reader.read_word<Weights>("weights", weights, kWeightsWords);
    if (weights == Weights::kGiven)
        return all;
    // A tenant's weight is the largest part that it reserves of any resource.
    for (alloc::VdcTenant& tenant : all.tenants)
        tenant.weight = 0;
    for (const auto& [key, resource] : all.resources) {
        double& weight = all.tenants[key.first].weight;
        if (const double capacity = resources.capacity[key.second]; capacity > 0)
            weight = std::min(1.0, std::max(weight, resource.reserved / capacity));
        weight = weight < kWeightLeast ? 0 : weight;
    }
    return all;
}

/// The flows' demands on their tenants' own resources, reserved or not.
alloc::DemandMatrix inside_of(const Flows& flows, Tenants& tenants,
                              std::vector<alloc::VirtualResource>& resources) {
    alloc::DemandMatrix inside;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> numbers;
    for (std::uint32_t flow = 0; flow < flows.names.size(); ++flow) {
        for (const std::uint32_t k : flows.demand.row(flow)) {
            if (flows.tenant[flow] == alloc::kNone)
                continue;
            const std::pair key{flows.tenant[flow], flows.demand.resource()[k]};
            const auto [it, is_new] = numbers.emplace(key, static_cast<std::uint32_t>(resources.size()));
            if (is_new)
                resources.push_back(tenants.resources[key]);
            inside.put(it->second, flows.demand.tokens()[k]);
        }
        inside.end_flow();
    }
    return inside;
}

std::vector<double> sum_of(const alloc::VdcAllocation& found) {
    std::vector<double> total(found.local.size());
    for (std::size_t k = 0; k < total.size(); ++k)
        total[k] = found.local[k] + found.global[k] + found.spare[k];
    return total;
}

json answer_of(const Flows& flows, const Resources& resources, const alloc::VdcAllocation& found,
               bool spare) {
    json answer{{"flows", json::array()}, {"resources", resources_json(resources, found.used)}};
    const std::vector<double> total = sum_of(found);
    for (std::uint32_t flow = 0; flow < flows.names.size(); ++flow) {
        json one{{"id", flows.names[flow]},
                 {"local", amounts_json(flows, flow, found.local, resources)},
                 {"global", amounts_json(flows, flow, found.global, resources)},
                 {"total", amounts_json(flows, flow, total, resources)}};
        if (spare)
            one["spare"] = amounts_json(flows, flow, found.spare, resources);
        answer["flows"].push_back(std::move(one));
    }
    return answer;
}

}  // namespace

json solve_vdc(ObjectReader& problem, Faults& faults) {
    const Resources resources = read_resources(problem, faults);
    Tenants tenants = read_tenants(problem, resources, faults);
    const Flows flows = read_flows(problem, resources, tenants.names, faults);
    const auto* global = require_entry<alloc::MechanismEntry>(problem, "global", alloc::kMechanisms);
    double headroom = 0;
    read_number(problem, "headroom", headroom, {0, 0.5});
    bool spare = false;
    problem.read_flag("spare", spare);
    if (!faults.empty() || global == nullptr)
        return {};

    std::vector<double> capacity = resources.capacity;
    for (double& one : capacity)
        one *= 1 - headroom;
    std::vector<alloc::VirtualResource> own;
    const alloc::DemandMatrix inside = inside_of(flows, tenants, own);
    alloc::VdcAllocation found;
    alloc::VdcAllocator allocator(*global);
    const auto start = std::chrono::steady_clock::now();
    allocator.allocate({.demand = flows.demand,
                        .inside = inside,
                        .tenant = flows.tenant,
                        .weights = flows.weight,
                        .tenants = tenants.tenants,
                        .capacity = capacity,
                        .resources = own,
                        .give_spare = spare},
                       found);
    const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - start;
    json answer = answer_of(flows, resources, found, spare);
    answer["solve_us"] = spent.count();
    return answer;
}

}  // namespace weir::what_if
