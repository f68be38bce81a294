// capacity_search_property_test.cc - properties of the search with random costs: the estimate arrives within
// five intervals of a change, stays, and breaks no guarantee on the way.
#include <cmath>

#include "test/ctrl/estimate/fluid_appliance.h"
#include "test/support/catch.h"
#include "test/support/random.h"

using namespace weir::estimate;
using weir::testing::FluidAppliance;
using weir::testing::FluidTenant;
using weir::testing::Random32;

namespace {

double between(Random32& random, double low, double high) {
    return low + (high - low) * static_cast<double>(random()) * 0x1p-32;
}

/// Two to four tenants whose costs differ by up to three times; guarantees that fit the worst mix.
FluidAppliance random_appliance(Random32& random) {
    const double work = between(random, 2000, 20'000);
    FluidAppliance appliance(work, between(random, 0.0005, 0.01));
    const auto count = 2 + random() % 3;
    for (unsigned i = 0; i < count; ++i) {
        FluidTenant tenant;
        tenant.closed = random() % 2 == 0;
        tenant.cost = between(random, 1, 3);
        tenant.guarantee = work / 3 / static_cast<double>(count) * between(random, 0.3, 1);
        // An open loop offers more than the capacity; a closed one keeps the appliance busy alone.
        tenant.size = tenant.closed ? work * between(random, 0.1, 0.5) : work * between(random, 1.2, 3);
        appliance.tenants.push_back(tenant);
    }
    return appliance;
}

}  // namespace

TEST_CASE("the estimate is within 5 % five intervals after a tenant comes or goes, and stays", "[capacity]") {
    Random32 random(20141006);
    int judged = 0;
    int off = 0;
    for (int round = 0; round < 300; ++round) {
        CAPTURE(round);
        FluidAppliance appliance = random_appliance(random);
        appliance.tenants[0].active = true;
        CapacitySearch search({.min = appliance.capacity() / 3, .max = appliance.capacity() * 5});
        for (int change = 0; change < 8; ++change) {
            CAPTURE(change);
            for (int interval = 0; interval < 30; ++interval) {
                CAPTURE(interval);
                search.update(appliance.run(search.state().allocate));
                const double error = std::abs(search.state().estimate / appliance.capacity() - 1);
                // The first search takes longer. A check for more capacity takes one interval.
                if (interval < (change == 0 ? 9 : 5))
                    continue;
                ++judged;
                off += error > 0.05;
                INFO("estimate " << search.state().estimate << " of " << appliance.capacity());
                REQUIRE((interval < 10 || error < 0.15));
            }
            FluidTenant& other = appliance.tenants[1 + random() % (appliance.tenants.size() - 1)];
            other.active = !other.active;
            other.queued = 0;
        }
    }
    INFO(off << " of " << judged);
    CHECK(off * 1000 <= judged);
}

TEST_CASE("while it searches, every tenant that wants its guarantee has it", "[capacity]") {
    Random32 random(6);
    int judged = 0;
    int short_of = 0;
    for (int round = 0; round < 300; ++round) {
        FluidAppliance appliance = random_appliance(random);
        for (FluidTenant& tenant : appliance.tenants)
            tenant.active = true;
        const double all = appliance.capacity();
        CapacitySearch search({.min = all / 2, .max = all * 4});
        for (int interval = 0; interval < 40; ++interval) {
            const double before = search.state().allocate;
            const Reading reading = appliance.run(before);
            search.update(reading);
            for (std::size_t i = 0; i < appliance.tenants.size(); ++i) {
                ++judged;
                short_of += appliance.served(i) < 0.99 * appliance.tenants[i].guarantee;
            }
        }
    }
    INFO(short_of << " of " << judged);
    CHECK(short_of * 100 <= judged);
}
