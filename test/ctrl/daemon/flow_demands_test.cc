// flow_demands_test.cc - the table of demands against a map.
#include "ctrl/daemon/flow_demands.h"

#include <map>

#include "test/support/catch.h"
#include "test/support/random.h"

using namespace weir;

TEST_CASE("any changes leave the flows that a map has, in its order", "[demands]") {
    for (std::uint32_t seed = 1; seed <= 20; ++seed) {
        CAPTURE(seed);
        testing::Random32 random(seed);
        std::map<wire::FlowKey, float> expected;
        FlowDemands flows = seed % 2 == 0 ? FlowDemands() : FlowDemands({2, 3, 5, 7});
        for (int step = 0; step < 500; ++step) {
            const wire::FlowKey flow{random() % 12, random() % 8};
            const auto kind = random() % 10;
            if (kind < 6) {
                const float used = static_cast<float>(step);
                CHECK(flows.put(flow).second == !expected.contains(flow));
                flows[flow] = {.flow = flow, .used = {used, 0, 0}};
                expected[flow] = used;
            } else if (kind < 9) {
                flows.erase(flow);
                expected.erase(flow);
            } else {
                const FlowDemands::Flows taken = flows.take(flow.source);
                CHECK(taken.size() == std::erase_if(expected, [&](const auto& each) {
                          return each.first.source == flow.source;
                      }));
            }
            REQUIRE(flows.size() == expected.size());
            REQUIRE(flows.empty() == expected.empty());
            REQUIRE(flows.contains(flow) == expected.contains(flow));
        }
        std::map<wire::FlowKey, float> walked;
        wire::FlowKey last{};
        for (const auto& [flow, demand] : flows) {
            CHECK((walked.empty() || last < flow));
            last = flow;
            walked[flow] = demand.used[0];
            CHECK(flows.find(flow)->second.used[0] == demand.used[0]);
        }
        CHECK(walked == expected);
        flows.clear();
        CHECK(flows.begin() == flows.end());
    }
}
