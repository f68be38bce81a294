// views_test.cc - the texts of status, drops, vnic list and vnic show, to the letter.
#include "ctrl/cli/failure.h"
#include "ctrl/cli/status_view.h"
#include "ctrl/cli/vnic_view.h"
#include "test/ctrl/cli/canned.h"
#include "test/support/catch.h"

using namespace weir::cli;
using namespace weir::cli::test;
using nlohmann::json;

namespace {

json every_shape() {
    return json::parse(R"([null, 1, "x", [], {}, {"vnics": 5}, {"vnics": [1, null, {}]}, {"vnics": {"a": 1}},
        {"workers": "x", "uplink": [], "vnics": [{"name": {"a": 1}, "from_vm": {"x": "y"}, "features": [1]}]}])");
}

}  // namespace

TEST_CASE("status is one screen") {
    CHECK(status_text(canned_status(), kPipe) ==
          R"(host h1, weir 0.1.0, up 2 h 3 min, isolation on, accounting wire, poll busy
uplink net_tap0 (net_tap) up, 10 Gbit/s, 9 Gbit/s to give, MTU 1500
       received 1 k packets, sent 2 k, dropped: nic_queue_full 7
buffers 12000 free of 16384, 3 MAC entries

WORKER  CORE  VNICS   BUSY  CYCLES/PACKET  MEAN BURST
     0     1      2  42.0%            140        12.0

VNIC  STATE  WORKER  STEERING
vm1   up          0  software (net_tap has no rules)
vm2   down        0  hardware
)");
}

TEST_CASE("status of a switch without an uplink and vNICs says what to do next") {
    json status = canned_status();
    status["uplink"] = nullptr;
    status["vnics"] = json::array();
    const std::string text = status_text(status, kPipe);
    CHECK(text.find("uplink none: vNICs reach each other only\n") != std::string::npos);
    CHECK(text.find("no vNICs yet: weirctl vnic add name=vm1") != std::string::npos);
}

TEST_CASE("drops are listed by port, direction and reason") {
    CHECK(drops_text(canned_drops(), kPipe) ==
          R"(PORT    DIRECTION  REASON          PACKETS
vm1     from VM    foreign_mac           8
vm1     to VM      vm_ring_full       1234
uplink  -          nic_queue_full        7
)");
    CHECK(drops_text(json::parse(R"({"vnics": [{"name": "a", "from_vm": {}, "to_vm": {}}], "uplink": {}})"),
                     kPipe) == "nothing was dropped\n");
    CHECK(drops_text(json::parse(R"({"vnics": [], "uplink": {}, "workers": {"1": {"copies_ring_full": 5}}})"),
                     kPipe) ==
          "PORT      DIRECTION  REASON            PACKETS\nworker 1  -          copies_ring_full        5\n");
}

TEST_CASE("the list of vNICs shows promises in the words of the configuration") {
    CHECK(vnic_list_text(canned_list(), kPipe) ==
          R"(NAME  STATE  WORKER  MAC                VLAN  RESERVATION         LIMIT  SHARES  QUEUES  PORT
vm1   up          0  52:54:00:00:00:01    10        2Gbit  8Gbit, 2Mpps     100       2  /run/weir/vm1.sock
vm2   down        0  -                     0         none          none     100       1  net_tap1
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

TEST_CASE("one vNIC is shown with its promise, its traffic and what held it back") {
    CHECK(vnic_text(canned_vnic(), "wire", kPipe) == R"(vm1: up, worker 0, tenant A
  port          /run/weir/vm1.sock (vhost-user, QEMU listens), queue pairs 2, MTU 1500
  address       52:54:00:00:00:01, VLAN 10, anti-spoofing on
  promise       reservation 2Gbit, limit 8Gbit, 2Mpps, shares 100, cycle shares 50
  features      mrg_rxbuf ring_packed
  steering      software (net_tap has no rules)
  held back     1.5 s: own limit 1 s, uplink 500 ms, buffers 0 ns
  queue delay   p50 1.8 us, p99 9.4 us, max 21 us
  switch        140 k cycles, mean burst 12.5, ring errors 0
  PACKETS (BYTES)       OFFERED      ADMITTED     DELIVERED       QUEUED      DROPPED
  from VM          1 k (1.52 M)  990 (1.51 M)  980 (1.49 M)  10 (15.2 k)  10 (15.2 k)
  to VM              500 (50 k)             -    500 (50 k)            -        0 (0)
  dropped from  foreign_mac 8, queue_full 2
  dropped to    nothing
  accounting    bytes are on the wire (frame + 24)
)");
}

TEST_CASE("answers of another shape are shown with dashes and never throw") {
    for (const json& shape : every_shape()) {
        INFO(shape.dump());
        CHECK_NOTHROW(status_text(shape, kPipe));
        CHECK_NOTHROW(drops_text(shape, kPipe));
        CHECK_NOTHROW(vnic_list_text(shape, kPipe));
        CHECK_NOTHROW(vnic_text(shape, "wire", kPipe));
    }
    CHECK(vnic_text(json::object(), "l2", kPipe).find("bytes are L2 frames") != std::string::npos);
}

TEST_CASE("colour is used on a terminal only") {
    Terminal terminal;
    terminal.colour = true;
    CHECK(status_text(canned_status(), terminal).find("\x1b[32mup\x1b[0m") != std::string::npos);
    CHECK(status_text(canned_status(), kPipe).find('\x1b') == std::string::npos);
}

TEST_CASE("times since start are short") {
    CHECK(uptime_text(5.9) == "5 s");
    CHECK(uptime_text(184) == "3 min 4 s");
    CHECK(uptime_text(90'000) == "1 d 1 h");
    CHECK(uptime_text(-1) == "-");
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
    CHECK_THROWS_AS(object_of_pairs({"disk.limit=1tokens", "disk.limit=2tokens"}), Failure);
    CHECK_THROWS_AS(object_of_pairs({"limit"}), Failure);
    CHECK_THROWS_AS(object_of_pairs({"=5"}), Failure);
    CHECK_THROWS_AS(object_of_pairs({"a=1", "a=2"}), Failure);
}
