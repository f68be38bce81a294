// rcp.cc - the kind `rcp`: how an advertised rate moves, by the rate law that the switch runs (EyeQ 3.4).
#include <algorithm>
#include <array>
#include <cmath>

#include "ctrl/what_if/fields.h"
#include "ctrl/what_if/registry.h"
#include "vswitch/qos/feedback/rate_law.h"

namespace weir::what_if {

using nlohmann::json;

namespace {

constexpr std::array kLaws{Word<RateLaw>{"linear", RateLaw::kLinear}, Word<RateLaw>{"log", RateLaw::kLog}};
/// EyeQ's floor is 10 Mbit/s of 9 Gbit/s.
constexpr double kFloorPart = 1.0 / 900;
/// The law counts whole tokens: so many to a capacity that no digit of the answer is lost.
constexpr double kCapacityGrain = 0x1p52;

}  // namespace

json solve_rcp(ObjectReader& problem, Faults& faults) {
    RateLawProfile profile{.gain = 0.5};
    need(problem, "law", "\"linear\" or \"log\"");
    problem.read_word("law", profile.law, std::span<const Word<RateLaw>>(kLaws));
    double capacity = 0;
    double senders = 0;
    double start = 0;
    std::uint32_t steps = 0;
    std::uint32_t delay = 0;
    need_number(problem, "capacity", capacity, {1e-6, 1e18});
    need_number(problem, "senders", senders, {0, 1e6});
    need_number(problem, "start", start, {0, 1e18});
    need_number(problem, "alpha", profile.gain, {0, 2});
    need(problem, "steps", "a whole number, 0 to 100000");
    problem.read_integer("steps", steps, {0, 100'000});
    problem.read_integer("delay", delay, {0, 100});
    double floor = capacity * kFloorPart;
    double ceiling = std::max(capacity, start);
    read_number(problem, "floor", floor, {0, 1e18});
    if (read_number(problem, "ceiling", ceiling, {0, 1e18}) && ceiling < floor)
        problem.fault("ceiling", "at least the floor", "there is no rate between them");
    if (!faults.empty())
        return {};
    const double scale =
        std::exp2(std::floor(std::log2(kCapacityGrain / std::max({ceiling, capacity, start}))));
    profile.rate_min = static_cast<std::uint64_t>(std::llround(floor * scale));
    profile.rate_max = static_cast<std::uint64_t>(std::llround(ceiling * scale));
    std::vector<std::uint64_t> rates{static_cast<std::uint64_t>(std::llround(start * scale))};
    while (rates.size() <= steps) {
        // Senders take what was told so many periods before.
        const std::uint64_t taken = rates[rates.size() - 1 - std::min<std::size_t>(delay, rates.size() - 1)];
        const double load = static_cast<double>(taken) * senders / (capacity * scale);
        rates.push_back(next_rate(profile, rates.back(), load));
    }
    json answer{{"rates", json::array()}};
    for (const std::uint64_t rate : rates)
        answer["rates"].push_back(static_cast<double>(rate) / scale);
    return answer;
}

}  // namespace weir::what_if
