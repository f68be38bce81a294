// link_share_test.cc - a capacity that changes while workers share it.
#include "vswitch/qos/link_share.h"

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

TEST_CASE("a worker's reservations hold as a whole, though it is allocated what it used lately") {
    LinkShare shared(2, 1000);
    shared.report(0, {.reservation = 600, .shares = 1, .used = 10, .backlogged = false});
    shared.report(1, {.reservation = 400, .shares = 1, .used = 900, .backlogged = true});
    shared.divide();
    CHECK(shared.allocation(0) < 100);
    CHECK(shared.reservable(0) == 600);
    CHECK(shared.reservable(1) == 400);
    shared.report(0, {.reservation = 600, .shares = 1, .used = 60, .backlogged = true});
    shared.divide();  // its worker is backlogged, and one period later has its reservation
    CHECK(shared.allocation(0) == 600);
}

TEST_CASE("reservations beyond the capacity hold in proportion") {
    LinkShare shared(2, 1000);
    shared.report(0, {.reservation = 1500, .shares = 1, .used = 0, .backlogged = false});
    shared.report(1, {.reservation = 500, .shares = 1, .used = 900, .backlogged = true});
    shared.divide();
    CHECK(shared.reservable(0) == 750);
    CHECK(shared.reservable(1) == 250);
}
