// flows.cc - resources and flows from JSON, and vectors back.
#include "ctrl/what_if/flows.h"

namespace weir::what_if {

using nlohmann::json;

Resources read_resources(ObjectReader& reader, Faults& faults) {
    Resources resources;
    for_objects(reader, "resources", true, faults, [&](ObjectReader& object) {
        resources.names.add(object);
        double capacity = 0;
        need_number(object, "capacity", capacity, kTokenBounds);
        resources.capacity.push_back(capacity);
    });
    return resources;
}

Flows read_flows(ObjectReader& reader, const Resources& resources, Names& tenants, Faults& faults) {
    Flows flows;
    const bool anybody = tenants.size() == 0;
    for_objects(reader, "flows", true, faults, [&](ObjectReader& object) {
        flows.names.add(object);
        double weight = 1;
        read_weight(object, "weight", weight);
        flows.weight.push_back(weight);
        std::string tenant;
        if (!anybody)
            flows.tenant.push_back(read_name(object, "tenant", tenants).value_or(alloc::kNone));
        else
            flows.tenant.push_back(object.read_text("tenant", tenant) ? tenants.add(tenant) : alloc::kNone);
        std::vector<std::uint32_t>& named = flows.named.emplace_back();
        for (const Amount& amount : read_amounts(object, "demand", resources.names, true, faults)) {
            flows.demand.put(amount.number, amount.value);
            named.push_back(amount.number);
        }
        flows.demand.end_flow();
    });
    return flows;
}

json amounts_json(const Flows& flows, std::uint32_t flow, std::span<const double> tokens,
                  const Resources& resources) {
    json amounts = json::object();
    for (const std::uint32_t resource : flows.named[flow])
        amounts[resources.names[resource]] = 0.0;
    for (std::uint32_t k = flows.demand.begin(flow); k < flows.demand.begin(flow + 1); ++k)
        amounts[resources.names[flows.demand.resource()[k]]] = tokens[k];
    return amounts;
}

}  // namespace weir::what_if
