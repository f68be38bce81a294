// rate_limits_test.cc - floors and room to grow within limits, by worked numbers.
#include "ctrl/daemon/rate_limits.h"

#include <vector>

#include "test/support/catch.h"

using namespace weir;

namespace {

PartRate part_of_limit(double allocated, double wanted, double floor, std::uint32_t first,
                       std::uint32_t second = alloc::kNone) {
    return {.is_stated = true,
            .allocated = allocated,
            .wanted = wanted,
            .floor = floor,
            .limits = {first, second}};
}

std::vector<double> settled(std::vector<double> limits, const std::vector<PartRate>& parts) {
    RateLimits within;
    within.begin(limits);
    for (const PartRate& part : parts)
        within.add(part);
    within.settle();
    return {within.rates().begin(), within.rates().end()};
}

void check_rates(const std::vector<double>& found, const std::vector<double>& wanted) {
    REQUIRE(found.size() == wanted.size());
    for (std::size_t i = 0; i < found.size(); ++i)
        CHECK(found[i] == Approx(wanted[i]).epsilon(0.001));
}

}  // namespace

TEST_CASE("a full limit keeps a tenth for the floors of flows that ask for little", "[limits]") {
    check_rates(settled({1000}, {part_of_limit(950, 950, 300, 0), part_of_limit(20, 20, 300, 0),
                                 part_of_limit(0, 0, 300, 0)}),
                {933.33, 33.33, 33.33});
}

TEST_CASE("a limit with room gives floors whole", "[limits]") {
    check_rates(settled({1000}, {part_of_limit(400, 400, 300, 0), part_of_limit(20, 20, 300, 0),
                                 part_of_limit(0, 0, 300, 0)}),
                {400, 300, 300});
}

TEST_CASE("room to grow is divided by how much is wanted", "[limits]") {
    // 600 are left; 900 and 300 more are wanted.
    check_rates(settled({1000}, {part_of_limit(100, 1000, 0, 0), part_of_limit(300, 600, 0, 0)}), {550, 450});
}

TEST_CASE("of two limits the tighter one holds for the flow, and the other's rest stays free", "[limits]") {
    // The second flow counts against both: limit 1 has 100 for it alone.
    check_rates(settled({1000, 100}, {part_of_limit(200, 1000, 0, 0), part_of_limit(50, 700, 0, 0, 1)}),
                {905.9, 94.1});
}

TEST_CASE("without a limit a flow has what it wants, and every flow has at least 1", "[limits]") {
    check_rates(settled({alloc::kInfinite}, {part_of_limit(10, 1000, 0, 0), part_of_limit(10, 10, 77, 0),
                                             part_of_limit(0, 0, 0, alloc::kNone)}),
                {1000, 77, 1});
    check_rates(settled({2}, {part_of_limit(5, 5, 5, 0), part_of_limit(0, 0, 0, 0)}), {2, 1});
}
