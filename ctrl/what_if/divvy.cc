// divvy.cc - what-if kind `divvy`: one capacity divided among children.
// Source: SRP 3.2; docs/design.md 5.4
// Units: any one unit.
#include "common/water_fill.h"
#include "ctrl/what_if/fields.h"
#include "ctrl/what_if/registry.h"

namespace weir::what_if {

using nlohmann::json;

json solve_divvy(ObjectReader& problem, Faults& faults) {
    double capacity = 0;
    require_number(problem, "capacity", capacity, kTokenBounds);
    Names names;
    std::vector<RealClaim> claims;
    require(problem, "children", "a list of children, which may be empty");
    for_objects(problem, "children", false, faults, [&](ObjectReader& reader) {
        names.add(reader);
        const pools::Controls own = read_controls(reader);
        const double demand = read_demand(reader, "demand");
        // A demand is at least the reservation (SRP eq. 3).
        claims.push_back({.reservation = own.reservation,
                          .limit = own.limit,
                          .demand = std::max(demand, own.reservation),
                          .shares = own.shares});
    });
    if (!faults.empty())
        return {};
    std::vector<double> parts(claims.size());
    const double unassigned = water_fill(capacity, claims, parts);
    json children = json::array();
    for (std::uint32_t i = 0; i < names.size(); ++i)
        children.push_back({{"id", names[i]}, {"allocation", parts[i]}});
    return {{"children", std::move(children)}, {"unassigned", unassigned}};
}

}  // namespace weir::what_if
