// overcommit_test.cc - the model at published points, against closed forms, and at extremes.
#include "ctrl/billing/overcommit.h"

#include <cmath>

#include "test/support/catch.h"

using namespace weir::billing;

TEST_CASE("overcommit: 16 VMs as in SoftBW Fig. 2") {
    CHECK(failure_probability(16, 0.10, 6.9) == Approx(0.0482).margin(5e-5));
    CHECK(failure_probability(16, 0.15, 4.6) == Approx(0.0482).margin(5e-5));
    CHECK(failure_probability(16, 0.15, 4) == Approx(0.0104).margin(5e-5));
    CHECK(failure_probability(16, 0.15, 6) == Approx(0.3044).margin(5e-5));
}

TEST_CASE("overcommit: one and two VMs are the closed forms") {
    for (const double load : {0.01, 0.1, 0.5, 1.0, 3.0}) {
        CHECK(failure_probability(1, load, 1) == Approx(std::exp(-1 / load)));
        CHECK(failure_probability(2, load, 1) == Approx(std::exp(-2 / load) * (1 + 2 / load)));
    }
}

TEST_CASE("overcommit: any number of VMs gives a probability, which rises with the ratio") {
    for (const std::uint32_t vms : {1U, 16U, 1000U, kVmsMax}) {
        double before = 0;
        for (double ratio = 0; ratio < 12; ratio += 0.25) {
            const double now = failure_probability(vms, 0.2, ratio);
            REQUIRE(now >= before - 1e-9);  // 10^5 logarithms are summed
            REQUIRE(now <= 1);
            before = now;
        }
    }
    CHECK(failure_probability(kVmsMax, 0.1, 9) < 1e-12);  // a sum of many demands hardly varies
    CHECK(failure_probability(kVmsMax, 0.1, 10) == Approx(0.5).margin(0.01));
    CHECK(failure_probability(kVmsMax, 0.1, 11) == Approx(1).margin(1e-9));
    CHECK(failure_probability(kVmsMax, 1, 1e6) == Approx(1));
    CHECK(failure_probability(16, 0, 6) == 0);
    CHECK(failure_probability(16, 1e-300, 1e-300) == 0);
}

TEST_CASE("overcommit: the ratio within a bound is the one whose probability is the bound") {
    CHECK(ratio_within(16, 0.10, 0.05, 100) == Approx(6.9).epsilon(0.01));
    CHECK(ratio_within(16, 0.15, 0.05, 100) == Approx(4.6).epsilon(0.01));
    for (const double bound : {0.001, 0.05, 0.5})
        CHECK(failure_probability(40, 0.1, ratio_within(40, 0.1, bound, 100)) == Approx(bound));
    CHECK(ratio_within(16, 0.10, 1, 100) == 100);
    CHECK(ratio_within(16, 0, 0, 100) == 100);
}
