// endpoint_test.cc - addresses of sockets, and which of them a program connects to or listens on.
#include "common/config/endpoint.h"

#include "test/support/catch.h"

using namespace weir;
using Kind = SocketEndpoint::Kind;

TEST_CASE("an address of a socket has a kind, a host and a port") {
    struct Good {
        const char* text;
        Kind kind;
        const char* host;
        std::uint16_t port;
    };
    for (const Good& good :
         {Good{"tcp://10.0.0.1:5555", Kind::kIpv4, "10.0.0.1", 5555},
          Good{"tcp://[::1]:1", Kind::kIpv6, "::1", 1}, Good{"tcp://[::]:65535", Kind::kIpv6, "::", 65535},
          Good{"tcp://[fd00::1]:5555", Kind::kIpv6, "fd00::1", 5555},
          Good{"tcp://[fe80::1%eth0.7]:5555", Kind::kIpv6, "fe80::1%eth0.7", 5555},
          Good{"tcp://ctrl-1.example.com:5555", Kind::kName, "ctrl-1.example.com", 5555},
          Good{"tcp://*:5555", Kind::kAny, "*", 5555},
          Good{"ipc:///run/weir/admin/ctrl.ipc", Kind::kIpc, "/run/weir/admin/ctrl.ipc", 0}}) {
        CAPTURE(good.text);
        const auto endpoint = SocketEndpoint::parse(good.text);
        REQUIRE(endpoint);
        CHECK(endpoint->kind == good.kind);
        CHECK(endpoint->host == good.host);
        CHECK(endpoint->port == good.port);
    }
}

TEST_CASE("what no socket can use is no address") {
    for (const char* bad : {"",
                            "tcp://",
                            "tcp://:5555",
                            "tcp://a:0",
                            "tcp://a:65536",
                            "tcp://a:",
                            "tcp://a:+1",
                            "tcp://a",
                            "tcp://a:1:2",
                            "tcp://::1:5555",
                            "tcp://fd00::1:5555",
                            "tcp://[::1]",
                            "tcp://[::1:5555",
                            "tcp://::1]:5555",
                            "tcp://[]:5555",
                            "tcp://[10.0.0.1]:5555",
                            "tcp://[gg::1]:5555",
                            "tcp://[fe80::1%]:5555",
                            "tcp://[fe80::1%a b]:5555",
                            "tcp://[fe80::1%longer-than-fifteen]:5555",
                            "tcp://10.0.0.777:5555",
                            "tcp://10.0.0:5555",
                            "tcp://a b:5555",
                            "tcp://a/b:5555",
                            "tcp://-a:5555",
                            "tcp://a;b:5555",
                            "udp://a:1",
                            "ipc://x",
                            "ipc:///a/",
                            "ipc://@x"}) {
        CAPTURE(bad);
        CHECK_FALSE(SocketEndpoint::parse(bad));
    }
    CHECK_FALSE(SocketEndpoint::parse("ipc:///" + std::string(107, 'a')));
    CHECK_FALSE(SocketEndpoint::parse("tcp://" + std::string(254, 'a') + ":1"));
}

TEST_CASE("a program connects to names, and listens on addresses and interfaces") {
    CHECK(is_endpoint("tcp://ctrl.example.com:5555"));
    CHECK(is_endpoint("tcp://localhost:5555"));
    CHECK_FALSE(is_endpoint("tcp://*:5555"));
    CHECK(is_listen_endpoint("tcp://*:5555"));
    CHECK(is_listen_endpoint("tcp://eth0:5555"));
    CHECK(is_listen_endpoint("tcp://[::]:5555"));
    CHECK(is_listen_endpoint("ipc:///run/weir/admin/ctrl.ipc"));
    CHECK_FALSE(is_listen_endpoint("tcp://localhost:5555"));
    CHECK_FALSE(is_listen_endpoint("tcp://controller.example.com:5555"));
}
