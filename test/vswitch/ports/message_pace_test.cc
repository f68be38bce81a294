// message_pace_test.cc - a burst of messages, then one each millisecond, and the burst again after a second.
#include "vswitch/ports/message_pace.h"

#include "test/support/catch.h"

using namespace weir;
using namespace std::chrono_literals;

namespace {

/// @return how many messages pass at this moment
int pass_all(MessagePace& pace, MessagePace::Clock::time_point now) {
    int passed = 0;
    for (; pace.may_pass(now); ++passed)
        pace.passed(now);
    return passed;
}

}  // namespace

TEST_CASE("1,024 messages pass at once, then one each millisecond") {
    const MessagePace::Clock::time_point start{1h};
    MessagePace pace;
    CHECK(pass_all(pace, start) == 1024);
    CHECK(pace.next() == start + 1ms);
    CHECK(pass_all(pace, start + 1ms - 1ns) == 0);
    CHECK(pass_all(pace, start + 1ms) == 1);
    CHECK(pass_all(pace, start + 11ms) == 10);
    CHECK(pass_all(pace, start + 1h) == 1024);
}
