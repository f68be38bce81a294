// rcp.cc - what-if kind `rcp`: a series of advertised rates, by the rate law of the switch.
// Source: EyeQ 3.4; docs/design.md 5.4
// Units: rates in any one unit; steps in feedback periods.
#include <algorithm>
#include <array>
#include <cmath>

#include "ctrl/what_if/fields.h"
#include "ctrl/what_if/registry.h"
#include "vswitch/qos/feedback/rate_law.h"

namespace weir::what_if {

using nlohmann::json;

namespace {

constexpr double kFloorPart = 1.0 / 900;   // of the capacity: EyeQ's 10 Mbit/s of 9 Gbit/s
constexpr double kCapacityGrain = 0x1p52;  // the law's whole tokens per capacity: rounding is invisible

}  // namespace

json solve_rcp(ObjectReader& problem, Faults& faults) {
    const RateLawEntry* law = &kRateLaws.front();
    require(problem, "law", "\"linear\" or \"log\"");
    problem.read_entry<RateLawEntry>("law", law, kRateLaws);
    RateLawProfile profile{.law = make_rate_law(*law)};
    profile.law.gain = 0.5;
    double capacity = 0;
    double senders = 0;
    double start = 0;
    std::uint32_t steps = 0;
    std::uint32_t delay = 0;
    require_number(problem, "capacity", capacity, {1e-6, 1e18});
    require_number(problem, "senders", senders, {0, 1e6});
    require_number(problem, "start", start, {0, 1e18});
    require_number(problem, "alpha", profile.law.gain, {0, 2});
    require(problem, "steps", "a whole number, 0 to 100000");
    problem.read_integer("steps", steps, {0, 100'000});
    problem.read_integer("delay", delay, {0, 100});
    double floor = capacity * kFloorPart;
    double ceiling = std::max(capacity, start);
    read_number(problem, "floor", floor, {0, 1e18});
    if (read_number(problem, "ceiling", ceiling, {0, 1e18}) && ceiling < floor)
        problem.fault("ceiling", "at least the floor", "no rate is within both");
    if (!faults.empty())
        return {};
    const double scale =
        std::exp2(std::floor(std::log2(kCapacityGrain / std::max({ceiling, capacity, start}))));
    profile.rate_min = static_cast<std::uint64_t>(std::llround(floor * scale));
    profile.rate_max = static_cast<std::uint64_t>(std::llround(ceiling * scale));
    std::vector<std::uint64_t> rates{static_cast<std::uint64_t>(std::llround(start * scale))};
    while (rates.size() <= steps) {
        // Senders use the rate that was advertised `delay` periods before.
        const std::uint64_t used = rates[rates.size() - 1 - std::min<std::size_t>(delay, rates.size() - 1)];
        const double load = static_cast<double>(used) * senders / (capacity * scale);
        rates.push_back(next_rate(profile, rates.back(), load));
    }
    json answer{{"rates", json::array()}};
    for (const std::uint64_t rate : rates)
        answer["rates"].push_back(static_cast<double>(rate) / scale);
    return answer;
}

}  // namespace weir::what_if
