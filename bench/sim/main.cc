// main.cc - weir-sim FILE: runs a scenario in virtual time and prints series and summary as one JSON object.
#include <CLI/CLI.hpp>
#include <chrono>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "bench/sim/fleet/fleet_simulation.h"
#include "bench/sim/pools/pool_simulation.h"
#include "bench/sim/services/service_simulation.h"
#include "bench/sim/simulation.h"
#include "common/config/config_text.h"
#include "common/data_dir.h"

namespace {

using namespace weir;
using namespace weir::sim;

constexpr int kBadInput = 2;

/// Of either kind of scenario.
template <typename Simulated, typename Spec>
int run(const Spec& scenario, bool timing) {
    const auto began = std::chrono::steady_clock::now();
    Simulated simulation(scenario);
    simulation.run();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    std::cout << simulation.result().dump() << '\n';
    if (timing)
        std::cerr << simulation.events() << " events in " << took.count() << " s, "
                  << static_cast<double>(simulation.events()) / took.count() / 1e6 << " million per second\n";
    return std::cout.flush() ? 0 : 1;
}

int say(const Faults& faults) {
    for (const Fault& fault : faults)
        std::cerr << fault.to_line() << '\n';
    return kBadInput;
}

enum class Kind { kNetwork, kServices, kPools, kFleet };

/// A scenario of services has "services", one of pools an "array", one of over-committed servers a "fleet",
/// one of networks none of them.
Kind kind_of(const std::string& file) {
    std::ifstream stream(file);
    const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
    const JsonText read = read_json_text(text);
    const bool object = read.readable && read.value.is_object();
    return object && read.value.contains("array")      ? Kind::kPools
           : object && read.value.contains("fleet")    ? Kind::kFleet
           : object && read.value.contains("services") ? Kind::kServices
                                                       : Kind::kNetwork;
}

struct Wishes {
    std::string isolation;
    std::optional<std::uint64_t> seed;
    bool check = false;
    bool timing = false;
};

int run_services(const std::string& file, const std::string& costs, const Wishes& wishes) {
    auto loaded = load_service_scenario(file, costs);
    if (const Faults* faults = std::get_if<Faults>(&loaded))
        return say(*faults);
    auto& scenario = std::get<ServiceScenario>(loaded);
    if (!wishes.isolation.empty() && !find_isolation(wishes.isolation, scenario.isolation)) {
        std::cerr << "--isolation: found " << wishes.isolation
                  << "; allowed: off, appliances, network, weir\n";
        return kBadInput;
    }
    scenario.seed = wishes.seed.value_or(scenario.seed);
    return wishes.check ? 0 : run<ServiceSimulation>(scenario, wishes.timing);
}

int run_pools(const std::string& file, const std::string& costs, const Wishes& wishes) {
    auto loaded = load_pool_scenario(file, costs);
    if (const Faults* faults = std::get_if<Faults>(&loaded))
        return say(*faults);
    auto& scenario = std::get<PoolScenario>(loaded);
    if (!wishes.isolation.empty() && wishes.isolation != "off" && wishes.isolation != "weir") {
        std::cerr << "--isolation: found " << wishes.isolation << "; allowed: off, weir\n";
        return kBadInput;
    }
    if (!wishes.isolation.empty())
        scenario.control = wishes.isolation == "off" ? PoolControl::kOff : PoolControl::kSrp;
    scenario.seed = wishes.seed.value_or(scenario.seed);
    return wishes.check ? 0 : run<PoolSimulation>(scenario, wishes.timing);
}

int run_fleet(const std::string& file, const Wishes& wishes) {
    auto loaded = load_fleet_scenario(file);
    if (const Faults* faults = std::get_if<Faults>(&loaded))
        return say(*faults);
    auto& scenario = std::get<FleetScenario>(loaded);
    if (!wishes.isolation.empty()) {
        std::cerr << "--isolation: found " << wishes.isolation << "; allowed: nothing, with a fleet\n";
        return kBadInput;
    }
    scenario.seed = wishes.seed.value_or(scenario.seed);
    return wishes.check ? 0 : run<FleetSimulation>(scenario, wishes.timing);
}

int run_network(const std::string& file, const Wishes& wishes) {
    auto loaded = load_scenario(file);
    if (const Faults* faults = std::get_if<Faults>(&loaded))
        return say(*faults);
    auto& scenario = std::get<Scenario>(loaded);
    if (!wishes.isolation.empty() && !find_isolation(wishes.isolation, scenario.isolation)) {
        std::cerr << "--isolation: found " << wishes.isolation
                  << "; allowed: off, eyeq-linear, rate-limits, weir\n";
        return kBadInput;
    }
    scenario.seed = wishes.seed.value_or(scenario.seed);
    return wishes.check ? 0 : run<Simulation>(scenario, wishes.timing);
}

}  // namespace

int main(int argc, char* argv[]) {
    CLI::App app{"Simulates hosts that run Weir, and the network between them, in virtual time."};
    std::string file;
    std::string costs = data_dir() + "/costs";
    Wishes wishes;
    app.add_option("FILE", file, "scenario (JSON with comments; configs/schema/scenario.schema.json)")
        ->required();
    app.add_option(
        "--isolation", wishes.isolation,
        "off, eyeq-linear, rate-limits or weir (with services: off, appliances, network or weir), instead of "
        "the scenario's");
    app.add_option("--seed", wishes.seed, "instead of the scenario's");
    app.add_option("--costs", costs, "folder of the cost tables that services name")->capture_default_str();
    app.add_flag("--check", wishes.check, "validate and exit");
    app.add_flag("--timing", wishes.timing, "say on standard error how fast it ran");
    CLI11_PARSE(app, argc, argv);
    switch (kind_of(file)) {
        case Kind::kServices:
            return run_services(file, costs, wishes);
        case Kind::kPools:
            return run_pools(file, costs, wishes);
        case Kind::kFleet:
            return run_fleet(file, wishes);
        case Kind::kNetwork:
            break;
    }
    return run_network(file, wishes);
}
