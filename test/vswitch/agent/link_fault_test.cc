// link_fault_test.cc - which cause is named for which events of an attempt to connect.
#include "vswitch/agent/link_fault.h"

#include <initializer_list>

#include "test/support/catch.h"

using namespace weir;
using Event = LinkFault::Event;
using Kind = SocketEndpoint::Kind;

namespace {

bool says(const LinkFault& fault, const char* what) {
    return fault.text().find(what) != std::string::npos && fault.text().starts_with("tcp://ctrl:5555");
}

void attempt(LinkFault& fault, std::initializer_list<Event> events, bool ip6 = false) {
    fault.set_family(ip6);
    for (const Event event : events)
        fault.on_event(event);
    fault.on_event(Event::kRetried);
}

}  // namespace

TEST_CASE("a name without an address of either family is named when both were tried") {
    LinkFault fault("tcp://ctrl:5555", Kind::kName);
    CHECK(fault.text().empty());
    for (unsigned i = 0; i < 3; ++i)
        attempt(fault, {});
    CHECK(fault.text().empty());
    attempt(fault, {}, true);
    CHECK(says(fault, "does not resolve"));
}

TEST_CASE("a name with an address of one family alone is refused there") {
    const bool ip6 = GENERATE(false, true);
    LinkFault fault("tcp://ctrl:5555", Kind::kName);
    for (unsigned i = 0; i < 3; ++i) {
        attempt(fault, {}, !ip6);
        CHECK((i == 0 || says(fault, "no program listens")));
        attempt(fault, {Event::kSocket, Event::kClosed}, ip6);
        CHECK(says(fault, "no program listens"));
    }
}

TEST_CASE("a name that is refused in one family alone is not at fault") {
    LinkFault fault("tcp://ctrl:5555", Kind::kName);
    attempt(fault, {Event::kSocket, Event::kClosed});
    attempt(fault, {Event::kSocket, Event::kClosed});
    CHECK(fault.text().empty());
    fault.set_family(true);
    for (const Event event : {Event::kSocket, Event::kConnected, Event::kReady})
        fault.on_event(event);
    CHECK(fault.text().empty());
}

TEST_CASE("an address has one family, and its fault is no name's") {
    LinkFault fault("tcp://ctrl:5555", Kind::kIpv6);
    attempt(fault, {}, true);
    CHECK(says(fault, "family"));
    attempt(fault, {Event::kClosed}, true);
    CHECK(says(fault, "no program listens"));
}

TEST_CASE("a handshake that fails names the key, until the connection can be used") {
    LinkFault fault("tcp://ctrl:5555", Kind::kIpv4);
    attempt(fault, {Event::kSocket, Event::kConnected, Event::kHandshakeFailed, Event::kDisconnected});
    CHECK(says(fault, "server_key"));
    attempt(fault, {Event::kSocket, Event::kConnected, Event::kKeyRefused, Event::kDisconnected});
    CHECK(says(fault, "does not know this host's key"));
    for (const Event event : {Event::kSocket, Event::kConnected, Event::kReady})
        fault.on_event(event);
    CHECK(fault.text().empty());
    SECTION("a connection that ends is tried again, and only that can fail") {
        attempt(fault, {Event::kDisconnected});
        CHECK(fault.text().empty());
        attempt(fault, {Event::kSocket, Event::kClosed});
        CHECK(says(fault, "no program listens"));
    }
}
