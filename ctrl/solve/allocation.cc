// allocation.cc - the kind `allocation`: one mechanism over all resources (Pulsar eq. 1).
#include <chrono>

#include "ctrl/alloc/mechanism.h"
#include "ctrl/solve/fields.h"
#include "ctrl/solve/flows.h"
#include "ctrl/solve/kinds.h"

namespace weir::solver {

using nlohmann::json;

json solve_allocation(ObjectReader& problem, Faults& faults) {
    const alloc::MechanismEntry* mechanism = read_mechanism(problem, "mechanism");
    const Resources resources = read_resources(problem, faults);
    const Flows flows = read_flows(problem, resources, nullptr, faults);
    if (!faults.empty() || mechanism == nullptr)
        return {};
    alloc::Allocation allocation;
    const auto began = std::chrono::steady_clock::now();
    mechanism->make()->allocate({flows.demand, flows.weight, resources.capacity}, allocation);
    const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - began;

    json answer{{"flows", json::array()}, {"resources", json::array()}, {"solve_us", spent.count()}};
    for (std::uint32_t flow = 0; flow < flows.names.size(); ++flow) {
        const std::uint32_t bottleneck = allocation.bottleneck[flow];
        answer["flows"].push_back(
            {{"id", flows.names[flow]},
             {"fill", allocation.fill[flow]},
             {"allocation", amounts_json(flows, flow, allocation.tokens, resources)},
             {"bottleneck", bottleneck == alloc::kNone ? json() : json(resources.names[bottleneck])}});
    }
    for (std::uint32_t j = 0; j < resources.names.size(); ++j)
        answer["resources"].push_back(
            {{"id", resources.names[j]}, {"capacity", resources.capacity[j]}, {"used", allocation.used[j]}});
    return answer;
}

}  // namespace weir::solver
