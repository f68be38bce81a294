// plain_hdrf_test.cc - H-DRF against the plainest form of it, on random tenants.
#include "test/ctrl/alloc/plain_hdrf.h"

#include <cmath>

#include "test/support/sanitized.h"

using namespace weir::alloc;
using namespace weir::alloc::test;
using weir::testing::Random32;
using weir::testing::rounds;

namespace {

// Demands, capacities and weights of few values: many flows, groups and resources stand at one share.
Case tied_case(Random32& random, const Shape& shape) {
    Case one(std::vector<double>(shape.resources, 60.0));
    if (random() % 2 == 0)
        one.capacity[0] = 120;
    for (std::uint32_t t = 0; t < shape.tenants; ++t)
        one.node(1 + random() % 2);
    for (std::uint32_t i = 0; i < shape.flows; ++i) {
        for (std::uint32_t j = random() % shape.resources; j < shape.resources; j += 1 + random() % 3)
            one.demand.put(j, 15.0 * (random() % 4));  // also 0: no entry
        one.demand.end_flow();
        one.weights.push_back(1 + random() % 2);
        one.tree.node_of_flow.push_back(random() % 4 == 0 ? kNone : random() % shape.tenants);
    }
    return one;
}

// @return false where H-DRF leaves the answer open
bool check_case(const Case& one) {
    const Allocation found = solve("hdrf", one);
    PlainHdrf plain(one);
    const std::vector<double>& wanted = plain.run();
    if (plain.is_open())
        return false;
    for (std::uint32_t i = 0; i < one.demand.flows(); ++i) {
        if (!plain.takes_part(i))
            continue;
        INFO("flow " << i << " of " << one.demand.flows() << " found " << found.fill[i] << " wanted "
                     << wanted[i]);
        REQUIRE(std::abs(found.fill[i] - wanted[i]) < 1e-6);
    }
    return true;
}

void check_random(std::uint32_t seed, unsigned many, Case (*make)(Random32&, const Shape&),
                  const Shape& most) {
    Random32 random(seed);
    unsigned open = 0;
    for (unsigned run = 0; run < rounds(many); ++run) {
        INFO("run " << run);
        open += !check_case(make(random, {.flows = 1 + random() % most.flows,
                                          .resources = 1 + random() % most.resources,
                                          .tenants = 1 + random() % most.tenants}));
    }
    INFO(open << " of " << many << " open");
    CHECK(open * 20 <= many);
}

}  // namespace

TEST_CASE("the plain form of H-DRF has the worked numbers of weighted tenants") {
    // root{T1 w2{a(2,1), b(1,3)}, T2 w1{c(3,0) w3, d(0,2) w1}}, 120 and 120.
    Case one({120, 120});
    const std::uint32_t t1 = one.node(2);
    const std::uint32_t t2 = one.node(1);
    one.flow({240, 120}, 1, t1).flow({120, 360}, 1, t1).flow({360, 0}, 3, t2).flow({0, 240}, 1, t2);
    CHECK(near(PlainHdrf(one).run(), {28.8 / 120, 19.2 / 120, 14.4 / 120, 16.8 / 120}, 1e-7));
}

TEST_CASE("random tenants get what the plain form gives") {
    check_random(31, 400, random_case, {.flows = 14, .resources = 6, .tenants = 5});
}

TEST_CASE("tenants at one share get what the plain form gives") {
    check_random(32, 400, tied_case, {.flows = 14, .resources = 6, .tenants = 5});
}

TEST_CASE("tenants on one resource get what the plain form gives") {
    check_random(33, 200, random_case, {.flows = 20, .resources = 1, .tenants = 8});
    check_random(34, 200, tied_case, {.flows = 20, .resources = 1, .tenants = 8});
}

TEST_CASE("tenants on many resources get what the plain form gives") {
    check_random(35, 30, random_case, {.flows = 40, .resources = 40, .tenants = 6});
    check_random(36, 30, tied_case, {.flows = 40, .resources = 40, .tenants = 6});
}

TEST_CASE("tenants of which most have no flows get what the plain form gives") {
    check_random(37, 200, random_case, {.flows = 5, .resources = 4, .tenants = 30});
}
