// fleet_test.cc - a datacenter of over-committed servers: worked numbers of one link, the fluid model of a
// link against the switch's fulfillment scheduler, the model of SoftBW 2.2 by drawing lots, and scenarios
// that are refused.
#include <nlohmann/json.hpp>
#include <numeric>

#include "bench/sim/fleet/fleet_simulation.h"
#include "ctrl/billing/overcommit.h"
#include "test/support/catch.h"
#include "test/support/faults.h"
#include "test/support/places.h"
#include "test/vswitch/qos/schedulers/link_harness.h"

using namespace weir;
using namespace weir::sim;

namespace {

using Classes = std::vector<FluidClass>;

constexpr double kMbit = 125'000;

std::vector<double> divided(double capacity, const Classes& classes) {
    std::vector<double> rates(classes.size());
    LinkShares shares;
    shares.divide(capacity, classes, rates);
    return rates;
}

/// A server of 1 Gbit/s, for ten seconds, whose VMs have guarantees of 250 Mbit and send at given times.
FleetScenario short_scenario() {
    FleetScenario scenario;
    scenario.duration = 10 * kNanosPerSec;
    return scenario;
}

std::uint64_t megabits(double amount) {
    return static_cast<std::uint64_t>(amount * kMbit);
}

FleetTally run(const FleetScenario& scenario, const std::vector<FleetVm>& vms) {
    FleetTally tally(scenario.duration / scenario.interval);
    FleetServer(scenario, vms).run(tally);
    std::sort(tally.relative.begin(), tally.relative.end());
    return tally;
}

FleetVm sender(double at, double megabit) {
    return {.dynamic = true, .stream = 0, .starts = {{at, megabits(megabit)}}};
}

FleetScenario small_fleet(double overcommit) {
    FleetScenario scenario;
    scenario.servers = 100;
    scenario.duration = 200 * kNanosPerSec;
    scenario.overcommit = overcommit;
    return scenario;
}

Faults fleet_faults(const std::string& text) {
    auto read = parse_fleet_scenario(text);
    const Faults* faults = std::get_if<Faults>(&read);
    return faults == nullptr ? Faults{} : *faults;
}

}  // namespace

TEST_CASE("a link with too little gives each the same part of its promise, and no more than it wants",
          "[fleet]") {
    const auto both = divided(10, {{8, 100}, {4, 100}});  // SoftBW 1
    CHECK(both[0] == Approx(20.0 / 3));
    CHECK(both[1] == Approx(10.0 / 3));
    const auto three = divided(1000, {{450, 1000}, {450, 1000}, {450, 1000}});  // SoftBW 6.2
    CHECK(three[2] == Approx(1000.0 / 3));
    const auto one_wants_little = divided(1000, {{450, 100}, {450, 1000}, {900, 1000}});
    CHECK(one_wants_little[0] == Approx(100));
    CHECK(one_wants_little[1] == Approx(300));
    CHECK(one_wants_little[2] == Approx(600));
    CHECK(divided(1000, {{600, 1000}, {600, 1000}, {0, 1000}})[2] == 0);
}

TEST_CASE("spare goes in equal shares, towards which promises count", "[fleet]") {
    const auto rates = divided(1000, {{600, 1000}, {100, 1000}, {0, 1000}, {250, 50}});
    CHECK(rates[0] == Approx(600));
    CHECK(rates[1] == Approx(175));
    CHECK(rates[2] == Approx(175));
    CHECK(rates[3] == Approx(50));
    CHECK(divided(1000, {{250, 30}, {250, 40}})[1] == Approx(40));
}

TEST_CASE("what a fluid link gives is what the fulfillment scheduler gives", "[fleet]") {
    using testing::kMbit;
    struct Case {
        const char* name;
        Classes classes;
    };
    const Case cases[] = {
        {"too little", {{450, 2000}, {450, 2000}, {450, 2000}}},
        {"too little, unequal", {{800, 2000}, {400, 2000}, {400, 2000}}},
        {"too little, one wants less", {{450, 100}, {450, 2000}, {900, 2000}}},
        {"spare", {{600, 2000}, {100, 2000}, {0, 2000}, {250, 50}}},
        {"spare, equal promises", {{250, 2000}, {250, 40}, {250, 90}, {0, 2000}}},
        {"enough", {{250, 100}, {250, 200}, {0, 300}}},
    };
    for (const Case& c : cases) {
        const auto expected = divided(1000, c.classes);
        std::vector<testing::Source> sources;
        for (const FluidClass& each : c.classes)
            sources.push_back({.profile = {.reservation = static_cast<std::uint64_t>(each.promised) * kMbit},
                               .limit = static_cast<std::uint64_t>(each.demand) * kMbit});
        testing::LinkHarness link(1000 * kMbit, std::move(sources), "fulfillment");
        (void)link.run(100 * testing::kMs, 10 * testing::kUs);
        link.forget();
        (void)link.run(400 * testing::kMs, 10 * testing::kUs);
        for (std::size_t i = 0; i < c.classes.size(); ++i) {
            INFO(c.name << ", class " << i);
            CHECK(link.rate(i) / static_cast<double>(kMbit) == Approx(expected[i]).epsilon(0.02).margin(2));
        }
    }
}

TEST_CASE("a fluid link is never over its capacity, and no class gets more than its demand", "[fleet]") {
    Random random(1, 0);
    for (int round = 0; round < 2000; ++round) {
        Classes classes(1 + random.below(24));
        double wanted = 0;
        for (FluidClass& each : classes) {
            each.promised = random.below(4) == 0 ? 0 : random.unit() * 500;
            each.demand = random.below(4) == 0 ? 0 : random.exponential(200);
            wanted += each.demand;
        }
        const auto rates = divided(1000, classes);
        const double sum = std::accumulate(rates.begin(), rates.end(), 0.0);
        REQUIRE(sum == Approx(std::min(1000.0, wanted)).margin(1e-6));
        double promised = 0;
        for (std::size_t i = 0; i < classes.size(); ++i) {
            REQUIRE(rates[i] >= 0);
            REQUIRE(rates[i] <= classes[i].demand + 1e-9);
            promised += std::min(classes[i].promised, classes[i].demand);
        }
        double least = 1;  // fulfillment of those that were not given all
        double most = 0;
        for (std::size_t i = 0; i < classes.size(); ++i) {
            const double kept = std::min(classes[i].promised, classes[i].demand);
            if (promised <= 1000) {
                REQUIRE(rates[i] >= kept - 1e-9);
            } else if (rates[i] < kept - 1e-6) {
                least = std::min(least, rates[i] / classes[i].promised);
                most = std::max(most, rates[i] / classes[i].promised);
            }
        }
        REQUIRE((most == 0 || most == Approx(least).epsilon(1e-6)));
    }
}

TEST_CASE("transmissions alone use the link, and too many at once are late by as much as there is too little",
          "[fleet]") {
    FleetScenario scenario = short_scenario();
    scenario.by_deadline = false;
    const FleetTally alone = run(scenario, {sender(0.25, 1000)});
    REQUIRE(alone.relative.size() == 1);
    CHECK(alone.relative[0] == Approx(0.25));
    CHECK(alone.sent[0] == Approx(750 * kMbit));
    CHECK(alone.sent[1] == Approx(250 * kMbit));
    CHECK(alone.peak == Approx(1));

    const FleetTally five = run(scenario, std::vector<FleetVm>(5, sender(0, 1000)));
    CHECK(five.relative.front() == Approx(1.25));
    CHECK(five.relative.back() == Approx(1.25));
    CHECK(five.running == 0);

    // 20 s at 250 Mbit: not late yet when all ends.
    CHECK(run(scenario, std::vector<FleetVm>(5, sender(0, 5000))).running == 5);
}

TEST_CASE("by deadline those that there is room for are in time, and the others no later than they would be",
          "[fleet]") {
    const FleetTally tally = run(short_scenario(), std::vector<FleetVm>(5, sender(0, 1000)));
    // All alike for a second; then three get the 800/3 Mbit/s that they need, the fourth 200, the fifth
    // nothing. In time they leave the link to two that share it: 0.4 s, and 0.6 s alone.
    const std::vector<double> expected{1, 1, 1, 1.1, 1.25};
    REQUIRE(tally.relative.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
        CHECK(tally.relative[i] == Approx(expected[i]));
}

TEST_CASE("by deadline fewer transmissions are late", "[fleet]") {
    FleetScenario scenario = small_fleet(5);
    FleetSimulation by_deadline(scenario);
    by_deadline.run();
    scenario.by_deadline = false;
    FleetSimulation alike(scenario);
    alike.run();
    CHECK(alike.late() > 0);
    CHECK(by_deadline.late() < alike.late());
    CHECK(by_deadline.failed() <= alike.failed());
    CHECK(by_deadline.utilization() == Approx(alike.utilization()).epsilon(0.01));
}

TEST_CASE("a VM that was ahead needs less, and leaves it to those that begin", "[fleet]") {
    // A has 1000 of its 2500 Mbit after a second, so that 1500 / 9 s suffice and the link is not
    // over-promised.
    const FleetTally tally =
        run(short_scenario(), {sender(0, 2500), sender(1, 250), sender(1, 250), sender(1, 250)});
    CHECK(tally.relative[0] == Approx(0.325));
    CHECK(tally.relative[1] == Approx(1));
    CHECK(tally.relative[3] == Approx(1));
    CHECK(tally.fair_money == 0);
}

TEST_CASE("a fleet sends what was wanted but for what lapsed and is left; the same seed gives the same bytes",
          "[fleet]") {
    const FleetScenario scenario = small_fleet(4);
    FleetSimulation simulation(scenario);
    simulation.run();
    const FleetTally& tally = simulation.tally();
    const double sent = std::accumulate(tally.sent.begin(), tally.sent.end(), 0.0);
    CHECK(sent + tally.lapsed + tally.left == Approx(tally.wanted + tally.begun).epsilon(1e-9));
    CHECK(tally.peak <= 1 + 1e-9);
    CHECK(tally.started == tally.relative.size() + tally.running);
    for (const std::vector<FleetVm>& vms : simulation.servers())
        CHECK(vms.size() == 16);
    CHECK(simulation.late() > 0);
    CHECK(simulation.failed() > 0);
    CHECK(simulation.result()["summary"]["charges"]["strict"] > 0);

    FleetSimulation again(scenario);
    again.run();
    CHECK(again.result().dump() == simulation.result().dump());
    FleetScenario other = scenario;
    other.seed = 2;
    FleetSimulation different(other);
    different.run();
    CHECK(different.result().dump() != simulation.result().dump());
}

TEST_CASE("without over-commitment every promise is kept", "[fleet]") {
    const FleetScenario scenario = small_fleet(1);
    FleetSimulation simulation(scenario);
    simulation.run();
    CHECK(simulation.late() == 0);
    CHECK(simulation.failed() == 0);
    CHECK(simulation.tally().started > 100);
}

TEST_CASE("SoftBW eq. 2 is how often strict VMs want more than the link", "[fleet]") {
    for (const auto& [utilization, overcommit] :
         {std::pair{0.10, 6.9}, std::pair{0.15, 4.6}, std::pair{0.15, 4.0}, std::pair{0.15, 6.0}}) {
        FleetScenario scenario = small_fleet(overcommit);
        scenario.dynamic = 0;
        scenario.utilization = utilization;
        scenario.guarantee_bps =
            static_cast<std::uint64_t>(overcommit * static_cast<double>(scenario.link_bps) / 16);
        FleetSimulation simulation(scenario);
        simulation.run();
        CHECK(simulation.result()["vms_per_server"] == 16);
        const double expected = billing::failure_probability(16, utilization, overcommit);
        const double draws = 100 * 200;
        const double found = simulation.result()["summary"]["strict"]["overloaded"];
        CHECK(found == Approx(expected).margin(4 * std::sqrt(expected * (1 - expected) / draws)));
    }
}

TEST_CASE("wrong scenarios of fleets are refused with the place", "[fleet]") {
    using weir::test::has_fault;
    CHECK(fleet_faults(R"({"fleet": {}})").empty());
    const auto shipped =
        load_fleet_scenario(weir::test::source_path("bench/scenarios/fleet/softbw-fig11.jsonc"));
    REQUIRE(std::get_if<Faults>(&shipped) == nullptr);
    CHECK(std::get<FleetScenario>(shipped).vms_per_server() == 16);
    CHECK(has_fault(fleet_faults("{}"), "fleet", "this is needed"));
    CHECK(has_fault(fleet_faults(R"({"fleet": {"servers": 0}})"), "fleet.servers", "1 to 10000"));
    CHECK(has_fault(fleet_faults(R"({"fleet": {"starts": "twice"}})"), "fleet.starts", "once, again"));
    CHECK(has_fault(fleet_faults(R"({"fleet": {"overcommit": "10%"}})"), "fleet.overcommit", "0 VMs"));
    CHECK(has_fault(fleet_faults(R"({"fleet": {"overcommit": "10000%", "servers": 10000}})"),
                    "fleet.overcommit", "4000000 VMs"));
    CHECK(has_fault(fleet_faults(R"({"duration": "1500ms", "fleet": {}})"), "duration", "whole intervals"));
    CHECK(has_fault(fleet_faults(R"({"fleet": {"vms": 4}})"), "fleet.vms", "unknown"));
    CHECK(has_fault(fleet_faults(R"({"fleet": 3})"), "fleet", "object"));
}
