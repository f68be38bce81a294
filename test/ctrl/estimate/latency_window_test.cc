// latency_window_test.cc - SRP eq. 4 and 5 with appliances of known speed.
#include "ctrl/estimate/latency_window.h"

#include <cmath>
#include <limits>
#include <vector>

#include "test/support/catch.h"

using namespace weir::estimate;

namespace {

/// An interval of an appliance that serves `rate` with the window in use.
LatencyReading full(const LatencyWindow& window, double rate) {
    return {.latency = window.window() / rate, .outstanding = window.window()};
}

}  // namespace

TEST_CASE("20 ms, 1500/s, gamma 0.5, from a window of 64") {
    LatencyWindow window({.threshold = 0.02}, 64);
    std::vector<double> seen;
    for (int i = 0; i < 6; ++i) {
        seen.push_back(window.window());
        window.update(full(window, 1500));
    }
    CHECK(seen == std::vector<double>{64, 47, 38.5, 34.25, 32.125, 31.0625});
    CHECK(LatencyWindow({.threshold = 0.02}, 30).rate() == Approx(1500));
}

TEST_CASE("from below too the distance is halved each time, and a slower appliance is followed") {
    LatencyWindow window({.threshold = 0.02}, 4);
    for (int i = 1; i <= 12; ++i) {
        window.update(full(window, 1500));
        CHECK(window.window() == Approx(30 + std::pow(0.5, i) * (4 - 30)));
    }
    for (int i = 0; i < 12; ++i)
        window.update(full(window, 500));
    CHECK(window.rate() == Approx(500).epsilon(0.01));
}

TEST_CASE("intervals without answers change nothing, nor do fast answers while the window is not in use") {
    LatencyWindow window({.threshold = 0.02}, 30);
    window.update({});
    window.update({.latency = std::numeric_limits<double>::quiet_NaN(), .outstanding = 30});
    for (int i = 0; i < 100; ++i)
        window.update({.latency = 0.005, .outstanding = 10});
    CHECK(window.window() == 30);
    window.update({.latency = 0.04, .outstanding = 10});  // slow answers count always
    CHECK(window.window() == 22.5);
}

TEST_CASE("bounds of the window, and of a latency") {
    LatencyWindow window({.threshold = 0.02, .window_min = 8, .window_max = 100, .floor = 0.01}, 1);
    CHECK(window.window() == 8);
    window.update({.latency = 1e-6, .outstanding = 8});  // counts as 10 ms
    CHECK(window.window() == 12);
    for (int i = 0; i < 20; ++i)
        window.update({.latency = 0.001, .outstanding = 1000});
    CHECK(window.window() == 100);
    for (int i = 0; i < 20; ++i)
        window.update({.latency = 5, .outstanding = 1000});
    CHECK(window.window() == 8);
}
