// table_fit_test.cc - from rates to a table that the switch reads, and the objections to it.
#include "ctrl/calibrate/fit/table_fit.h"

#include "cost_functions/cost_table_reader.h"
#include "test/ctrl/calibrate/calibrate_support.h"
#include "test/support/faults.h"

using namespace weir;
using namespace weir::calibrate;
using namespace weir::calibrate::test;
using weir::test::lines_of;

namespace {

const TableNames kNames{"a store", "weir-calibrate, somewhen."};

// 100 us a read and 8 ns a byte; 300 us a write and 16 ns a byte.
double read_cost(double size) {
    return 100e-6 + size * 8e-9;
}
double write_cost(double size) {
    return 300e-6 + size * 16e-9;
}

std::vector<Measurement> store(double noise = 0) {
    std::vector<Measurement> all = measure(Operation::kRead, kSizes, read_cost, noise, 1);
    const std::vector<Measurement> writes = measure(Operation::kWrite, kSizes, write_cost, noise, 2);
    all.insert(all.end(), writes.begin(), writes.end());
    return all;
}

CostTable table_of(const TableFit& fit) {
    Faults faults;
    CostTable table = load_cost_table(fit.table, faults);
    REQUIRE(faults.empty());
    return table;
}

}  // namespace

TEST_CASE("a request costs as many base requests as the appliance could have answered instead") {
    const TableFit fit = fit_table(store(), {}, kNames);
    INFO(lines_of(fit.objections));
    REQUIRE(fit.objections.empty());
    const CostTable table = table_of(fit);
    const double unit = read_cost(512 + kHeader);
    CHECK(fit.capacity == Approx(1000 / unit));
    CHECK(table.tokens(Operation::kRead, 28, 512 + 16) == 1000);
    CHECK(table.tokens(Operation::kRead, 28, 65536 + 16) ==
          Approx(1000 * read_cost(65552) / unit).epsilon(0.002));
    CHECK(table.tokens(Operation::kWrite, 4096 + 16, 16) ==
          Approx(1000 * write_cost(4112) / unit).epsilon(0.002));
    // Not measured: as a write, which is the dearer.
    CHECK(table.tokens(Operation::kUpdate, 4096 + 16, 16) == table.tokens(Operation::kWrite, 4096 + 16, 16));
    CHECK(table.row(Operation::kRead).counted == CountedSize::kResponse);
    CHECK(table.row(Operation::kWrite).counted == CountedSize::kRequest);
    CHECK(table.facts().unit == "1/1000 of a read 512B (528B as counted)");
    CHECK(table.facts().source.find("operations not measured cost as write") != std::string::npos);
    CHECK(fit.confidence == Approx(0.9375));
}

TEST_CASE("an appliance that is asked in its own unit has the same capacity at every size") {
    const TableFit fit = fit_table(store(), {}, kNames);
    for (const TableFit::Row& row : fit.rows)
        for (const TableFit::Point& point : row.points)
            CHECK(point.rate.median * point.fitted == Approx(fit.capacity).epsilon(0.003));
}

TEST_CASE("the base request can be chosen, and what it costs") {
    FitRules rules;
    rules.base = {Operation::kWrite, 4096};
    rules.base_tokens = 5000;
    const TableFit fit = fit_table(store(), rules, kNames);
    CHECK(fit.objections.empty());
    CHECK(table_of(fit).tokens(Operation::kWrite, 4096 + 16, 16) == Approx(5000).margin(2));
    rules.base = {Operation::kFlush, 0};
    const TableFit none = fit_table(store(), rules, kNames);
    REQUIRE(none.objections.size() == 1);
    CHECK(none.objections[0].path == "base");
    CHECK(none.table.is_null());
}

TEST_CASE("noise within the bound is accepted, and so is one outlier among eight rounds") {
    std::vector<Measurement> measured = store(0.05);
    for (Measurement& one : measured) {
        one.rates.resize(8, one.rates.front());
        one.rates[3] /= 10;
    }
    const TableFit fit = fit_table(measured, {}, kNames);
    INFO(lines_of(fit.objections));
    CHECK(fit.objections.empty());
    const double unit = read_cost(512 + kHeader);
    CHECK(table_of(fit).tokens(Operation::kWrite, 1 << 20, 16) ==
          Approx(1000 * write_cost(1 << 20) / unit).epsilon(0.12));
}

TEST_CASE("too much noise is refused by the name of the request") {
    std::vector<Measurement> measured = store();
    measured[3].rates = {100, 130, 160, 100, 130};
    const TableFit fit = fit_table(measured, {.error = 0.99}, kNames);
    REQUIRE_FALSE(fit.objections.empty());
    CHECK(fit.objections[0].path == "read 4KiB");
    CHECK(fit.objections[0].found == "noise of 23.1%");
    CHECK(fit.objections[0].allowed == "10% or less");
}

TEST_CASE("too few rounds, no saturation, a busy generator and a switch that limits are refused") {
    std::vector<Measurement> measured = store();
    measured[0].rates.pop_back();
    measured[1].half_rates = {0.6 * measured[1].rates[0], 0.7 * measured[1].rates[0],
                              0.65 * measured[1].rates[0]};
    measured[2].generator = 0.97;
    measured[4].held_back = 0.4;
    measured[5].half_rates = {0.99 * measured[5].rates[0]};
    const TableFit fit = fit_table(measured, {}, kNames);
    REQUIRE(fit.objections.size() == 4);
    CHECK(fit.objections[0].found == "4 rounds");
    CHECK(fit.objections[1].found == "65% of the rate with half of the 16 requests outstanding");
    CHECK(fit.objections[2].path == "read 2KiB");
    CHECK(fit.objections[3].found == "held back 40% of the time");
    // For readers that want it anyway, and readers that find it.
    REQUIRE_FALSE(fit.table.is_null());
    CHECK(table_of(fit).facts().source.ends_with("Written in spite of 4 objections."));
}

TEST_CASE("costs that fall with size, or that fit no shape, are refused") {
    std::vector<Measurement> measured =
        measure(Operation::kRead, kSizes, [](double s) { return s > 100000 ? 1e-4 : 2e-4; });
    const TableFit falls = fit_table(measured, {}, kNames);
    REQUIRE(falls.objections.size() == 1);
    CHECK(falls.objections[0].path == "read 131088B");
    CHECK(falls.objections[0].found == "50% cheaper than 528B");
}

TEST_CASE("further keys of a get are priced by a get of absent keys") {
    std::vector<Measurement> measured = measure(Operation::kRead, kSizes, read_cost);
    Measurement keys = measured[0];
    keys.keys = 16;
    keys.payload = 0;
    keys.rates.assign(5, 1 / (read_cost(512 + kHeader) + 15 * 20e-6));
    measured.push_back(keys);
    const TableFit fit = fit_table(measured, {}, kNames);
    CHECK(fit.objections.empty());
    CHECK(fit.rows[0].key_tokens == Approx(1000 * 20e-6 / read_cost(512 + kHeader)).margin(1));
    CHECK(fit.table["operations"]["read"]["key"] == fit.rows[0].key_tokens);
    CHECK(fit.rows[0].points.size() == kSizes.size());
}

TEST_CASE("an operation without sizes has one cost, which prices no other operation") {
    std::vector<Measurement> measured = store();
    measured.push_back(measure(Operation::kFlush, {0}, [](double) { return 5e-6; })[0]);
    const TableFit fit = fit_table(measured, {}, kNames);
    CHECK(fit.objections.empty());
    CHECK(fit.base == 0);
    const CostTable table = table_of(fit);
    CHECK(table.tokens(Operation::kFlush, 28, 16) == Approx(1000 * 5e-6 / read_cost(528)).margin(0.5));
    CHECK(table.tokens(Operation::kDelete, 1 << 20, 16) == table.tokens(Operation::kWrite, 1 << 20, 16));
}

TEST_CASE("a cost that is too high for a table is an objection") {
    std::vector<Measurement> measured =
        measure(Operation::kRead, {512, 4096, 65536}, [](double s) { return s * s * 1e-12; });
    FitRules rules;
    rules.base_tokens = 1'000'000;
    const TableFit fit = fit_table(measured, rules, kNames);
    REQUIRE_FALSE(fit.objections.empty());
    CHECK(fit.objections.back().message.find("--base-tokens") != std::string::npos);
}
