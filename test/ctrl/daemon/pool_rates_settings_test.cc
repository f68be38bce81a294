// pool_rates_settings_test.cc - pool settings: stored, dropped for a newer cluster file, reset.
#include <algorithm>

#include "ctrl/daemon/interval_solver.h"
#include "ctrl/placement/cluster_plan.h"
#include "ctrl/store/store.h"
#include "test/support/catch.h"

using namespace weir;

namespace {

constexpr const char* kTwoPools = R"({
  "secret_key_file": "/k", "store": "/s",
  "topology": {"hosts": [{"name": "h1"}]},
  "appliances": [{"name": "disk", "capacity_min": "3ktokens", "capacity_max": "3ktokens"}],
  "tenants": [{"name": "A", "vnics": [{"name": "a"}, {"name": "b"}, {"name": "c"}], "appliances": [{"name": "disk"}]}],
  "pools": [{"name": "one", "appliance": "disk", "reservation": "1500tokens", "vnics": [{"name": "a"}, {"name": "b"}]},
            {"name": "two", "appliance": "disk", "shares": 200, "vnics": [{"name": "c"}]}]
})";

}  // namespace

TEST_CASE("pool settings last until the cluster file changes the same value, or until they are reset",
          "[solver]") {
    const auto config = std::get<ClusterConfig>(parse_cluster(kTwoPools, placement_faults));
    IntervalSolver solver(config);
    CHECK(solver.pools()->settings().empty());
    REQUIRE(solver.pools()->set({.name = "one", .reservation_tokens = 2000, .shares = 150}).empty());
    REQUIRE(solver.pools()->set({.name = "a", .reservation_tokens = 1900}).empty());
    REQUIRE(solver.pools()->set({.name = "two", .limit_tokens = std::optional<std::uint64_t>(700)}).empty());
    const std::vector<PoolSetting> kept = solver.pools()->settings();
    CHECK(kept == std::vector<PoolSetting>{{"disk", "one", false, "reservation", 2000, 1500},
                                           {"disk", "one", false, "shares", 150, 100},
                                           {"disk", "a", true, "reservation", 1900, 0},
                                           {"disk", "two", false, "limit", 700, PoolSetting::kNoLimit}});
    const auto shuffled = [&kept](std::size_t by) {
        std::vector<PoolSetting> order = kept;
        std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(by), order.end());
        return order;
    };
    for (std::size_t by = 0; by < kept.size(); ++by) {
        IntervalSolver next(config);
        CHECK(next.pools()->restore(shuffled(by)).empty());
        CHECK(next.pools()->settings() == kept);
    }

    // Another file: its reservation of pool one is newer than the setting, and too small for the setting of
    // a.
    ClusterConfig changed = config;
    changed.pools[0].reservation_tokens = 1000;
    IntervalSolver later(changed);
    const std::vector<std::string> lost = later.pools()->restore(kept);
    REQUIRE(lost.size() == 2);
    CHECK(lost[0].find("one: reservation=2000 no longer counts: the cluster file had 1500 when it was set") ==
          0);
    CHECK(lost[1].find("a: what was set no longer counts: reservation") == 0);
    CHECK(later.pools()->settings().size() == 2);
    changed.pools.pop_back();
    IntervalSolver without(changed);
    CHECK(without.pools()->restore(kept).size() == 3);

    CHECK(solver.pools()->set({.name = "one", .is_reset = true}).size() == 1);  // it would be too small for a
    CHECK(solver.pools()->set({.name = "a", .is_reset = true}).empty());
    CHECK(solver.pools()->set({.name = "one", .is_reset = true}).empty());
    CHECK(solver.pools()->set({.name = "two", .is_reset = true}).empty());
    CHECK(solver.pools()->set({.name = "two", .is_reset = true}).empty());
    CHECK(solver.pools()->settings().empty());
}
