// capacity_search_test.cc - worked numbers of every phase.
#include "ctrl/estimate/capacity_search.h"

#include <limits>
#include <vector>

#include "test/support/catch.h"

using namespace weir::estimate;

namespace {

/// An appliance that serves `real` tokens/s and is offered more. Tokens that are let in beyond that queue.
Reading asked_for_all(const CapacitySearch& search, double real) {
    const double queued = std::max(0.0, search.state().allocate - real);
    return {.throughput = std::min(search.state().allocate, real),
            .offered = 1e6,
            .outstanding = 100 + queued,
            .mix = {}};
}

CapacitySettings c1() {
    CapacitySettings settings = plain_search(5000, 10'000);
    settings.readings = 1;
    return settings;
}

CapacitySearch settled(CapacitySettings settings, double real) {
    CapacitySearch search(settings);
    for (int i = 0; i < 60 && search.state().phase != Phase::kStable; ++i)
        search.update(asked_for_all(search, real));
    REQUIRE(search.state().phase == Phase::kStable);
    return search;
}

}  // namespace

TEST_CASE("the plain search takes the steps of the paper's Fig. 8", "[capacity]") {
    CapacitySearch search(c1());
    std::vector<double> estimates{search.state().estimate};
    while (search.state().phase != Phase::kStable && estimates.size() < 20) {
        search.update(asked_for_all(search, 6500));
        if (search.state().phase != Phase::kStable)
            estimates.push_back(search.state().estimate);
    }
    CHECK(estimates ==
          std::vector<double>{5000, 7500, 5000, 6250, 6875, 6250, 6562.5, 6250, 6406.25, 6484.375});
    CHECK(search.state().estimate == 6484.375);
    CHECK(search.state().min_window == 6484.375);
    CHECK(search.state().max_window == 6562.5);
}

TEST_CASE("congestion is believed after three readings in a row, not after two", "[capacity]") {
    CapacitySettings settings = plain_search(5000, 10'000);
    CapacitySearch search(settings);
    search.update(asked_for_all(search, 9000));
    REQUIRE(search.state().estimate == 7500);
    for (int i = 0; i < 2; ++i)
        search.update({.throughput = 6500, .offered = 9000, .mix = {}});
    CHECK(search.state().estimate == 7500);
    search.update({.throughput = 7500, .offered = 9000, .mix = {}});  // the two were spurious
    CHECK(search.state().estimate == 8750);
    for (int i = 0; i < 2; ++i)
        search.update({.throughput = 6500, .offered = 9000, .mix = {}});
    CHECK(search.state().estimate == 8750);
    search.update({.throughput = 6500, .offered = 9000, .mix = {}});
    CHECK(search.state().estimate == 7500);
    CHECK(search.state().max_window == 8750);
    CHECK(search.state().phase == Phase::kRevert);
}

TEST_CASE("an idle appliance does not drive its estimate up", "[capacity]") {
    CapacitySearch search(c1());
    for (int i = 0; i < 50; ++i)
        search.update({.throughput = 1000, .offered = 1000, .outstanding = 10, .mix = {}});
    CHECK(search.state().estimate == 5000);
    CHECK(search.state().max_window == 10'000);
    CHECK(search.state().phase == Phase::kHold);
    search.update({.throughput = 5000, .offered = 5000, .mix = {}});  // all of it was asked for
    CHECK(search.state().estimate == 7500);
}

TEST_CASE("after a broken guarantee the bottom is held until all are kept", "[capacity]") {
    CapacitySearch search(c1());
    search.update(asked_for_all(search, 6500));
    search.update({.throughput = 7500, .offered = 9000, .violated = true, .mix = {}});
    CHECK(search.state().phase == Phase::kWait);
    CHECK(search.state().estimate == 5000);
    CHECK(search.state().max_window == 7500);
    for (int i = 0; i < 30; ++i)
        search.update({.throughput = 5000, .offered = 9000, .violated = true, .mix = {}});
    CHECK(search.state().phase == Phase::kWait);
    CHECK(search.state().estimate == 5000);
    CHECK(search.state().max_window == 7500);
    search.update({.throughput = 5000, .offered = 9000, .mix = {}});
    CHECK(search.state().phase == Phase::kIncrease);
    CHECK(search.state().estimate == 6250);
}

TEST_CASE("the queue of an overload breaks guarantees without narrowing the window", "[capacity]") {
    CapacitySearch search(c1());
    search.update(asked_for_all(search, 6500));
    search.update(asked_for_all(search, 6500));
    REQUIRE(search.state().estimate == 5000);
    search.update({.throughput = 5000, .offered = 9000, .violated = true, .mix = {}});
    CHECK(search.state().phase == Phase::kWait);
    CHECK(search.state().min_window == 5000);
    CHECK(search.state().max_window == 7500);
}

TEST_CASE("a guarantee that stays broken at the bottom sends the search lower", "[capacity]") {
    CapacitySettings settings{.min = 1000, .max = 10'000};
    settings.readings = 1;
    CapacitySearch search = settled(settings, 6000);
    for (int i = 0; i < 2 + 10; ++i)
        search.update({.throughput = search.state().allocate,
                       .offered = 9000,
                       .outstanding = 1000,
                       .violated = true,
                       .mix = {}});
    CHECK(search.state().estimate < 0.6 * 6000);
    CHECK(search.state().estimate >= 1000);
}

TEST_CASE("a stable estimate follows the outstanding tokens, by eq. 7", "[capacity]") {
    CapacitySearch search = settled(c1(), 6500);
    REQUIRE(search.state().estimate == 6484.375);
    search.update({.throughput = 6480, .offered = 9000, .outstanding = 300, .mix = {}});
    CHECK(search.state().estimate == Approx(6484.375 - 0.1 * 200));
    search.update({.throughput = 6460, .offered = 9000, .outstanding = 50, .mix = {}});
    CHECK(search.state().estimate == Approx(6464.375 + 0.1 * 50));
    // Less is offered than the estimate: fewer outstanding tokens show nothing.
    search.update({.throughput = 100, .offered = 100, .outstanding = 1, .mix = {}});
    CHECK(search.state().estimate == Approx(6469.375));
    for (int i = 0; i < 100; ++i)
        search.update({.throughput = 7200, .offered = 9000, .outstanding = 0, .mix = {}});
    CHECK(search.state().estimate == Approx(1.1 * 6484.375));
    CHECK(search.state().phase == Phase::kStable);
}

TEST_CASE("a changed mix opens the window around the estimate and keeps the estimate", "[capacity]") {
    CapacitySearch search(c1());
    const std::vector<double> before{100, 0};
    const std::vector<double> a_little{91, 9};
    const std::vector<double> after{80, 20};
    const auto update = [&](const std::vector<double>& mix) {
        Reading reading = asked_for_all(search, 6500);
        reading.mix = mix;
        search.update(reading);
    };
    for (int i = 0; i < 12; ++i)
        update(before);
    REQUIRE(search.state().phase == Phase::kStable);
    update(a_little);
    CHECK(search.state().phase == Phase::kStable);
    update(after);
    CHECK(search.state().phase == Phase::kIncrease);
    CHECK(search.state().min_window == 6484.375);  // this reading itself was clear
    CHECK(search.state().max_window == 10'000);
    CHECK(search.state().estimate == Approx((6484.375 + 10'000) / 2));
}

TEST_CASE("the window moves when its bottom is congested, or its top is not", "[capacity]") {
    CapacitySearch search(c1());
    search.update({.throughput = 2000, .offered = 9000, .mix = {}});
    CHECK(search.state().estimate == 5000);  // the settings' least
    CapacitySettings settings = plain_search(1000, 64'000);
    settings.readings = 1;
    CapacitySearch wide(settings);
    const std::vector<double> before{1, 0};
    const std::vector<double> after{0, 1};
    const auto run = [&](const std::vector<double>& mix, double real) {
        for (int i = 0; i < 40; ++i) {
            Reading reading = asked_for_all(wide, real);
            reading.mix = mix;
            wide.update(reading);
        }
        CHECK(wide.state().phase == Phase::kStable);
        CHECK(wide.state().estimate == Approx(real).epsilon(0.2));
    };
    run(before, 5000);
    run(after, 50'000);  // ten times the top of a restarted window
    run(before, 3000);
}

TEST_CASE("a jump takes the throughput of an overloaded appliance", "[capacity]") {
    CapacitySettings settings{.min = 3000, .max = 10'000};
    settings.check_intervals = 0;
    CapacitySearch search(settings);
    std::vector<double> estimates{search.state().estimate};
    for (int i = 0; i < 5; ++i)
        estimates.push_back(search.update(asked_for_all(search, 6840)).estimate);
    // Doubled before the first estimate; the queue that a step up makes takes it back at once.
    CHECK(estimates == std::vector<double>{3000, 6000, 10'000, 6840, 6840, 6840});
    CHECK(search.state().phase == Phase::kStable);
    CHECK(search.state().min_window == 6840);
    // The appliance becomes slower: three readings of the overload.
    estimates.clear();
    for (int i = 0; i < 3; ++i)
        estimates.push_back(
            search.update({.throughput = 5000, .offered = 1e6, .outstanding = 2000}).estimate);
    CHECK(estimates == std::vector<double>{6840, 6840, 5000});
    CHECK(search.state().phase == Phase::kStable);
    CHECK(search.state().min_window == Approx(0.95 * 5000));
    CHECK(search.state().max_window == Approx(1.1 * 5000));
}

TEST_CASE("the less is allocated beside guarantees, the smaller are the first steps", "[capacity]") {
    const auto steps = [](double guaranteed) {
        CapacitySearch search({.min = 1000, .max = 20'000});
        std::vector<double> estimates;
        for (int i = 0; i < 3; ++i) {
            Reading reading = asked_for_all(search, 20'000);
            reading.guaranteed = guaranteed;
            estimates.push_back(search.update(reading).estimate);
        }
        return estimates;
    };
    CHECK(steps(400) == std::vector<double>{2000, 4000, 8000});
    CHECK(steps(800) == std::vector<double>{1250, 1953.125, 3906.25});
    CHECK(steps(1000)[0] == Approx(1150));
    CHECK(steps(1000)[1] == Approx(1150 * 1.15));
    CHECK(steps(1500)[0] == 2000);  // less than the guarantees
    CHECK(steps(1500)[1] == Approx(2000 * 2000 / 1500.0));
}

TEST_CASE("while an overload's queue drains less is allocated, but never less than the guarantees",
          "[capacity]") {
    CapacitySettings settings{.min = 3000, .max = 10'000};
    settings.check_intervals = 0;
    CapacitySearch search = settled(settings, 6840);
    Reading reading = asked_for_all(search, 6840);
    reading.outstanding = 2100;
    reading.throughput = 6840;  // with enough work
    search.update(reading);
    CHECK(search.state().estimate == Approx(0.995 * 6840));  // a rate that is just served
    CHECK(search.state().allocate == Approx(0.995 * 6840 - 0.5 * 2000));
    reading = asked_for_all(search, 6840);
    reading.outstanding = 20'000;
    reading.throughput = 6840;
    reading.guaranteed = 5000;
    search.update(reading);
    CHECK(search.state().allocate == 5000);
    reading = asked_for_all(search, 6840);
    reading.outstanding = 100;
    search.update(reading);
    CHECK(search.state().allocate == search.state().estimate);
}

TEST_CASE("a check finds an appliance that became faster, and keeps the estimate of one that did not",
          "[capacity]") {
    CapacitySettings settings{.min = 3000, .max = 10'000};
    CapacitySearch search = settled(settings, 5000);
    for (int i = 0; i < 100; ++i) {
        search.update(asked_for_all(search, 5000));
        CHECK(search.state().estimate == Approx(5000).epsilon(0.035));
        CHECK(search.state().phase == Phase::kStable);
    }
    int intervals = 0;
    for (; search.state().estimate < 0.97 * 8000 && intervals < 100; ++intervals)
        search.update(asked_for_all(search, 8000));
    CHECK(intervals <= 3 * 10 + 10);  // failed checks made them rare
    for (int i = 0; i < 40; ++i) {
        search.update(asked_for_all(search, 8000));
        CHECK(search.state().estimate == Approx(8000).epsilon(0.05));
    }
}

TEST_CASE("closed loops that queue at the appliance and nowhere else are congestion", "[capacity]") {
    CapacitySettings settings{.min = 3000, .max = 10'000};
    CapacitySearch search(settings);
    search.update({.throughput = 3000, .offered = 9000, .outstanding = 15});
    REQUIRE(search.state().estimate == 6000);
    search.update(
        {.throughput = 4000, .offered = 4000, .outstanding = 4000});  // right after a step: believed at once
    CHECK(search.state().phase == Phase::kRevert);
    CHECK(search.state().estimate == 4000);
    CHECK(search.state().allocate < 4000);
    search.update({.throughput = 4000, .offered = 9000, .outstanding = 20});
    search.update({.throughput = 4000, .offered = 9000, .outstanding = 20});
    CHECK(search.state().phase == Phase::kStable);
}

TEST_CASE("when a step changes the mix so that less is served than before, a quarter of the step is tried",
          "[capacity]") {
    CapacitySearch search({.min = 3000, .max = 20'000});
    search.update({.throughput = 3000, .offered = 9000, .outstanding = 15});
    search.update({.throughput = search.state().allocate, .offered = 30'000, .outstanding = 20});
    const double before = search.state().min_window;
    const double step = search.state().estimate;
    REQUIRE(step > before);
    search.update({.throughput = 0.8 * before, .offered = 0.8 * before, .outstanding = 6000});
    CHECK(search.state().estimate == Approx(before + (step - before) / 4));
}

TEST_CASE("tokens beyond the rates in force are no evidence of the capacity", "[capacity]") {
    CapacitySearch search({.min = 3000, .max = 10'000});
    for (int i = 0; i < 10; ++i)
        search.update({.throughput = 200, .offered = 9000, .outstanding = 1, .in_force = 200});
    CHECK(search.state().estimate == 3000);
    CHECK(search.state().allocate == 3000);
    CHECK(search.state().max_window == 10'000);
}

TEST_CASE("a queue that stays although less is allocated lowers the estimate", "[capacity]") {
    CapacitySettings settings{.min = 3000, .max = 10'000};
    settings.check_intervals = 0;
    CapacitySearch search = settled(settings, 6840);
    for (int i = 0; i < 4; ++i)
        search.update({.throughput = 6000, .offered = 9000, .outstanding = 3000});
    CHECK(search.state().estimate == 6000);
}

TEST_CASE("implausible readings change nothing", "[capacity]") {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    CapacitySearch search(c1());
    search.update(asked_for_all(search, 6500));
    const std::vector<double> bad_mix{kNan};
    for (const double wrong : {kNan, -1.0, 1e300, std::numeric_limits<double>::infinity()}) {
        search.update({.throughput = wrong, .offered = 1, .mix = {}});
        search.update({.throughput = 1, .offered = wrong, .mix = {}});
        search.update({.throughput = 1, .offered = 1, .outstanding = wrong, .mix = {}});
        search.update({.throughput = 1, .offered = 1, .guaranteed = wrong, .mix = {}});
        search.update({.throughput = 1, .offered = 1, .mix = bad_mix});
        CHECK(search.state().estimate == 7500);
        CHECK(search.state().phase == Phase::kIncrease);
    }
}
