// vnic_test.cc - vnic list and vnic show, character by character; KEY=VALUE words.
#include "ctrl/cli/commands.h"
#include "ctrl/cli/failure.h"
#include "test/ctrl/cli/canned.h"
#include "test/support/catch.h"

using namespace weir::cli;
using namespace weir::cli::test;
using nlohmann::json;

TEST_CASE("the list of vNICs shows rates as the configuration has them") {
    CHECK(vnic_list_text(canned_list(), kPipe) ==
          R"(NAME  STATE  WORKER  MAC                VLAN     RESERVATION         LIMIT  SHARES  QUEUES  PORT
vm1   up          0  52:54:00:00:00:01    10  2Gbit, 500kpps  8Gbit, 2Mpps     100       2  /run/weir/vm/vm1.sock
vm2   down        0  -                     0            none          none     100       1  net_tap1
)");
    CHECK(vnic_list_text({{"vnics", json::array()}}, kPipe) == "no vNICs\n");
}

TEST_CASE("a vNIC's guarantee is shown as it is now") {
    const auto line = [](const char* guarantee) {
        nlohmann::json vnic = canned_vnic();
        vnic["guarantee"] = nlohmann::json::parse(guarantee);
        const std::string text = vnic_text(vnic, "wire", kPipe);
        const std::size_t from = text.find("  guarantee");
        return text.substr(from, text.find('\n', from) - from);
    };
    CHECK(line(R"({"kind": "strict", "rate_bps": 2000000000})") == "  guarantee     strict");
    CHECK(line(R"({"kind": "dynamic", "rate_bps": 600000000, "dynamic": {"size_bytes": 10000000000,
                   "time_ns": 100000000000, "left_bytes": 3000000000, "time_left_ns": 40000000000}})") ==
          "  guarantee     dynamic: 10 GB in 100 s; left 3 GB in 40 s, now 600 Mbit/s");
    CHECK(line(R"({"kind": "fairness", "rate_bps": 0, "dynamic": {"size_bytes": 10000000000,
                   "time_ns": 100000000000, "left_bytes": 0, "time_left_ns": 40000000000}})") ==
          "  guarantee     dynamic, now fairness: 10 GB in 100 s; left 0B in 40 s, now 0 bit/s");
}

TEST_CASE("a guest's addresses are shown with what it has learned") {
    const auto line = [](const char* guard) {
        nlohmann::json vnic = canned_vnic();
        vnic["guard"] = nlohmann::json::parse(guard);
        const std::string text = vnic_text(vnic, "wire", kPipe);
        const std::size_t from = text.find("  addresses");
        return text.substr(from, text.find('\n', from) - from);
    };
    CHECK(line("null") == "  addresses     any: they are not checked");
    CHECK(
        line(R"({"addresses": ["10.0.0.5", "fd00:5::/64"], "dhcp": null, "router": false, "learned": []})") ==
        "  addresses     10.0.0.5, fd00:5::/64");
    CHECK(line(R"({"addresses": [], "dhcp": "client", "router": false, "learned": []})") ==
          "  addresses     none learned yet, DHCP client");
    CHECK(line(R"({"addresses": [], "dhcp": "client", "router": false, "learned": [
                   {"address": "10.0.0.7", "from": "dhcp", "left_ns": 3540000000000},
                   {"address": "fd00::7", "from": "dhcpv6", "left_ns": null}]})") ==
          "  addresses     10.0.0.7 (dhcp, 3540 s left), fd00::7 (dhcpv6), DHCP client");
    CHECK(line(R"({"addresses": [], "dhcp": null, "router": true, "learned": []})") ==
          "  addresses     any, router");
}

TEST_CASE("one vNIC is shown with its rates, its traffic and what held it back") {
    CHECK(vnic_text(canned_vnic(), "wire", kPipe) == R"(vm1: up, worker 0, tenant A
  port          /run/weir/vm/vm1.sock (vhost-user, QEMU listens), queue pairs 2, MTU 1500
  address       52:54:00:00:00:01, VLAN 10, anti-spoofing on
  rates         reservation 2Gbit, 500kpps, limit 8Gbit, 2Mpps, shares 100, cycle shares 50
  features      mrg_rxbuf ring_packed
  steering      software (net_tap has no rules)
  held back     1.5 s: own limit 1 s, uplink 500 ms, buffers 0 ns, receivers 0 ns
  queue delay   p50 1.8 us, p99 9.4 us, max 21 us
  worker        140 k cycles, mean burst 12.5, ring errors 0
  PACKETS (BYTES)       OFFERED      ADMITTED     DELIVERED       QUEUED      DROPPED
  from VM          1 k (1.52 M)  990 (1.51 M)  980 (1.49 M)  10 (15.2 k)  10 (15.2 k)
  to VM              500 (50 k)             -    500 (50 k)            -        0 (0)
  drops from VM foreign_mac 8, queue_full 2
  drops to VM   none
  accounting    bytes on the wire (frame + 24)
)");
}

TEST_CASE("faults of a ring and of a front-end are shown while there are any") {
    json vnic = canned_vnic();
    vnic["front_end_fault"] = nullptr;
    vnic["ring_fault"] = nullptr;
    CHECK(vnic_text(vnic, "wire", kPipe) == vnic_text(canned_vnic(), "wire", kPipe));
    vnic["front_end_fault"] = "disconnected the front-end: ring 2; allowed: 0 to 1";
    vnic["ring_fault"] = "receive ring of pair 0: ...";
    const std::string text = vnic_text(vnic, "wire", kPipe);
    CHECK(text.find("\n  front-end     disconnected the front-end: ring 2; allowed: 0 to 1\n") !=
          std::string::npos);
    CHECK(text.find("\n  stopped       receive ring of pair 0: ...\n") != std::string::npos);
}

TEST_CASE("what a vNIC may receive is shown where it differs from what it may send") {
    json vnic = canned_vnic();
    vnic["receive_limit_bps"] = nullptr;
    CHECK(vnic_text(vnic, "wire", kPipe).find("  receives ") == std::string::npos);
    vnic["receive_reservation_bps"] = 1'000'000'000;
    vnic["receive_limit_bps"] = 3'000'000'000;
    vnic["receive_shares"] = 7;
    CHECK(vnic_text(vnic, "wire", kPipe)
              .find("  receives      reservation 1 Gbit/s, limit 3 Gbit/s, shares 7\n") != std::string::npos);
}

TEST_CASE("a vNIC is shown with the origin of its values, where its switch has a controller") {
    nlohmann::json vnic = canned_vnic();
    CHECK(vnic_text(vnic, "wire", kPipe).find("  promise") == std::string::npos);
    const auto line = [&vnic](const char* promise) {
        vnic["promise"] = nlohmann::json::parse(promise);
        const std::string text = vnic_text(vnic, "wire", kPipe);
        const std::size_t from = text.find("  promise");
        return text.substr(from, text.find('\n', from) - from);
    };
    CHECK(line(R"({"from": "controller", "differences": []})") == "  promise       of the controller");
    CHECK(
        line(R"({"from": "kept", "differences": [{"key": "reservation", "promised": "1Gbit", "file": "2Gbit"},
                   {"key": "shares", "promised": "100", "file": "300"}]})") ==
        "  promise       of the controller, kept from an earlier run; its file differs: reservation 1Gbit "
        "(file: 2Gbit); shares 100 (file: 300)");
    CHECK(line(R"({"from": "file", "differences": []})") ==
          "  promise       of the switch's file: the controller has made none");
}

TEST_CASE("key=value pairs become an object of the right types") {
    CHECK(
        object_of_pairs(
            {"limit=2Gbit", "shares=200", "tso=false", "limit_pps=none", "device=net_tap0,iface=x=y"}) ==
        json::parse(
            R"({"limit": "2Gbit", "shares": 200, "tso": false, "limit_pps": null, "device": "net_tap0,iface=x=y"})"));
    CHECK(object_of_pairs({"mtu=-5", "name=007", "tenant="}) ==
          json::parse(R"({"mtu": -5, "name": 7, "tenant": ""})"));
    CHECK(object_of_pairs({"disk.limit=5ktokens", "my.cache.burst=1s", "disk.shares=300", "limit=none"}) ==
          json{{"limit", nullptr},
               {"appliances",
                {{{"name", "disk"}, {"limit", "5ktokens"}, {"shares", 300}},
                 {{"name", "my.cache"}, {"burst", "1s"}}}}});
    CHECK(object_of_pairs({"addresses=10.0.0.5,fd00:5::/64", "dhcp=client", "router=true"}) ==
          json::parse(R"({"addresses": ["10.0.0.5", "fd00:5::/64"], "dhcp": "client", "router": true})"));
    CHECK(object_of_pairs({"guarantee_kind=dynamic", "size=75GB", "mac=52:54:00:00:00:01", "vlan=7"}) ==
          json::parse(
              R"({"guarantee_kind": "dynamic", "size": "75GB", "mac": "52:54:00:00:00:01", "vlan": 7})"));
    CHECK(object_of_pairs({"addresses=none"}) == json{{"addresses", nullptr}});
    CHECK_THROWS_AS(object_of_pairs({"disk.limit=1tokens", "disk.limit=2tokens"}), Failure);
    CHECK_THROWS_AS(object_of_pairs({"limit"}), Failure);
    CHECK_THROWS_AS(object_of_pairs({"=5"}), Failure);
    CHECK_THROWS_AS(object_of_pairs({"a=1", "a=2"}), Failure);
}

TEST_CASE("a vNIC of another shape is shown with dashes and never throws") {
    for (const json& shape : canned_shapes()) {
        INFO(shape.dump());
        CHECK_NOTHROW(vnic_list_text(shape, kPipe));
        CHECK_NOTHROW(vnic_text(shape, "wire", kPipe));
    }
    CHECK(vnic_text(json::object(), "l2", kPipe).find("bytes of L2 frames") != std::string::npos);
}
