// overcommit.cc - what-if kind `overcommit`: how often promises beyond a link's rate fail.
// Source: SoftBW 2.2; docs/design.md 5.4
// Units: parts of 1.
#include "ctrl/billing/overcommit.h"

#include "ctrl/what_if/fields.h"
#include "ctrl/what_if/registry.h"

namespace weir::what_if {

using nlohmann::json;

namespace {

constexpr Bounds kRatios{0, 1e6};

}  // namespace

json solve_overcommit(ObjectReader& problem, Faults& faults) {
    std::uint32_t vms = 0;
    double utilization = 0;
    double ratio = 0;
    double bound = 0;
    require(problem, "vms", "a whole number, 1 to 100000");
    problem.read_integer("vms", vms, {1, billing::kVmsMax});
    require_number(problem, "utilization", utilization, {0, 1});
    require_number(problem, "ratio", ratio, kRatios);
    const bool bounded = read_number(problem, "bound", bound, {0, 1});
    if (!faults.empty())
        return {};
    json answer{{"failure_probability", billing::failure_probability(vms, utilization, ratio)}};
    if (bounded)
        answer["ratio_within"] = billing::ratio_within(vms, utilization, bound, kRatios.max);
    return answer;
}

}  // namespace weir::what_if
