// demand_test.cc - worked numbers of eq. 6 and of its moving average.
#include "ctrl/estimate/demand.h"

#include <limits>

#include "test/support/catch.h"

using namespace weir::estimate;

TEST_CASE("a demand is the use, and the larger of the backlog and the queue's use", "[demand]") {
    // 1000 + max(200, 50 * 1000 / 100)
    CHECK(demand_of({.used = 1000, .backlog = 200, .queued = 50, .outstanding = 100}) == 1500);
    CHECK(demand_of({.used = 1000, .backlog = 700, .queued = 50, .outstanding = 100}) == 1700);
}

TEST_CASE("with nothing outstanding the backlog alone counts", "[demand]") {
    CHECK(demand_of({.used = 1000, .backlog = 200, .queued = 50}) == 1200);
    CHECK(demand_of({.backlog = 40, .queued = 50}) == 40);
    CHECK(demand_of({}) == 0);
}

TEST_CASE("a flow without an allocation still shows its backlog", "[demand]") {
    CHECK(demand_of({.backlog = 300, .queued = 300, .outstanding = 10}) == 300);
}

TEST_CASE("a demand ends at the flow's physical limit", "[demand]") {
    CHECK(demand_of({.used = 1000, .queued = 1e6, .outstanding = 1}, 5000) == 5000);
}

TEST_CASE("implausible usage is refused and the old estimate stays", "[demand]") {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    constexpr double kInf = std::numeric_limits<double>::infinity();
    for (const double wrong : {kNan, kInf, -1.0, 1e300}) {
        CHECK_FALSE(demand_of({.used = wrong}));
        CHECK_FALSE(demand_of({.backlog = wrong}));
        CHECK_FALSE(demand_of({.queued = wrong}));
        CHECK_FALSE(demand_of({.outstanding = wrong}));
        CHECK(smoothed_demand(700, {.used = wrong}) == 700);
        CHECK_FALSE(smoothed_demand({}, {.used = wrong}));
    }
    // Each is plausible, the product is not.
    CHECK(*demand_of({.used = 0x1p53, .queued = 0x1p53, .outstanding = 1e-300}) == 0x1p53);
}

TEST_CASE("a rise of a flow that was held back is believed at once, of another by half", "[demand]") {
    CHECK(smoothed_demand({}, {.used = 100}) == 100);
    CHECK(smoothed_demand(100, {.used = 100, .backlog = 900}) == 1000);
    CHECK(smoothed_demand(100, {.used = 1000}) == 550);
}

TEST_CASE("a demand falls slowly, and to zero in the end", "[demand]") {
    CHECK(smoothed_demand(1000, {.used = 500}) == 900);
    std::optional<double> demand = 1000;
    int intervals = 0;
    for (; *demand > 0 && intervals < 100; ++intervals)
        demand = smoothed_demand(demand, {});
    CHECK(intervals == 31);  // 1000 * 0.8^31 < 1
}

TEST_CASE("a demand of every other interval is not forgotten in between", "[demand]") {
    std::optional<double> demand;
    for (int i = 0; i < 20; ++i)
        demand = smoothed_demand(demand, {.used = i % 2 == 0 ? 1000.0 : 0.0});
    CHECK(*demand > 600);
}
