// front_end_fault_test.cc - how long a front-end's fault is named.
#include "vswitch/ports/front_end_fault.h"

#include "test/support/catch.h"

using namespace weir;
using namespace std::chrono_literals;

TEST_CASE("a front-end's fault is named until one has been served for a second") {
    FrontEndFault fault;
    FrontEndFault::Clock::time_point now{};
    CHECK(fault.text(now).empty());
    for (int flaps = 0; flaps < 10; ++flaps) {
        fault.serve(now += 500ms);
        fault.refuse("ring 2; allowed: 0 to 1");
        fault.end(now += 1ms);
        CHECK(fault.text(now += 10s) == "ring 2; allowed: 0 to 1");
    }
    fault.serve(now);
    CHECK_FALSE(fault.text(now + 999ms).empty());
    fault.end(now + 999ms);
    CHECK_FALSE(fault.text(now += 10s).empty());
    fault.serve(now);
    CHECK(fault.text(now + 1s).empty());
    fault.end(now += 2s);
    CHECK(fault.text(now).empty());
    fault.refuse("half a message");
    CHECK(fault.text(now) == "half a message");
}

TEST_CASE(
    "a fault is forgotten when its successor was served long enough, though no report was made meanwhile") {
    FrontEndFault fault;
    FrontEndFault::Clock::time_point now{};
    fault.refuse("half a message");
    fault.serve(now);
    fault.end(now += 1s);
    CHECK(fault.text(now).empty());
}
