// drain_rate_test.cc - the rate at which a VM takes frames of the wire while some wait for it.
#include "vswitch/qos/receive/drain_rate.h"

#include "test/support/amounts.h"
#include "test/support/catch.h"

using namespace weir;
using testing::kGbit;

namespace {

constexpr std::uint64_t kDrainLine = 1'250'000'000;

}  // namespace

TEST_CASE("while frames wait the rate is what the ring took, a little less") {
    DrainRate drain;
    CHECK(drain.rate() == DrainRate::kFree);
    Nanos now = 1000;
    drain.update(true, kDrainLine, now);
    for (int i = 0; i < 4; ++i) {
        drain.took(25'000);  // 200 us at 1 Gbit/s
        now += DrainRate::kPeriod;
        drain.update(true, kDrainLine, now);
        CHECK(drain.rate() == kGbit - kGbit / 32);
    }
}

TEST_CASE("a queue that is gone within a period bounds nothing, one that comes back bounds again") {
    DrainRate drain;
    drain.update(true, kDrainLine, 1000);
    drain.took(1000);
    drain.update(false, kDrainLine, 1000 + DrainRate::kPeriod);
    CHECK(drain.rate() == DrainRate::kFree);
    CHECK(drain.idle());
}

TEST_CASE("without a queue the rate is raised until it bounds nothing") {
    DrainRate drain;
    Nanos now = 1000;
    drain.update(true, kDrainLine, now);
    drain.took(25'000);
    drain.update(true, kDrainLine, now += DrainRate::kPeriod);
    std::uint64_t last = drain.rate();
    unsigned periods = 0;
    for (; drain.rate() != DrainRate::kFree; ++periods) {
        CHECK(drain.rate() >= last);
        last = drain.rate();
        drain.took(25'000);
        drain.update(false, kDrainLine, now += DrainRate::kPeriod);
    }
    CHECK(periods > 15);
    CHECK(periods < 25);
}

TEST_CASE("a VM that takes nothing has a rate, not none") {
    DrainRate drain;
    drain.update(true, kDrainLine, 1000);
    drain.update(true, kDrainLine, 1000 + DrainRate::kPeriod);
    CHECK(drain.rate() == 1);
}
