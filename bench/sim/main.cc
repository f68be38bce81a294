// main.cc - weir-sim FILE: runs a scenario in virtual time and prints series and summary as one JSON object.
#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "bench/sim/simulation.h"

namespace {

using namespace weir;
using namespace weir::sim;

constexpr int kBadInput = 2;

int run(const Scenario& scenario, bool timing) {
    const auto began = std::chrono::steady_clock::now();
    Simulation simulation(scenario);
    simulation.run();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    std::cout << simulation.result().dump() << '\n';
    if (timing)
        std::cerr << simulation.world().engine.fired() << " events in " << took.count() << " s, "
                  << static_cast<double>(simulation.world().engine.fired()) / took.count() / 1e6
                  << " million per second\n";
    return std::cout.flush() ? 0 : 1;
}

}  // namespace

int main(int argc, char* argv[]) {
    CLI::App app{"Simulates hosts that run Weir, and the network between them, in virtual time."};
    std::string file;
    std::string isolation;
    std::optional<std::uint64_t> seed;
    bool check = false;
    bool timing = false;
    app.add_option("FILE", file, "scenario (JSON with comments; configs/schema/scenario.schema.json)")
        ->required();
    app.add_option("--isolation", isolation, "off, eyeq-linear or weir, instead of the scenario's");
    app.add_option("--seed", seed, "instead of the scenario's");
    app.add_flag("--check", check, "validate and exit");
    app.add_flag("--timing", timing, "say on standard error how fast it ran");
    CLI11_PARSE(app, argc, argv);

    auto loaded = load_scenario(file);
    if (const Faults* faults = std::get_if<Faults>(&loaded)) {
        for (const Fault& fault : *faults)
            std::cerr << fault.to_line() << '\n';
        return kBadInput;
    }
    auto& scenario = std::get<Scenario>(loaded);
    if (!isolation.empty() && !find_isolation(isolation, scenario.isolation)) {
        std::cerr << "--isolation: found " << isolation << "; allowed: off, eyeq-linear, weir\n";
        return kBadInput;
    }
    scenario.seed = seed.value_or(scenario.seed);
    return check ? 0 : run(scenario, timing);
}
