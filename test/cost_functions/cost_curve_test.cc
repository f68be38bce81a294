// cost_curve_test.cc - the three shapes of Pulsar Fig. 6 and measured points, against exact fractions.
#include "cost_functions/cost_curve.h"

#include <algorithm>

#include "test/cost_functions/table_support.h"
#include "test/support/catch.h"
#include "test/support/random.h"
#include "test/support/sanitized.h"

using namespace weir;
using weir::test::kKi;

namespace {

// base + tokens * size / bytes, rounded to the nearest, without rounding in between.
std::uint32_t exact(std::uint64_t base, std::uint64_t tokens, std::uint64_t bytes, std::uint64_t size) {
    const SignedWide twice = SignedWide{2} * tokens * size + bytes;
    const SignedWide value = SignedWide{base} + twice / (SignedWide{2} * bytes);
    return static_cast<std::uint32_t>(std::min<SignedWide>(value, UINT32_MAX));
}

std::uint32_t distance(std::uint32_t a, std::uint32_t b) {
    return a > b ? a - b : b - a;
}

}  // namespace

TEST_CASE("a network's curve is linear: one token for each byte (Fig. 6)") {
    const CostCurve network = CostCurve::linear(0, {1, 1});
    for (const std::uint32_t size : {0U, 1U, 64U, 1500U, 65'536U, UINT32_MAX})
        CHECK(network.at(size) == size);
    CHECK(network.at(2ULL * UINT32_MAX) == UINT32_MAX);  // both ways together: saturates
}

TEST_CASE("a key-value store's curve is flat up to 8 KiB, then linear (Fig. 6)") {
    const CostCurve store = CostCurve::minimum(8192, 0, {1, 1});
    CHECK(store.at(0) == 8192);
    CHECK(store.at(512) == 8192);
    CHECK(store.at(8192) == 8192);
    CHECK(store.at(8193) == 8193);
    CHECK(store.at(16 * kKi) == 16'384);
    // 16 Ki tokens/s are 2 PUTs of 4 KiB a second and 1 PUT of 16 KiB (Pulsar 3.2).
    CHECK(16'384 / store.at(4 * kKi) == 2);
    CHECK(16'384 / store.at(16 * kKi) == 1);
}

TEST_CASE("a store that charges in multiples of 1 KiB has steps (Fig. 6)") {
    const CostCurve steps = CostCurve::steps(1, kKi, {1, kKi});
    CHECK(steps.at(0) == 1);
    CHECK(steps.at(1) == 1);
    CHECK(steps.at(kKi) == 1);
    CHECK(steps.at(kKi + 1) == 2);
    CHECK(steps.at(2 * kKi) == 2);
    CHECK(steps.at(2 * kKi + 1) == 3);
    CHECK(steps.at(1ULL << 30) == 1U << 20);
}

TEST_CASE("a base size of 16 KiB and one more per 32 KiB begun (SRP) is steps") {
    const CostCurve requests = CostCurve::steps(1, 16 * kKi, {1, 32 * kKi});
    CHECK(requests.at(512) == 1);
    CHECK(requests.at(16 * kKi) == 1);
    CHECK(requests.at(16 * kKi + 1) == 2);
    CHECK(requests.at(48 * kKi) == 2);
    CHECK(requests.at(48 * kKi + 1) == 3);
    CHECK(requests.at(256 * kKi) == 9);
}

TEST_CASE("a curve is exact at its points and straight between them") {
    // Virtual IO operations, in thousandths, of a disk that does 40, 38, 18, 5.2 and 1.4 thousand reads/s of
    // these sizes (Libra).
    const CostCurve::Point vops[] = {
        {1 * kKi, 1000}, {4 * kKi, 1053}, {16 * kKi, 2222}, {64 * kKi, 7692}, {256 * kKi, 28'571}};
    const CostCurve curve = CostCurve::points(vops);
    for (const CostCurve::Point& point : vops)
        CHECK(curve.at(point.size) == point.tokens);
    CHECK(curve.at(0) == 1000);            // flat before the first
    CHECK(curve.at(7 * kKi) == 1345);      // a quarter of the way: 1345.25
    CHECK(curve.at(40 * kKi) == 4957);     // half way
    CHECK(curve.at(448 * kKi) == 49'450);  // as steep as before: 28571 + 20879
    CHECK(CostCurve::points(vops, CostCurve::Price{0, 1}).at(1ULL << 30) == 28'571);
    CHECK(CostCurve::points(vops, CostCurve::Price{1, kKi}).at(257 * kKi) == 28'572);
    CHECK(curve.corners() == std::vector<std::uint64_t>{0, 1 * kKi, 4 * kKi, 16 * kKi, 64 * kKi, 256 * kKi});
}

TEST_CASE("a curve of falling points is exact at them and constant behind the last") {
    const CostCurve::Point points[] = {{0, 100}, {30, 0}, {60, 70}, {63, 50}};
    const CostCurve curve = CostCurve::points(points);
    for (const CostCurve::Point& point : points)
        CHECK(curve.at(point.size) == point.tokens);
    CHECK(curve.at(15) == 50);
    CHECK(curve.at(1'000'000) == 50);
}

TEST_CASE("one point is a constant") {
    const CostCurve::Point point[] = {{100, 7}};
    const CostCurve curve = CostCurve::points(point);
    CHECK(curve.at(0) == 7);
    CHECK(curve.at(UINT32_MAX) == 7);
}

TEST_CASE("a minimum below the base has no effect; without a slope it is the price") {
    CHECK(CostCurve::minimum(5, 6, {1, 1}).at(1) == 7);
    CHECK(CostCurve::minimum(5, 0, {0, 1}).at(UINT32_MAX) == 5);
}

TEST_CASE("lines are within a token of the exact fraction, and exact up to 1 GiB for whole slopes") {
    testing::Random32 random(1);
    for (unsigned round = 0; round < weir::testing::rounds(20'000); ++round) {
        const std::uint32_t base = random() % (kCurveTokensMax >> (random() % 30));
        const std::uint32_t tokens = random() % (kCurveTokensMax >> (random() % 30)) + 1;
        const std::uint64_t bytes = random() % (kCurveStrideMax >> (random() % 29)) + 1;
        const std::uint64_t size = random() >> (random() % 32);
        const CostCurve curve = CostCurve::linear(base, {tokens, bytes});
        INFO(base << " + " << tokens << " * " << size << " / " << bytes);
        REQUIRE(distance(curve.at(size), exact(base, tokens, bytes, size)) <= 1);
        const std::uint32_t minimum = base + random() % (kCurveTokensMax - base);
        const CostCurve flat = CostCurve::minimum(minimum, base, {tokens, bytes});
        REQUIRE(distance(flat.at(size), std::max(minimum, exact(base, tokens, bytes, size))) <= 1);
        if (size <= 1U << 30 && bytes == 1)
            REQUIRE(curve.at(size) == exact(base, tokens, 1, size));
    }
}

TEST_CASE("steps are exact for every stride") {
    testing::Random32 random(2);
    for (unsigned round = 0; round < weir::testing::rounds(20'000); ++round) {
        const std::uint64_t stride = random() % (kCurveStrideMax >> (random() % 29)) + 1;
        const std::uint64_t until = random() >> (random() % 32);
        const CostCurve curve = CostCurve::steps(3, until, {1, stride});
        const std::uint64_t begun = random() % (kCurveSizeMax / stride + 1);
        INFO(until << " " << stride << " " << begun);
        REQUIRE(curve.at(until) == 3);
        // The last size of a step, and the first of the next.
        REQUIRE(curve.at(until + begun * stride) == 3 + begun);
        REQUIRE(curve.at(until + begun * stride + 1) == 3 + begun + 1);
    }
}

TEST_CASE("a curve through growing points never falls") {
    testing::Random32 random(3);
    for (int round = 0; round < 300; ++round) {
        std::vector<CostCurve::Point> points;
        std::uint64_t size = random() % 100;
        std::uint32_t tokens = random() % 100;
        const std::size_t count = 1 + random() % kCurvePointsMax;
        for (std::size_t i = 0; i < count; ++i) {
            points.push_back({size, tokens});
            size += 1 + (random() % 50'000'000 >> (random() % 26));
            tokens += random() % 15'000'000 >> (random() % 24);
        }
        const CostCurve curve = CostCurve::points(points);
        for (const CostCurve::Point& point : points)
            REQUIRE(curve.at(point.size) == point.tokens);
        std::uint64_t near = 0;
        std::uint32_t before = 0;
        for (const CostCurve::Point& point : points) {
            for (near = std::max(near, point.size - std::min<std::uint64_t>(point.size, 2));
                 near < point.size + 3; ++near) {
                REQUIRE(curve.at(near) >= before);
                before = curve.at(near);
            }
        }
    }
}
