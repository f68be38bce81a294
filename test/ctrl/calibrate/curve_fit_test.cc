// curve_fit_test.cc - shapes found again in costs that were made of them.
#include "ctrl/calibrate/fit/curve_fit.h"

#include <algorithm>

#include "test/ctrl/calibrate/calibrate_support.h"

using namespace weir;
using namespace weir::calibrate;
using namespace weir::calibrate::test;

namespace {

constexpr double kTolerance = 0.1;

CurveFit fit_of(const std::vector<std::uint64_t>& sizes, const Cost& tokens, double noise = 0,
                std::uint32_t seed = 1) {
    testing::Random32 random(seed);
    return fit_curve(
        points_of(sizes, [&](double size) { return tokens(size) * (1 + noise * spread(random)); }),
        kTolerance);
}

double per_byte(const CostShape& shape) {
    return shape.price.tokens / static_cast<double>(shape.price.bytes);
}

}  // namespace

TEST_CASE("a line is found with its base and its slope") {
    const CurveFit fit = fit_of(kSizes, [](double s) { return 1000 + s / 4; });
    CHECK(fit.shape.kind == CostShape::Kind::kLinear);
    CHECK(fit.shape.base == 1000);
    CHECK(per_byte(fit.shape) == Approx(0.25));
    CHECK(fit.worst < 0.001);
    CHECK(fit.parameters == 2);
}

TEST_CASE("a cost that does not depend on size is flat") {
    const CurveFit fit = fit_of(kSizes, [](double) { return 1234.0; });
    CHECK(fit.shape.kind == CostShape::Kind::kLinear);
    CHECK(fit.shape.base == 1234);
    CHECK(fit.shape.price.tokens == 0);
    CHECK(fit.parameters == 1);
    CHECK(fit.shape.curve().at(1 << 30) == 1234);
}

TEST_CASE("a minimum of 8 KiB and then bytes is found, as Pulsar has it for a key-value store") {
    const CurveFit fit = fit_of(kSizes, [](double s) { return std::max(8192.0, s); });
    CHECK(fit.shape.kind == CostShape::Kind::kMinimum);
    CHECK(fit.shape.minimum == 8192);
    CHECK(fit.shape.base == 0);
    CHECK(fit.shape.price.tokens == 1);
    CHECK(fit.shape.price.bytes == 1);
    CHECK(fit.worst < 1e-6);
}

TEST_CASE("a minimum is found under noise within the noise") {
    for (std::uint32_t seed = 1; seed <= 50; ++seed) {
        const CurveFit fit = fit_of(
            kSizes, [](double s) { return std::max(8192.0, s); }, 0.03, seed);
        INFO("seed " << seed);
        CHECK(fit.shape.kind == CostShape::Kind::kMinimum);
        CHECK(fit.shape.curve().at(1000) == Approx(8192).epsilon(0.04));
        CHECK(fit.shape.curve().at(1 << 20) == Approx(1 << 20).epsilon(0.06));
        CHECK(fit.worst <= kTolerance);
    }
}

TEST_CASE("steps of 32 KiB after 16 KiB are found, as SRP counts requests") {
    std::vector<std::uint64_t> sizes;
    for (std::uint64_t size = 4096; size <= 256 * 1024; size += 4096)
        sizes.push_back(size);
    const CurveFit fit =
        fit_of(sizes, [](double s) { return 1000 + 1000 * std::max(0.0, std::ceil((s - 16384) / 32768)); });
    CHECK(fit.shape.kind == CostShape::Kind::kSteps);
    CHECK(fit.shape.base == 1000);
    CHECK(fit.shape.until == 16384);
    CHECK(fit.shape.price.tokens == 1000);
    CHECK(fit.shape.price.bytes == 32768);
}

TEST_CASE("costs that fit no simple shape become points, no more of them than needed") {
    // Libra's example: 1, 1.053, 2.222, 7.692, 28.571 at 1, 4, 16, 64, 256 KB.
    const std::vector<CostPoint> points{
        {1000, 1000}, {4000, 1053}, {16000, 2222}, {64000, 7692}, {256000, 28571}};
    const CurveFit fit = fit_curve(points, 0.005);
    CHECK(fit.shape.kind == CostShape::Kind::kPoints);
    CHECK(fit.worst <= 0.005);
    CHECK(fit.shape.points.size() >= 3);
    const CurveFit knees =
        fit_of(kSizes, [](double s) { return 1000 + s / 16 + std::max(0.0, s - 65536) * 2; });
    CHECK(knees.shape.kind == CostShape::Kind::kPoints);
    CHECK(knees.shape.points.size() <= 4);
    CHECK(knees.worst <= kTolerance);
}

TEST_CASE("one size alone is flat, two are a line") {
    const CurveFit one = fit_curve(std::vector<CostPoint>{{28, 5000.4}}, kTolerance);
    CHECK(one.shape.json() ==
          nlohmann::json{{"shape", "linear"}, {"base", 5000}, {"tokens", 0}, {"per", "1B"}});
    const CurveFit two = fit_curve(std::vector<CostPoint>{{1000, 2000}, {3000, 4000}}, kTolerance);
    CHECK(two.shape.base == 1000);
    CHECK(per_byte(two.shape) == Approx(1).epsilon(0.001));
}

TEST_CASE("a small fall is evened out, a large one is named") {
    std::vector<CostPoint> points{{1000, 1000}, {2000, 2000}, {4000, 1900}, {8000, 8000}};
    CHECK_FALSE(largest_fall(points, kTolerance));
    const std::vector<CostPoint> grown = monotone(points);
    CHECK(grown[1].tokens == Approx(std::sqrt(2000.0 * 1900)));
    CHECK(grown[2].tokens == grown[1].tokens);
    CHECK(grown[3].tokens == Approx(8000));
    points[3].tokens = 1000;
    const auto fall = largest_fall(points, kTolerance);
    REQUIRE(fall);
    CHECK(fall->from == 2000);
    CHECK(fall->to == 8000);
    CHECK(fall->part == Approx(0.5));
}

TEST_CASE("the simplest shape within the tolerance is taken, and an exact one when none is") {
    const auto bent = [](double s) { return 1000 + s / 4 + (s > 300000 ? s / 50 : 0); };
    CHECK(fit_of(kSizes, bent).shape.kind == CostShape::Kind::kLinear);
    const auto wild = [](double s) {
        return s < 3000 ? 1000.0 : s < 40000 ? 9000.0 : s < 600000 ? 9500.0 : 1e6;
    };
    const CurveFit fit = fit_of(kSizes, wild);
    CHECK(fit.shape.kind == CostShape::Kind::kPoints);
    CHECK(fit.worst <= kTolerance);
}

TEST_CASE("a fitted cost never falls with size and is never 0") {
    testing::Random32 random(7);
    for (int i = 0; i < 3000; ++i) {
        std::vector<CostPoint> points;
        std::uint64_t size = random() % 64;
        const std::size_t count = 1 + random() % 16;
        while (points.size() < count) {
            points.push_back({size, std::exp(std::abs(spread(random)) * 18)});
            size += 1 + random() % (1U << (1 + random() % 22));
        }
        const CurveFit fit = fit_curve(points, 0.01 * (1 + random() % 30));
        INFO("case " << i << ": " << fit.shape.text());
        const CostCurve curve = fit.shape.curve();
        std::vector<std::uint64_t> sizes = curve.corners();
        for (int s = 0; s < 64; ++s)
            sizes.push_back(random() % (1ULL << (1 + random() % 32)));
        std::sort(sizes.begin(), sizes.end());
        std::uint32_t last = 1;
        for (const std::uint64_t at : sizes) {
            REQUIRE(curve.at(at) >= last);
            last = curve.at(at);
        }
        REQUIRE(fit.shape.text().size() > 5);
    }
}

TEST_CASE("costs that grow are never missed by more than the tolerance") {
    testing::Random32 random(8);
    for (int i = 0; i < 1000; ++i) {
        std::vector<CostPoint> points;
        double tokens = 1000;
        std::uint64_t size = 1 + random() % 100;
        for (std::size_t n = 2 + random() % 15; points.size() < n;) {
            points.push_back({size, tokens});
            size += 1 + random() % (1U << (1 + random() % 20));
            tokens *= 1 + std::abs(spread(random)) * 2;
        }
        const CurveFit fit = fit_curve(points, 0.05);
        INFO("case " << i << ": " << fit.shape.text());
        REQUIRE(fit.worst <= 0.05);
    }
}
