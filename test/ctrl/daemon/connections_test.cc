// connections_test.cc - how many connections a key has, by events of sockets and messages, on a manual clock.
#include "ctrl/daemon/connections.h"

#include "test/support/catch.h"

using namespace weir;

TEST_CASE("a key has 4 connections: the older ones stay, and one that ends makes room") {
    Connections connections(9);
    for (int descriptor = 10; descriptor < 16; ++descriptor)
        connections.on_accepted(descriptor, 0);
    for (int descriptor = 10; descriptor < 14; ++descriptor)
        CHECK(connections.on_message(descriptor, "h1"));
    CHECK_FALSE(connections.on_message(14, "h1"));
    CHECK(connections.on_message(14, "h2"));  // another key's
    CHECK(connections.on_message(10, "h1"));
    CHECK_FALSE(connections.may_open("h1", 0));
    connections.on_closed(11);
    CHECK(connections.may_open("h1", 0));
    CHECK(connections.on_message(15, "h1"));
    CHECK_FALSE(connections.may_open("h1", 0));
}

TEST_CASE("a key opens 8 connections at once, then 2 each second") {
    Connections connections(9);
    unsigned opened = 0;
    for (int i = 0; i < 20; ++i)
        opened += connections.may_open("h1", kNanosPerSec);
    CHECK(opened == 8);
    CHECK(connections.may_open("h2", kNanosPerSec));
    CHECK(connections.may_open("h1", 3 * kNanosPerSec / 2));
    CHECK_FALSE(connections.may_open("h1", 3 * kNanosPerSec / 2));
}

TEST_CASE("a connection without a message for 10 s is to be ended, one with a message never") {
    Connections connections(9);
    connections.on_accepted(10, 0);
    connections.on_accepted(11, 0);
    CHECK(connections.on_message(11, ""));
    CHECK(connections.silent(Connections::kSilentMax - 1).empty());
    CHECK(connections.silent(Connections::kSilentMax) == std::vector<int>{10});
    CHECK(connections.silent(kNever) == std::vector<int>{10});
}

TEST_CASE(
    "messages of a connection that has ended count for none, and a descriptor's next owner is another one") {
    Connections connections(9);
    connections.on_accepted(10, 0);
    CHECK(connections.on_message(10, "h1"));
    connections.on_closed(10);
    for (int late = 0; late < 10; ++late)
        CHECK(connections.on_message(10, "h1"));
    CHECK_FALSE(connections.has(10));
    connections.on_accepted(10, 1);
    CHECK(connections.on_message(10, "h1"));  // late, of the one before
    CHECK(connections.on_message(10, "h2"));
    for (int descriptor = 11; descriptor < 15; ++descriptor) {
        connections.on_accepted(descriptor, 1);
        CHECK(connections.on_message(descriptor, "h1"));
    }
    connections.on_accepted(10, 2);  // its end was not seen
    CHECK(connections.on_message(10, "h2"));
}

TEST_CASE("of plain connections as many are served as the cluster's hosts need") {
    CHECK(plain_peers_max(2) == 72);
    Connections connections(9);
    for (int descriptor = 0; descriptor < 12; ++descriptor) {
        connections.on_accepted(descriptor, 0);
        CHECK(connections.on_message(descriptor, "") == (descriptor < 9));
    }
}
