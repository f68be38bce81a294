// max_min_test.cc - worked numbers of max-min fairness.
#include "test/ctrl/alloc/problems.h"
#include "test/support/catch.h"

using namespace weir::alloc;
using namespace weir::alloc::test;

TEST_CASE("max-min has a water level for each resource by itself") {
    Case one({12, 100});
    one.flow({2, 10}).flow({8, 10}).flow({20, 10}, 2);
    const Allocation found = solve("max_min", one);
    CHECK(near(found.tokens, {2, 10, 10.0 / 3, 10, 20.0 / 3, 10}, 1e-9));
    CHECK(found.fill[1] == Approx(10.0 / 24));
    CHECK(found.bottleneck == std::vector<std::uint32_t>{kNone, 0, 0});
    CHECK(found.used[1] == 30);
}
