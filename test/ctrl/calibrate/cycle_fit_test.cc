// cycle_fit_test.cc - the price of a frame from the switch's counters, and the file that a switch accepts.
#include "ctrl/calibrate/fit/cycle_fit.h"

#include <nlohmann/json.hpp>

#include "cost_functions/cost_table_reader.h"
#include "cost_functions/cycle_costs.h"
#include "test/support/catch.h"

using namespace weir;
using namespace weir::calibrate;
using nlohmann::json;

TEST_CASE("cycles are read of all workers, bytes of all vNICs and the wire") {
    const json status{{"workers",
                       {{{"busy_cycles", 100}, {"idle_cycles", 9}, {"packets", 3}},
                        {{"busy_cycles", 50}, {"idle_cycles", 9}, {"packets", 2}}}},
                      {"uplink", {{"rx", {{"packets", 1}, {"bytes", 64}}}}}};
    const json vnics{{"vnics", {{{"from_vm", {{"offered", {{"packets", 4}, {"bytes", 400}}}}}}}}};
    const CycleReading reading = read_cycles(status, vnics);
    CHECK(reading.cycles == 150);
    CHECK(reading.frames == 5);
    CHECK(reading.bytes == 464);
    json alone = status;
    alone["uplink"] = nullptr;
    CHECK(read_cycles(alone, vnics).bytes == 400);
}

TEST_CASE("1.16 G cycles for a million frames of 1514 bytes are 1160 cycles for each 1514 bytes begun") {
    const auto fitted = fit_cycles({5, 6, 7}, {1'160'000'005, 1'000'006, 1'514'000'007}, "2026-11-22");
    REQUIRE(std::holds_alternative<json>(fitted));
    Faults faults;
    const CostTable table = load_cost_table(std::get<json>(fitted), faults);
    REQUIRE(faults.empty());
    CHECK(table.tokens(Operation::kRead, 60, 4) == 1160);
    CHECK(table.tokens(Operation::kRead, 514, 1000) == 1160);
    CHECK(table.tokens(Operation::kWrite, 1515, 0) == 2320);
    CHECK(table.tokens(Operation::kWrite, 15'140, 0) == 11'600);
}

TEST_CASE("few frames are no measurement") {
    const auto fitted = fit_cycles({0, 0, 0}, {1'000, 99'999, 1'000}, "2026-11-22");
    REQUIRE(std::holds_alternative<Fault>(fitted));
    CHECK(std::get<Fault>(fitted).to_line().find("99999 frames in this time; allowed: at least 100000") !=
          std::string::npos);
}
