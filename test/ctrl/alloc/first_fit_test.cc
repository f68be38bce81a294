// first_fit_test.cc - worked numbers of first fit.
#include "test/ctrl/alloc/problems.h"
#include "test/support/catch.h"

using namespace weir::alloc;
using namespace weir::alloc::test;

TEST_CASE("first fit serves by weight, then by number, until a resource is empty") {
    Case one({10, 10});
    one.flow({6, 3}).flow({6, 3}).flow({5, 0}, 2).flow({0, 9});
    const Allocation found = solve("first_fit", one);
    CHECK(near(found.fill, {5.0 / 6, 0, 1, 7.5 / 9}, 1e-9));
    CHECK(found.bottleneck == std::vector<std::uint32_t>{0, 0, kNone, 1});
}
