// water_fill_test.cc - worked numbers of divvy, the cases that the paper leaves out, and properties of every
// result.
#include "common/water_fill.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "test/support/catch.h"

using namespace weir;

namespace {

constexpr std::uint64_t kNone = Claim::kNoLimit;

struct Filled {
    std::vector<std::uint64_t> parts;
    std::uint64_t unassigned;
};

Filled fill(std::uint64_t capacity, const std::vector<Claim>& claims) {
    Filled f{std::vector<std::uint64_t>(claims.size()), 0};
    f.unassigned = water_fill(capacity, claims, f.parts);
    return f;
}

Claim claim(std::uint64_t reservation, std::uint64_t limit, std::uint32_t shares,
            std::uint64_t demand = kNone) {
    return {.reservation = reservation, .limit = limit, .demand = demand, .shares = shares};
}

}  // namespace

TEST_CASE(
    "1200 by shares 3:1 under limits 1000 and 500 is 900 and 300; 300 by 1:1 under 400 and 100 is 200, "
    "100") {
    CHECK(fill(1200, {claim(0, 1000, 3), claim(0, 500, 1)}).parts == std::vector<std::uint64_t>{900, 300});
    CHECK(fill(300, {claim(0, 400, 1), claim(0, 100, 1)}).parts == std::vector<std::uint64_t>{200, 100});
}

TEST_CASE("1000 over (100,300,1) (400,-,1) (0,150,2) (0,-,4) is 100, 400, 150, 350") {
    const Filled f =
        fill(1000, {claim(100, 300, 1), claim(400, kNone, 1), claim(0, 150, 2), claim(0, kNone, 4)});
    CHECK(f.parts == std::vector<std::uint64_t>{100, 400, 150, 350});
    CHECK(f.unassigned == 0);
}

TEST_CASE("reservations beyond the capacity are scaled alike, and other claims get nothing") {
    const Filled f = fill(1000, {claim(1500, kNone, 1), claim(500, kNone, 9), claim(0, kNone, 100)});
    CHECK(f.parts == std::vector<std::uint64_t>{750, 250, 0});
    CHECK(f.unassigned == 0);
}

TEST_CASE("capacity that limits and demands leave over is returned") {
    const Filled f = fill(1000, {claim(0, 100, 1), claim(0, kNone, 1, 300)});
    CHECK(f.parts == std::vector<std::uint64_t>{100, 300});
    CHECK(f.unassigned == 600);
}

TEST_CASE("no shares: the reservation and no more") {
    const Filled f = fill(1000, {claim(200, kNone, 0), claim(0, 300, 1)});
    CHECK(f.parts == std::vector<std::uint64_t>{200, 300});
    CHECK(f.unassigned == 500);
    CHECK(fill(1000, {claim(0, kNone, 0)}).unassigned == 1000);
}

TEST_CASE("a reservation that is not demanded goes to the others; a limit below it is raised to it") {
    CHECK(fill(1000, {claim(800, kNone, 1, 100), claim(0, kNone, 1)}).parts ==
          std::vector<std::uint64_t>{100, 900});
    CHECK(fill(1000, {claim(800, 500, 1), claim(0, kNone, 1)}).parts == std::vector<std::uint64_t>{800, 200});
}

TEST_CASE("one claim, no claim, no capacity") {
    CHECK(fill(1000, {claim(10, kNone, 7)}).parts == std::vector<std::uint64_t>{1000});
    CHECK(fill(1000, {}).unassigned == 1000);
    CHECK(fill(0, {claim(10, kNone, 7), claim(0, kNone, 1)}).parts == std::vector<std::uint64_t>{0, 0});
}

TEST_CASE(
    "property: all is assigned or unwanted, within bounds, and one level of shares explains every part") {
    std::mt19937_64 random(17);
    for (int trial = 0; trial < 2000; ++trial) {
        std::vector<Claim> claims(1 + random() % 20);
        for (Claim& c : claims) {
            c.reservation = random() % 3 == 0 ? random() % 1'000'000 : 0;
            c.limit = random() % 3 == 0 ? random() % 2'000'000 : kNone;
            c.demand = random() % 3 == 0 ? random() % 2'000'000 : kNone;
            c.shares = static_cast<std::uint32_t>(1 + random() % 1000);
        }
        const std::uint64_t capacity = random() % 20'000'000;
        const Filled f = fill(capacity, claims);
        const std::uint64_t sum = std::accumulate(f.parts.begin(), f.parts.end(), std::uint64_t{0});
        REQUIRE(sum + f.unassigned == capacity);

        double lowest_open = 1e300;  // level of those that could take more
        double highest_fed = 0;      // level of those that got more than their floor
        for (std::size_t i = 0; i < claims.size(); ++i) {
            const Claim& c = claims[i];
            const std::uint64_t cap = std::min(std::max(c.limit, c.reservation), c.demand);
            const std::uint64_t floor = std::min(c.reservation, cap);
            REQUIRE(f.parts[i] <= cap);
            const double level = static_cast<double>(f.parts[i]) / c.shares;
            const double rounding = 2.0 / c.shares;
            if (f.parts[i] < cap)
                lowest_open = std::min(lowest_open, level + rounding);
            if (f.parts[i] > floor)
                highest_fed = std::max(highest_fed, level - rounding);
        }
        REQUIRE(highest_fed <= lowest_open * (1 + 1e-6));
        if (f.unassigned > claims.size())
            REQUIRE(lowest_open == 1e300);
    }
}

namespace {

struct RealFilled {
    std::vector<double> parts;
    double unassigned;
};

RealFilled fill_real(double capacity, const std::vector<RealClaim>& claims) {
    RealFilled f{std::vector<double>(claims.size()), 0};
    f.unassigned = water_fill(capacity, claims, f.parts);
    return f;
}

double sum_of(const RealFilled& f) {
    return std::accumulate(f.parts.begin(), f.parts.end(), 0.0);
}

}  // namespace

TEST_CASE("real numbers: V1 and V2, thirds, and what is over") {
    constexpr double kFree = RealClaim::kNoLimit;
    CHECK(fill_real(1000,
                    {{100, 300, kFree, 1}, {400, kFree, kFree, 1}, {0, 150, kFree, 2}, {0, kFree, kFree, 4}})
              .parts == std::vector<double>{100, 400, 150, 350});
    CHECK(fill_real(300, {{0, 400, kFree, 1}, {0, 100, kFree, 1}}).parts == std::vector<double>{200, 100});
    const RealFilled thirds = fill_real(1, {{}, {}, {}});
    CHECK(thirds.parts == std::vector<double>(3, 1.0 / 3));
    CHECK(thirds.unassigned == 0);
    CHECK(fill_real(1000, {{0, 100, kFree, 1}, {0, kFree, 300, 1}, {50, kFree, kFree, 0}}).unassigned == 550);
    CHECK(fill_real(1000, {{1500, kFree, kFree, 1}, {500, kFree, kFree, 9}}).parts ==
          std::vector<double>{750, 250});
    CHECK(fill_real(7, {}).unassigned == 7);
}

TEST_CASE("real numbers: shares that differ by 10^12 lose nothing") {
    const RealFilled f = fill_real(
        1e9, {{0, 10, RealClaim::kNoLimit, 1e6}, {0, RealClaim::kNoLimit, RealClaim::kNoLimit, 1e-6}});
    CHECK(f.parts == std::vector<double>{10, 1e9 - 10});
}

TEST_CASE("real numbers: limits that bind one after the other end as well") {
    std::vector<RealClaim> claims;
    double level = 1;
    for (int i = 0; i < 3000; ++i)
        claims.push_back(
            {.reservation = 0, .limit = level *= 1.01, .demand = RealClaim::kNoLimit, .shares = 1});
    const double capacity = 0.9 * claims.back().limit * 100;
    const RealFilled f = fill_real(capacity, claims);
    REQUIRE(sum_of(f) + f.unassigned == Approx(capacity).epsilon(1e-9));
    const double top = *std::max_element(f.parts.begin(), f.parts.end());
    for (std::size_t i = 0; i < claims.size(); ++i)
        REQUIRE(f.parts[i] == Approx(std::min(claims[i].limit, top)).epsilon(1e-9));
}

TEST_CASE("property: real and whole numbers give the same but for rounding") {
    std::mt19937_64 random(18);
    for (int trial = 0; trial < 500; ++trial) {
        std::vector<Claim> whole(1 + random() % 20);
        std::vector<RealClaim> real;
        for (Claim& c : whole) {
            c.reservation = random() % 3 == 0 ? random() % 1'000'000 : 0;
            c.limit = random() % 3 == 0 ? random() % 2'000'000 : kNone;
            c.demand = random() % 3 == 0 ? random() % 2'000'000 : kNone;
            c.shares = static_cast<std::uint32_t>(random() % 1000);
            const auto bound = [](std::uint64_t amount) {
                return amount == kNone ? RealClaim::kNoLimit : static_cast<double>(amount);
            };
            real.push_back(
                {static_cast<double>(c.reservation), bound(c.limit), bound(c.demand), double(c.shares)});
        }
        const std::uint64_t capacity = random() % 20'000'000;
        const Filled expected = fill(capacity, whole);
        const RealFilled f = fill_real(static_cast<double>(capacity), real);
        for (std::size_t i = 0; i < whole.size(); ++i)
            REQUIRE(f.parts[i] == Approx(static_cast<double>(expected.parts[i])).margin(25));
        REQUIRE(sum_of(f) + f.unassigned == Approx(static_cast<double>(capacity)).margin(1e-3));
    }
}
