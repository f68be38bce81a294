// capacity_evidence_test.cc - evidence that the search needs before an estimate falls: limits that the
// controller does not know, latencies that are the appliance's own, bursts.
#include <algorithm>
#include <vector>

#include "ctrl/estimate/capacity_search.h"
#include "test/support/catch.h"

using namespace weir::estimate;

namespace {

/// An appliance that answers after `latency`, and holds its requests back to `real` tokens/s when `burst`
/// tokens, which come back at that rate, are gone. Tokens that are let in beyond that queue.
struct LimitedAppliance {
    double real = 6500;
    double latency = 0.001;
    double held_latency = 0;  // instead, when nearly nothing of the burst is left; 0: the same
    double burst = 0;
    double level = 0;  // of the burst
    double queue = 0;
    double most_queued = 1e9;  // of closed loops: the tokens that they keep outstanding

    /// One interval of a second in which `allowed` tokens are let in.
    Reading run(double allowed) {
        const double before = queue;
        const double wanted = std::min(queue + allowed, before + std::max(0.0, most_queued - before) + real);
        const double served = std::min(wanted, real + level);
        const double now = held_latency > 0 && level < 0.2 * real ? held_latency : latency;
        level = std::min(burst, level + real - served);
        queue = std::min(wanted - served, most_queued);
        return {.throughput = served,
                .offered = 20'000,
                .outstanding = now * served + (before + queue) / 2,
                .mix = {}};
    }
};

/// Two tenants that want more than they get, of which a limit that the controller does not know holds one.
Reading one_held(LimitedAppliance& appliance, double allocate, double held) {
    return appliance.run(std::min(allocate / 2, held) + allocate / 2);
}

CapacitySearch found(LimitedAppliance& appliance, const CapacitySettings& settings) {
    CapacitySearch search(settings);
    for (int i = 0; i < 30; ++i)
        search.update(appliance.run(search.state().allocate));
    REQUIRE(search.state().estimate == Approx(appliance.real).epsilon(0.05));
    return search;
}

}  // namespace

TEST_CASE("a tenant that another limit holds does not lower the estimate", "[capacity]") {
    LimitedAppliance appliance;
    CapacitySearch search = found(appliance, {.min = 1000, .max = 10'000});
    for (int i = 0; i < 40; ++i) {
        search.update(one_held(appliance, search.state().allocate, 500));
        CHECK(search.state().estimate == Approx(6500).epsilon(0.1));
        CHECK(search.state().allocate == Approx(6500).epsilon(0.1));
    }
    // The other limit is gone, and the appliance becomes slower, which is evidence.
    for (int i = 0; i < 10; ++i)
        search.update(appliance.run(search.state().allocate));
    CHECK(search.state().estimate == Approx(6500).epsilon(0.05));
    appliance.real = 4000;
    for (int i = 0; i < 8; ++i)
        search.update(appliance.run(search.state().allocate));
    CHECK(search.state().estimate == Approx(4000).epsilon(0.05));
}

TEST_CASE("a guarantee that another limit breaks does not lower the estimate", "[capacity]") {
    LimitedAppliance appliance;
    CapacitySearch search = found(appliance, {.min = 1000, .max = 10'000});
    for (int i = 0; i < 40; ++i) {
        Reading reading = one_held(appliance, search.state().allocate, 500);
        reading.violated = true;
        reading.guaranteed = 2000;
        search.update(reading);
        CHECK(search.state().estimate == Approx(6500).epsilon(0.1));
    }
}

TEST_CASE("an estimate that was taken back is left when requests take long at that load", "[capacity]") {
    // A step from 5,000 to 10,000 is taken back. From then on a request takes 2 ms instead of 0.2, queue or
    // not.
    LimitedAppliance appliance{.latency = 0.0002};
    CapacitySearch search({.min = 2500, .max = 10'000});
    for (int i = 0; i < 2; ++i)
        search.update(appliance.run(search.state().allocate));
    REQUIRE(search.state().estimate == 10'000);
    appliance.latency = 0.002;
    appliance.real = 4830;
    search.update(appliance.run(10'000));
    REQUIRE(search.state().phase == Phase::kRevert);
    appliance.real = 6500;
    int intervals = 0;
    for (; search.state().phase == Phase::kRevert && intervals < 60; ++intervals)
        search.update(appliance.run(search.state().allocate));
    CHECK(intervals <= 8);
    for (int i = 0; i < 60; ++i) {
        search.update(appliance.run(search.state().allocate));
        if (i >= 10)
            CHECK(search.state().estimate == Approx(6500).epsilon(0.1));
    }
}

TEST_CASE("a queue that stays because as much is let in as is served lowers the estimate", "[capacity]") {
    LimitedAppliance appliance;
    CapacitySearch search = found(appliance, {.min = 1000, .max = 10'000, .check_intervals = 0});
    appliance.real = 6200;
    for (int i = 0; i < 20; ++i)
        search.update(appliance.run(search.state().allocate));
    CHECK(search.state().estimate <= 6200 * 1.005);
    CHECK(search.state().estimate > 6200 * 0.95);
    CHECK(appliance.queue < 1);
}

TEST_CASE("an appliance that gives a burst first is found when the burst is gone", "[capacity]") {
    // While the burst lasts, requests take 0.1 ms. Afterwards each waits 2 ms for its tokens, at any rate.
    LimitedAppliance appliance{.latency = 0.0001, .held_latency = 0.002, .burst = 13'000, .level = 13'000};
    CapacitySearch search({.min = 1000, .max = 10'000});
    for (int i = 0; i < 120; ++i) {
        CAPTURE(i);
        search.update(appliance.run(search.state().allocate));
        if (i >= 25)  // the first row of checks takes the rest of the burst for capacity
            CHECK(search.state().estimate == Approx(6500).epsilon(0.15));
    }
}
