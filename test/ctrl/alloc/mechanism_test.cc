// mechanism_test.cc - properties of every mechanism, on random problems.
#include "test/ctrl/alloc/problems.h"
#include "test/support/catch.h"

using namespace weir::alloc;
using namespace weir::alloc::test;
using weir::testing::Random32;

namespace {

constexpr double kFull = 1e-7;

}  // namespace

TEST_CASE("no resource is ever over its capacity and no flow over its demand") {
    Random32 random(21);
    for (int run = 0; run < 1500; ++run) {
        const Case one = any_case(random);
        for (const MechanismEntry& entry : kMechanisms) {
            INFO(entry.name << " run " << run);
            const Allocation found = solve(entry.name, one);
            const std::vector<double> used = use_of(one, found);
            for (std::size_t j = 0; j < used.size(); ++j) {
                REQUIRE(used[j] <= one.capacity[j]);
                REQUIRE(found.used[j] == Approx(used[j]));
            }
            for (std::size_t k = 0; k < one.demand.entries(); ++k)
                REQUIRE((found.tokens[k] >= 0 && found.tokens[k] <= one.demand.tokens()[k]));
        }
    }
}

TEST_CASE("a flow below its demand stands at a full resource, which its bottleneck names") {
    Random32 random(22);
    for (int run = 0; run < 1500; ++run) {
        const Case one = any_case(random);
        for (const MechanismEntry& entry : kMechanisms) {
            const Allocation found = solve(entry.name, one);
            for (std::uint32_t i = 0; i < one.demand.flows(); ++i) {
                INFO(entry.name << " run " << run << " flow " << i << " fill " << found.fill[i]);
                if (found.fill[i] > 1 - 1e-9)
                    continue;
                const std::uint32_t j = found.bottleneck[i];
                REQUIRE(j != kNone);
                REQUIRE(found.used[j] >= one.capacity[j] * (1 - kFull));
            }
        }
    }
}

TEST_CASE("all mechanisms but max-min give a flow the same part of each of its resources") {
    Random32 random(23);
    for (int run = 0; run < 200; ++run) {
        const Case one = any_case(random);
        for (const char* name : {"drf", "hdrf", "first_fit", "revenue"}) {
            const Allocation found = solve(name, one);
            for (std::uint32_t i = 0; i < one.demand.flows(); ++i)
                for (const std::uint32_t k : one.demand.row(i))
                    REQUIRE(found.tokens[k] == Approx(found.fill[i] * one.demand.tokens()[k]));
        }
    }
}

TEST_CASE("a solver's answer does not depend on what it solved before") {
    Random32 random(28);
    for (const MechanismEntry& entry : kMechanisms) {
        const auto mechanism = entry.make();
        for (int run = 0; run < 100; ++run) {
            const Case one = any_case(random);
            Allocation again;
            mechanism->allocate(one.problem(), again);
            const Allocation found = solve(entry.name, one);
            REQUIRE(found.tokens == again.tokens);
            REQUIRE(found.bottleneck == again.bottleneck);
        }
    }
}
