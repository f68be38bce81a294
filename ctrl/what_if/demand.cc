// demand.cc - what-if kind `demand`: equation 6, element by element.
// Source: Pulsar 4.2; docs/design.md 5.4
// Units: tokens of one interval.
#include "ctrl/estimate/demand.h"

#include <array>
#include <map>

#include "common/config/config_text.h"
#include "ctrl/what_if/fields.h"
#include "ctrl/what_if/registry.h"

namespace weir::what_if {

using nlohmann::json;

namespace {

constexpr const char* kShapes = "tokens by resource, {\"disk\": 100}; or a list, the same for all four";

/// The elements of a vector by place: a member's name, or an index.
std::map<std::string, double> elements(const json& vector, const std::string& path, Faults& faults) {
    std::map<std::string, double> found;
    for (const auto& [place, value] : vector.items()) {
        const std::string where = vector.is_object() ? '.' + show_text(place) : '[' + place + ']';
        if (value.is_number() && estimate::is_plausible(value.get<double>()))
            found[place] = value.get<double>();
        else
            faults.push_back({path + where, show_value(value), "a number, 0 to 2^53", "not an amount"});
    }
    return found;
}

}  // namespace

json solve_demand(ObjectReader& problem, Faults& faults) {
    using estimate::Usage;
    constexpr std::array<std::pair<const char*, double Usage::*>, 4> kVectors{
        {{"used", &Usage::used},
         {"backlog", &Usage::backlog},
         {"queued", &Usage::queued},
         {"outstanding", &Usage::outstanding}}};
    require(problem, "used", kShapes);
    const json* first = nullptr;
    std::map<std::string, Usage> usage;
    for (const auto& [key, field] : kVectors) {
        const json* vector = problem.take(key);
        if (vector == nullptr)
            continue;
        first = first == nullptr ? vector : first;
        if (!vector->is_structured() || vector->type() != first->type() ||
            (vector->is_array() && vector->size() != first->size())) {
            problem.fault(key, kShapes, "not a vector, or not of the same shape as the others");
            continue;
        }
        for (const auto& [place, value] : elements(*vector, key, faults))
            usage[place].*field = value;
    }
    if (!faults.empty() || first == nullptr)
        return {};
    json demand = first->is_array() ? json::array() : json::object();
    for (const auto& [place, of] : usage)
        (first->is_array() ? demand[std::stoul(place)] : demand[place]) = *estimate::demand_of(of);
    return {{"demand", std::move(demand)}};
}

}  // namespace weir::what_if
