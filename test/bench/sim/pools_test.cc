// pools_test.cc - pools of VMs at one array in virtual time: SRP's Fig. 5 to 8 in short, and scenarios that
// are refused.
#include <nlohmann/json.hpp>

#include "bench/sim/pools/pool_simulation.h"
#include "test/bench/sim/sim_support.h"
#include "test/support/catch.h"
#include "test/support/faults.h"
#include "test/support/places.h"

using namespace weir;
using namespace weir::sim;
using weir::sim::test::kCosts;
using weir::test::has_fault;

namespace {

PoolScenario shipped_pools(const char* name) {
    auto read = load_pool_scenario(
        weir::test::source_path("bench/scenarios/srp/" + std::string(name) + ".jsonc"), kCosts);
    if (const Faults* faults = std::get_if<Faults>(&read))
        FAIL(weir::test::lines_of(*faults));
    return std::get<PoolScenario>(read);
}

Faults pool_faults(const std::string& text) {
    auto read = parse_pool_scenario(text, kCosts);
    const Faults* faults = std::get_if<Faults>(&read);
    return faults == nullptr ? Faults{} : *faults;
}

constexpr Nanos operator""_s(unsigned long long seconds) {
    return seconds * kNanosPerSec;
}

}  // namespace

TEST_CASE("SRP Fig. 5: the reservation within 3 %, then the limit; pools by shares within 5 %", "[srp]") {
    const PoolScenario scenario = shipped_pools("fig5");
    PoolSimulation simulation(scenario);
    simulation.run();
    const auto of = [&](std::size_t a, std::size_t b, Nanos from, Nanos to) {
        return simulation.served(a, from, to) + simulation.served(b, from, to);
    };
    const double first = of(0, 3, 10_s, 60_s);
    CHECK(first == Approx(1500).epsilon(0.03));
    CHECK(simulation.served(0, 10_s, 60_s) == Approx(750).epsilon(0.03));
    CHECK(of(1, 4, 10_s, 60_s) / of(2, 5, 10_s, 60_s) == Approx(2).epsilon(0.05));
    CHECK(of(0, 3, 65_s, 120_s) == Approx(500).epsilon(0.03));
    CHECK(of(1, 4, 65_s, 120_s) / of(2, 5, 65_s, 120_s) == Approx(2).epsilon(0.05));
    CHECK(of(0, 3, 65_s, 120_s) + of(1, 4, 65_s, 120_s) + of(2, 5, 65_s, 120_s) > 2800);
}

TEST_CASE("SRP Fig. 6: what an idle VM leaves goes to its sibling on the other host", "[srp]") {
    PoolScenario scenario = shipped_pools("fig5");
    scenario.events.clear();
    scenario.duration = 40_s;
    scenario.vms[0].to = 20_s;
    PoolSimulation simulation(scenario);
    simulation.run();
    CHECK(simulation.served(0, 25_s, 40_s) == 0);
    CHECK(simulation.served(3, 25_s, 40_s) == Approx(1500).epsilon(0.03));
    CHECK(simulation.served(1, 25_s, 40_s) + simulation.served(4, 25_s, 40_s) ==
          Approx(simulation.served(1, 5_s, 20_s) + simulation.served(4, 5_s, 20_s)).epsilon(0.05));
}

TEST_CASE("SRP Fig. 8: new shares are in effect within two intervals", "[srp]") {
    const PoolScenario scenario = shipped_pools("fig8");
    PoolSimulation simulation(scenario);
    simulation.run();
    const double before = simulation.served(2, 30_s, 60_s);
    const double after = simulation.served(2, 80_s, 120_s);
    CHECK(after / simulation.served(0, 80_s, 120_s) == Approx(4).epsilon(0.1));
    CHECK(before / simulation.served(0, 30_s, 60_s) == Approx(2).epsilon(0.1));
    CHECK(simulation.served(2, 62_s, 64_s) == Approx(after).epsilon(0.1));
    CHECK(simulation.served(2, 122_s, 124_s) == Approx(before).epsilon(0.1));
}

TEST_CASE("the latency is held at its threshold, and the same seed gives the same bytes", "[srp]") {
    PoolScenario scenario = shipped_pools("fig5");
    scenario.duration = 20_s;
    scenario.warmup = 5_s;
    PoolSimulation one(scenario);
    PoolSimulation two(scenario);
    one.run();
    two.run();
    CHECK(one.result().dump() == two.result().dump());
    CHECK(one.rows().back().latency_us == Approx(20'000).epsilon(0.1));
    scenario.control = PoolControl::kOff;
    PoolSimulation off(scenario);
    off.run();
    CHECK(off.rows().back().latency_us == Approx(192 / 3.0 * 1000).epsilon(0.1));
}

TEST_CASE("scenarios of pools: what is wrong is listed with its path", "[srp]") {
    const Faults faults = pool_faults(R"({"control": "none", "scheduler": "fifo",
        "array": {"name": "a", "costs": "storage_requests", "read": {"4KiB": "1ms"}, "write": {"4KiB": "fast"}},
        "pools": [{"name": "p", "appliance": "b", "reservation": "10tokens",
                   "vnics": [{"name": "v", "reservation": "20tokens"}, {"name": "w"}]}],
        "vms": [{"name": "v", "size": "4KiB", "on": "1s"}],
        "events": [{"at": "1s", "name": "x", "shares": 0}]})");
    CHECK(has_fault(faults, "duration", "needed"));
    CHECK(has_fault(faults, "control", "parda"));
    CHECK(has_fault(faults, "scheduler", "fifo"));
    CHECK(has_fault(faults, "array.write", "a size or a time"));
    CHECK(has_fault(faults, "array.capacity_min", "needed"));
    CHECK(has_fault(faults, "pools[0].appliance", "one appliance"));
    CHECK(has_fault(faults, "pools[0].reservation", "20tokens"));
    CHECK(has_fault(faults, "pools[0].vnics[1].name", "vms"));
    CHECK(has_fault(faults, "vms[0].host", "needed"));
    CHECK(has_fault(faults, "vms[0].off", "pauses"));
    CHECK(has_fault(faults, "events[0].name", "pools"));
    CHECK(has_fault(faults, "events[0].shares", "1 to 10000"));
}
