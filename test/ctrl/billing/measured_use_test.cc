// measured_use_test.cc - worked numbers of measured use, and a comparison with the model that it replaces.
#include <cmath>
#include <vector>

#include "ctrl/billing/overcommit.h"
#include "test/support/catch.h"

using namespace weir::billing;

namespace {

/// n vNICs with promises of `promised` each, on a link of 100.
double failure(std::size_t n, double promised, const MeasuredUse& use) {
    const std::vector<PromisedUse> parts(n, {&use, promised});
    return failure_probability(100, parts);
}

/// Exponentially distributed use; use beyond the promise counts as all of it.
MeasuredUse exponential(double mean) {
    MeasuredUse::Bins bins{};
    constexpr double kWidth = 1.0 / (MeasuredUse::kBins - 1);
    double below = 0;
    for (std::size_t i = 1; i < MeasuredUse::kBins; ++i) {
        const double upto =
            i + 1 == MeasuredUse::kBins ? 1 : 1 - std::exp(-static_cast<double>(i) * kWidth / mean);
        bins[i] = (upto - below) * MeasuredUse::kSecondsEnough;
        below = upto;
    }
    return MeasuredUse(bins);
}

}  // namespace

TEST_CASE("use is kept by the part of the promise, more than the promise as all of it") {
    MeasuredUse use;
    use.add(0, 10);
    use.add(0.5, 20);
    use.add(1, 30);
    use.add(7, 40);
    CHECK(use.seconds() == 100);
    CHECK(use.bins()[0] == 10);
    CHECK(use.bins()[33] == 20);
    CHECK(use.bins()[64] == 70);
    CHECK(MeasuredUse::part_of(0) == 0);
    CHECK(MeasuredUse::part_of(33) == Approx(0.5).margin(0.01));
    CHECK_FALSE(use.is_enough());
    use.add(use);
    CHECK(use.seconds() == 200);
}

TEST_CASE("old use counts less and less") {
    MeasuredUse use;
    for (int day = 0; day < 5; ++day)
        use.add(0, 86'400);
    CHECK(use.seconds() == Approx(2.5 * 86'400));
    CHECK(use.is_enough());
}

TEST_CASE("vNICs that always use all of their promises fail as soon as the promises exceed the link") {
    MeasuredUse busy;
    busy.add(1, 1);
    CHECK(failure(2, 60, busy) == Approx(1));
    CHECK(failure(2, 49, busy) == 0);
    CHECK(failure(0, 60, busy) == 0);
}

TEST_CASE("vNICs that are idle half of the time fail while all are busy at once") {
    MeasuredUse half;
    half.add(0, 1);
    half.add(1, 1);
    CHECK(failure(2, 60, half) == Approx(0.25));
    CHECK(failure(3, 45, half) == Approx(0.125));
    CHECK(failure(3, 60, half) == Approx(0.5));
}

TEST_CASE("exponential demands fail as often as in the model") {
    for (const auto& [mean, ratio] : {std::pair{0.10, 6.9}, std::pair{0.15, 4.6}, std::pair{0.15, 4.0}}) {
        const double measured = failure(16, ratio * 100 / 16, exponential(mean));
        // A little less often: use beyond the promise counts as all of it.
        CHECK(measured == Approx(failure_probability(16, mean, ratio)).epsilon(0.15));
    }
}

TEST_CASE("a hundred vNICs with different promises give a probability, which falls with the capacity") {
    MeasuredUse use = exponential(0.3);
    std::vector<PromisedUse> parts;
    for (int i = 1; i <= 100; ++i)
        parts.push_back({&use, static_cast<double>(i)});
    const double tight = failure_probability(1300, parts);
    const double loose = failure_probability(2000, parts);
    CHECK(tight > loose);
    CHECK(tight <= 1);
    CHECK(loose >= 0);
}
