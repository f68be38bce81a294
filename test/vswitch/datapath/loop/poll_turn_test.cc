// poll_turn_test.cc - when the wire is polled between two VMs, and when a turn ends, in cycles chosen by the
// test.
#include "vswitch/datapath/loop/poll_turn.h"

#include "test/support/catch.h"

using namespace weir;

namespace {

/// Polls of VMs of `cycles` each until the wire is due. @return how many
unsigned polls_until_outside(const PollTurn& turn, std::uint64_t start, std::uint64_t cycles) {
    unsigned polls = 0;
    while (!turn.outside_due(start + polls * cycles))
        ++polls;
    return polls;
}

}  // namespace

TEST_CASE("the wire is due again when the VMs have used the core for `outside_every`") {
    PollTurn turn({.outside_every = 10'000, .length_max = 50'000});
    turn.begin(1'000'000);
    turn.outside_polled(1'000'000, 1'003'000);
    CHECK(polls_until_outside(turn, 1'003'000, 4'000) == 3);
}

TEST_CASE("a burst of the wire that takes long is followed by as much time for the VMs") {
    PollTurn turn({.outside_every = 10'000, .length_max = 500'000});
    turn.begin(0);
    turn.outside_polled(0, 30'000);
    CHECK(polls_until_outside(turn, 30'000, 4'000) == 8);
    turn.outside_polled(62'000, 65'000);  // a short one again
    CHECK(polls_until_outside(turn, 65'000, 4'000) == 3);
}

TEST_CASE("a turn is over after `length_max`") {
    PollTurn turn({.outside_every = 10'000, .length_max = 50'000});
    turn.begin(1'000);
    CHECK(!turn.over(50'999));
    CHECK(turn.over(51'000));
    turn.begin(60'000);
    CHECK(!turn.over(61'000));
}

TEST_CASE("without a profile the wire is polled once a turn, which goes over all VMs") {
    PollTurn turn({});
    turn.begin(5);
    turn.outside_polled(5, 6);
    CHECK(!turn.outside_due(UINT64_MAX / 2));
    CHECK(!turn.over(UINT64_MAX / 2));
}
