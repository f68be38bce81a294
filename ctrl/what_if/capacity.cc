// capacity.cc - what-if kind `capacity`: the capacity search over a series of intervals.
// Source: Pulsar 4.3; docs/design.md 5.4
// Units: tokens, tokens/s.
#include <algorithm>
#include <map>

#include "ctrl/estimate/capacity_search.h"
#include "ctrl/estimate/demand.h"
#include "ctrl/what_if/fields.h"
#include "ctrl/what_if/registry.h"

namespace weir::what_if {

using estimate::CapacitySearch;
using estimate::CapacitySettings;
using nlohmann::json;

namespace {

constexpr Bounds kPlausible{0, estimate::kTokensMax};

CapacitySettings read_settings(ObjectReader& problem) {
    CapacitySettings settings;
    require_number(problem, "min", settings.min, kPlausible);
    if (require_number(problem, "max", settings.max, kPlausible) && settings.max < settings.min)
        problem.fault("max", "at least min", "the window is empty");
    bool jump = false;
    problem.read_flag("jump", jump);
    if (!jump)
        settings = estimate::plain_search(settings.min, settings.max);
    if (read_number(problem, "tolerance", settings.tolerance, kPlausible) && settings.tolerance < 1)
        settings.tolerance *= settings.max;
    problem.read_integer("readings", settings.readings, {1, 1000});
    read_number(problem, "alpha", settings.alpha, {0, 10});
    read_number(problem, "mix_change", settings.mix_change, {0, 1});
    return settings;
}

/// A reading, with the storage of its mix.
struct Interval {
    estimate::Reading reading;
    std::vector<double> mix;
};

void read_mix(ObjectReader& reader, std::map<std::string, std::size_t>& kinds, std::vector<double>& mix) {
    const json* object = reader.take("mix");
    if (object == nullptr)
        return;
    const auto is_amount = [](const json& value) {
        return value.is_number() && estimate::is_plausible(value.get<double>());
    };
    if (!object->is_object() || !std::all_of(object->begin(), object->end(), is_amount)) {
        reader.fault("mix", "tokens by kind of request, such as {\"get\": 900, \"set\": 100}",
                     "not amounts by kind");
        return;
    }
    for (const auto& [kind, tokens] : object->items()) {
        const std::size_t number = kinds.try_emplace(kind, kinds.size()).first->second;
        mix.resize(std::max(mix.size(), number + 1));
        mix[number] = tokens.get<double>();
    }
}

}  // namespace

json solve_capacity(ObjectReader& problem, Faults& faults) {
    const CapacitySettings settings = read_settings(problem);
    std::vector<Interval> intervals;
    std::map<std::string, std::size_t> kinds;
    require(problem, "intervals", "a list of intervals, which may be empty");
    for_objects(problem, "intervals", false, faults, [&](ObjectReader& reader) {
        Interval& interval = intervals.emplace_back();
        require_number(reader, "throughput", interval.reading.throughput, kPlausible);
        require_number(reader, "offered", interval.reading.offered, kPlausible);
        read_number(reader, "outstanding", interval.reading.outstanding, kPlausible);
        read_number(reader, "guaranteed", interval.reading.guaranteed, kPlausible);
        read_number(reader, "in_force", interval.reading.in_force, kPlausible);
        reader.read_flag("violated", interval.reading.violated);
        read_mix(reader, kinds, interval.mix);
    });
    if (!faults.empty())
        return {};
    json answer{{"intervals", json::array()}};
    CapacitySearch search(settings);
    for (Interval& interval : intervals) {
        interval.reading.mix = interval.mix;
        const CapacitySearch::State& state = search.update(interval.reading);
        json row{{"phase", estimate::name_of(state.phase)},
                 {"min_window", state.min_window},
                 {"max_window", state.max_window},
                 {"estimate", state.estimate}};
        if (settings.jump)
            row["allocate"] = state.allocate;
        answer["intervals"].push_back(std::move(row));
    }
    return answer;
}

}  // namespace weir::what_if
