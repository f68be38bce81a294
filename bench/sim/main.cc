// main.cc - weir-sim: reads a scenario, runs it in virtual time, and prints series and summary as one JSON
// object.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "bench/sim/fleet/fleet_simulation.h"
#include "bench/sim/pools/pool_simulation.h"
#include "bench/sim/services/service_simulation.h"
#include "bench/sim/simulation.h"
#include "common/config/config_text.h"
#include "common/config/json_text.h"
#include "common/process.h"

namespace {

using namespace weir;
using namespace weir::sim;

constexpr int kWriteFailed = 1;
constexpr int kBadInput = 2;

constexpr const char* kFooter = R"(
The keys of a scenario decide its kind; each kind has a schema for editors in configs/schema:
  network    "sources": guests on hosts and a network, packet by packet   scenario.schema.json
  services   "services": appliances under the controller, by requests     service_scenario.schema.json
  pools      "array": hosts that share one appliance by pools             pool_scenario.schema.json
  fleet      "fleet": thousands of over-committed links, as a fluid       fleet_scenario.schema.json

The result goes to standard output. The same scenario and seed give the same bytes.
Exit status: 0 done, 1 the result could not be written, 2 the scenario or an option is refused.

Examples:
  weir-sim --check bench/scenarios/eyeq/fig6-14.jsonc
  weir-sim bench/scenarios/eyeq/fig6-14.jsonc > result.json
  weir-sim --isolation off --seed 2 bench/scenarios/eyeq/fig6-14.jsonc > without.json

The manual is bench/sim/README.md.)";

struct Options {
    std::string file;
    std::string costs = data_dir() + "/costs";
    std::string isolation;  ///< "" = the scenario's
    std::optional<std::uint64_t> seed;
    bool check = false;
    bool timing = false;
};

/// Runs the scenario, or refuses it with its faults.
/// @param isolations words that --isolation may have
/// @param set_isolation (scenario, word): whether the word is one of them
template <typename Simulated, typename Scenario, typename SetIsolation>
int run(std::variant<Scenario, Faults> loaded, const Options& options, const char* isolations,
        SetIsolation set_isolation) {
    if (const Faults* faults = std::get_if<Faults>(&loaded)) {
        complain(*faults, options.file);
        return kBadInput;
    }
    auto& scenario = std::get<Scenario>(loaded);
    if (!options.isolation.empty() && !set_isolation(scenario, options.isolation)) {
        complain({{"--isolation", options.isolation, isolations, "this kind of scenario does not have it"}},
                 options.file);
        return kBadInput;
    }
    scenario.seed = options.seed.value_or(scenario.seed);
    if (options.check) {
        std::printf("%s: valid\n", options.file.c_str());
        return 0;
    }
    const std::clock_t began = std::clock();
    Simulated simulation(scenario);
    simulation.run();
    const double took = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
    std::cout << simulation.result().dump() << '\n';
    if (options.timing)
        std::cerr << simulation.events() << " events in " << took << " s of CPU time, "
                  << static_cast<double>(simulation.events()) / took / 1e6 << " million per second\n";
    return std::cout.flush() ? 0 : kWriteFailed;
}

int run_services(const Options& options) {
    return run<ServiceSimulation>(load_service_scenario(options.file, options.costs), options,
                                  "off, appliances, network, weir",
                                  [](ServiceScenario& scenario, const std::string& word) {
                                      return find_isolation(word, scenario.isolation);
                                  });
}

int run_pools(const Options& options) {
    return run<PoolSimulation>(load_pool_scenario(options.file, options.costs), options, "off, weir",
                               [](PoolScenario& scenario, const std::string& word) {
                                   scenario.control = word == "off" ? PoolControl::kOff : PoolControl::kSrp;
                                   return word == "off" || word == "weir";
                               });
}

int run_fleet(const Options& options) {
    return run<FleetSimulation>(load_fleet_scenario(options.file), options,
                                "no --isolation with a fleet, which always has Weir's guarantees",
                                [](FleetScenario&, const std::string&) { return false; });
}

int run_network(const Options& options) {
    return run<Simulation>(
        load_scenario(options.file), options, "off, eyeq-linear, rate-limits, weir",
        [](Scenario& scenario, const std::string& word) { return find_isolation(word, scenario.isolation); });
}

/// How scenarios with a key are run; those without any of the keys are networks.
struct Kind {
    const char* key;
    int (*run)(const Options&);
};
constexpr Kind kKinds[] = {{"array", run_pools}, {"fleet", run_fleet}, {"services", run_services}};

/// A file that cannot be read, or is no object, is left to the reader of networks, which reports it.
const Kind* kind_of(const std::string& file) {
    const auto text = read_text_file(file);
    if (!std::holds_alternative<std::string>(text))
        return nullptr;
    const JsonText read = read_json_text(std::get<std::string>(text));
    if (!read.readable || !read.value.is_object())
        return nullptr;
    for (const Kind& kind : kKinds)
        if (read.value.contains(kind.key))
            return &kind;
    return nullptr;
}

}  // namespace

int main(int argc, char* argv[]) {
    CLI::App app{"weir-sim - runs a scenario with Weir's own algorithms in virtual time"};
    Options options;
    app.add_option("FILE", options.file, "the scenario, JSON with comments")->required();
    app.add_flag("--check", options.check,
                 "report all faults of the scenario, or that it is valid, and run nothing");
    app.add_option(
        "--isolation", options.isolation,
        "use this isolation instead of the scenario's: off, eyeq-linear, rate-limits or weir; with services "
        "off, appliances, network or weir; with pools off or weir");
    app.add_option("--seed", options.seed, "use these random numbers instead of the scenario's, 0 or more");
    app.add_option("--costs", options.costs, "folder of the cost tables that services and arrays name")
        ->capture_default_str();
    app.add_flag("--timing", options.timing,
                 "report on standard error the number of events and the CPU time");
    app.set_version_flag("--version", WEIR_VERSION);
    app.footer(kFooter);
    CLI11_PARSE(app, argc, argv);
    const Kind* kind = kind_of(options.file);
    return kind == nullptr ? run_network(options) : kind->run(options);
}
