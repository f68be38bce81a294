// measurement_test.cc - medians and their intervals by hand; measurements as JSON, both ways.
#include "ctrl/calibrate/fit/measurement.h"

#include <algorithm>

#include "test/ctrl/calibrate/calibrate_support.h"

using namespace weir::calibrate;
using namespace weir::calibrate::test;
using nlohmann::json;
using weir::Faults;

namespace {

Faults faults_of(json value) {
    Faults faults;
    (void)read_calibration(value, faults);
    return faults;
}

}  // namespace

TEST_CASE("five values hold the median between the least and the greatest 15 times in 16") {
    const Estimate found = estimate({104, 98, 100, 101, 99});
    CHECK(found.median == 100);
    CHECK(found.low == 98);
    CHECK(found.high == 104);
    CHECK(found.confidence == Approx(1 - 2.0 / 32));
    CHECK(found.noise() == Approx(0.03));
}

TEST_CASE("eight values leave out one on either side, and so one outlier") {
    const Estimate found = estimate({100, 101, 99, 100, 102, 98, 5, 100});
    CHECK(found.median == 100);
    CHECK(found.low == 98);
    CHECK(found.high == 101);
    CHECK(found.confidence == Approx(1 - 2.0 * (1 + 8) / 256));
}

TEST_CASE("an even number of values has its median in the middle of two") {
    CHECK(estimate({1, 2, 3, 10}).median == 2.5);
    CHECK(estimate({7}).median == 7);
    CHECK(estimate({7}).confidence == 0);
}

TEST_CASE("a measurement without responses has a noise of 1") {
    CHECK(estimate({0, 0, 0, 0, 0}).noise() == 1);
}

TEST_CASE("intervals hold the true median as often as their confidence states") {
    weir::testing::Random32 random(3);
    for (const std::size_t n : {5U, 7U, 8U, 15U, 30U}) {
        int held = 0;
        constexpr int kTries = 4000;
        double promised = 0;
        for (int i = 0; i < kTries; ++i) {
            std::vector<double> values(n);
            std::generate(values.begin(), values.end(),
                          [&] { return std::exp(spread(random)); });  // median 1
            const Estimate found = estimate(values);
            promised = found.confidence;
            held += found.low <= 1 && 1 <= found.high;
        }
        INFO(n << " values");
        CHECK(promised >= kConfidence);
        CHECK(held / static_cast<double>(kTries) == Approx(promised).margin(0.02));
    }
}

TEST_CASE("measurements that make no sense are refused by their path") {
    const json good = calibration_json(stored_calibration());
    CHECK(faults_of(json::array())[0].path.empty());
    CHECK(faults_of(json::object())[0].path == "measurements");
    json bad = good;
    bad["measurements"][2]["per_second"] = json::array();
    CHECK(faults_of(bad)[0].path == "measurements[2].per_second");
    bad = good;
    bad["measurements"][0]["per_second"][1] = -1;
    CHECK(faults_of(bad)[0].path == "measurements[0].per_second");
    bad = good;
    bad["measurements"][0]["operation"] = "think";
    CHECK(faults_of(bad)[0].path == "measurements[0].operation");
    bad = good;
    bad["measurements"][1].erase("response_bytes");
    CHECK(faults_of(bad)[0].path == "measurements[1].response_bytes");
    bad = good;
    bad["measurements"][1]["colour"] = 3;
    CHECK(faults_of(bad)[0].path == "measurements[1].colour");
    bad = good;
    while (bad["measurements"].size() < 70)
        bad["measurements"].push_back(bad["measurements"][0]);
    CHECK(faults_of(bad)[0].message == "too many sizes of one operation");
}
