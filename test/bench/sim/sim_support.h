// sim_support.h - short ways to make scenarios and to run them, for the simulator's tests. Threads: tests
// only.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <variant>

#include "bench/sim/simulation.h"
#include "test/support/catch.h"
#include "test/support/places.h"

namespace weir::sim::test {

inline const std::string kCosts = weir::test::source_path("configs/costs");

inline Scenario valid(std::string_view text) {
    auto parsed = parse_scenario(text, weir::test::source_path("bench/scenarios"));
    if (const Faults* faults = std::get_if<Faults>(&parsed))
        FAIL(faults->front().to_line());
    return std::get<Scenario>(parsed);
}

inline Faults faults_of(std::string_view text) {
    auto parsed = parse_scenario(text, weir::test::source_path("bench/scenarios"));
    const Faults* faults = std::get_if<Faults>(&parsed);
    return faults == nullptr ? Faults{} : *faults;
}

/// A scenario that stays alive as long as its simulation.
struct Run {
    explicit Run(std::string_view text) : Run(valid(text)) {}
    explicit Run(Scenario parsed) : scenario(std::move(parsed)), simulation(scenario) {}
    nlohmann::json finish() {
        simulation.run();
        return simulation.result();
    }
    Scenario scenario;
    Simulation simulation;
};

}  // namespace weir::sim::test
