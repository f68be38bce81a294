// link_share_test.cc - a capacity that changes while workers share it.
#include "vswitch/datapath/link_share.h"

#include "test/support/catch.h"

using namespace weir;

TEST_CASE("a capacity that changes: at once for one worker, with the next division for several") {
    LinkShare alone(1, 64);
    CHECK(alone.allocation(0) == 64);
    alone.set_capacity(20);
    CHECK(alone.allocation(0) == 20);
    LinkShare shared(2, 64);
    for (WorkerId id = 0; id < 2; ++id)
        shared.report(id, {.reservation = 0, .shares = 1, .used = 30, .backlogged = true});
    shared.set_capacity(20);
    CHECK(shared.allocation(0) == 32);
    shared.divide();
    CHECK(shared.allocation(0) == 10);
    CHECK(shared.allocation(1) == 10);
}
