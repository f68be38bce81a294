// flow_test.cc - what flow list and why make of two readings, to the letter.
#include <algorithm>

#include "ctrl/cli/flow_view.h"
#include "ctrl/cli/why_view.h"
#include "test/ctrl/cli/canned.h"
#include "test/support/catch.h"

using namespace weir::cli;
using namespace weir::cli::test;
using nlohmann::json;

namespace {

json flows() {
    return flow_sample(canned_flows(), canned_flows_later());
}

json why() {
    return why_sample(canned_why(), canned_why_later());
}

const json& bucket(const json& sample, const char* name, const json& appliance = nullptr) {
    const json& buckets = sample.at("buckets");
    const auto found = std::find_if(buckets.begin(), buckets.end(), [&](const json& each) {
        return each.at("bucket") == name && each.at("appliance") == appliance;
    });
    REQUIRE(found != buckets.end());
    return *found;
}

}  // namespace

TEST_CASE("a flow's rates are growth over the switch's own time, resource by resource") {
    const json sample = flows();
    CHECK(sample["seconds"] == 2.0);
    REQUIRE(sample["flows"].size() == 2);
    const json& flow = sample["flows"][0];
    CHECK(flow["vnic"] == "db");
    CHECK(flow["used_per_second"] ==
          json{{"appliance", 800.0}, {"uplink", 800.0}, {"downlink", 4'800.0}, {"cycles", 8'000.0}});
    CHECK(flow["limit_per_second"] ==
          json{{"appliance", 800}, {"uplink", nullptr}, {"downlink", 5'000}, {"cycles", nullptr}});
    CHECK(flow["requests_per_second"] == 10.0);
    CHECK(flow["total"]["requests"] == canned_flows_later()["flows"][0]["requests"]);
    CHECK(flow["total"]["used"] == canned_flows_later()["flows"][0]["used"]);
    CHECK(flow["blocked_percent"] ==
          json{{"appliance", 41.0}, {"uplink", 0.0}, {"downlink", 10.25}, {"cycles", 0.0}, {"window", 0.0}});
    CHECK(flow["held_back_by"] == "appliance");
    CHECK(flow["queued"]["downlink"] == 1'188);
    CHECK(sample["flows"][1]["held_back_by"].is_null());
}

TEST_CASE("what holds a flow back is the bucket that blocked longest, not the one that is fullest") {
    json after = canned_flows_later();
    after["flows"][0]["blocked_ns"]["downlink"] = 2'900'000'000;
    CHECK(flow_sample(canned_flows(), after)["flows"][0]["held_back_by"] == "downlink");
}

TEST_CASE("flows of a switch that restarted, or of a new vNIC, count from zero") {
    json before = canned_flows();
    before["uptime_s"] = 5'000.0;
    before["flows"][0]["used"]["appliance"] = 1'000'000;
    const json restarted = flow_sample(before, canned_flows_later());
    CHECK(restarted["seconds"] == 102.0);
    CHECK(restarted["flows"][0]["used_per_second"]["appliance"].get<double>() == Approx(9'600 / 102.0));
    before = canned_flows();
    before["flows"] = json::array();
    CHECK(flow_sample(before, canned_flows_later())["flows"][1]["used_per_second"]["appliance"] == 2'600.0);
}

TEST_CASE("flow list is a line for each flow, then the appliances") {
    CHECK(
        flow_text(flows(), kPipe) ==
        R"(VNIC   APPLIANCE  REQUESTS/S                        TOKENS      UPLINK                  DOWNLINK  HELD BACK BY     QUEUED (TOKENS)  OUTSTANDING (TOKENS)  LATENCY P50     P99
db     disk               10  800 tokens/s of 800 tokens/s  6.4 kbit/s  38.4 kbit/s of 40 kbit/s  appliance 41.0%          2 (160)                1 (80)       210 us  1.9 ms
batch  disk              7.5  600 tokens/s of 800 tokens/s  4.8 kbit/s  28.8 kbit/s of 40 kbit/s  -                        2 (160)                1 (80)       210 us  1.9 ms

APPLIANCE  ADDRESS          PROTOCOL   OUTSTANDING (TOKENS)  WINDOW  COST
disk       10.0.0.5:10809   nbd                     2 (160)       -  ssd_file_store
cache      [fd00::6]:11211  memcached                 0 (0)    64 k  /etc/weir/cache.json
)");
}

TEST_CASE("flow list of a switch without appliances, or of vNICs without, says how they come") {
    CHECK(flow_text(flow_sample(json::object(), {{"appliances", json::array()}}), kPipe)
              .find("the configuration names them") != std::string::npos);
    json none = canned_flows();
    none["flows"] = json::array();
    const std::string text = flow_text(flow_sample(none, none), kPipe);
    CHECK(text.find("no flows: no vNIC here has a part of an appliance") == 0);
    CHECK(text.find("[fd00::6]:11211") != std::string::npos);
}

TEST_CASE("why has every bucket on the vNIC's ways, with who else used it") {
    const json sample = why();
    CHECK(sample["vnic"] == "db");
    CHECK(sample["offered_bps"] == 3e8);
    CHECK(sample["delivered_bps"] == 2e8);
    CHECK(sample["destination_congested_per_second"] == 12.0);
    CHECK(sample["buckets"].size() == 6);
    const json& uplink = bucket(sample, "uplink");
    CHECK(uplink["blocked_percent"] == 50.0);
    CHECK(uplink["used"] == 9e8);
    CHECK(uplink["limit"] == 900'000'000);
    CHECK(uplink["others"] == json::array({{{"vnic", "batch"}, {"used", 6e8}}}));  // web sent nothing
    const json& limit = bucket(sample, "limit");
    CHECK(limit["blocked_percent"] == 12.5);
    CHECK(limit["used"] == 3e8);
    CHECK(limit["limit"] == 8'000'000'000);
    const json& tokens = bucket(sample, "appliance", "disk");
    CHECK(tokens["unit"] == "tokens/s");
    CHECK(tokens["blocked_percent"] == 41.0);
    CHECK(tokens["used"] == 800.0);
    CHECK(tokens["others"] == json::array({{{"vnic", "batch"}, {"used", 600.0}}}));
    const json& back = bucket(sample, "downlink", "disk");
    CHECK(back["used"] == 38'400.0);
    CHECK(back["limit"] == 40'000.0);
    CHECK(bucket(sample, "uplink", "disk")["limit"].is_null());
    CHECK(sample["held_back_by"] ==
          json{{"bucket", "uplink"}, {"appliance", nullptr}, {"blocked_percent", 50.0}});
}

TEST_CASE("why says in words what held the vNIC back, how long, and what would change it") {
    CHECK(why_text(why(), kPipe) == R"(db: up, offered 300 Mbit/s, delivered 200 Mbit/s, over 2 s
held back most by uplink: 50.0% of the time

BUCKET           BLOCKED  USED                          WHO ELSE
own limit          12.5%  300 Mbit/s of 8 Gbit/s        -
uplink             50.0%  900 Mbit/s of 900 Mbit/s      batch 600 Mbit/s
buffers             0.0%  -                             -
disk: appliance    41.0%  800 tokens/s of 800 tokens/s  batch 600 tokens/s
disk: uplink        0.0%  6.4 kbit/s                    batch 4.8 kbit/s
disk: downlink     10.2%  38.4 kbit/s of 40 kbit/s      batch 28.8 kbit/s

its ring was left alone 12.5% of the time because of its own limit, 8 Gbit/s, 2 Mpps: weirctl vnic set db limit=RATE
its ring was left alone 50.0% of the time because its backlog towards the uplink was full: a reservation or more shares let it pass earlier
requests to disk waited for tokens at the appliance 41.0% of the time: its part is 800 tokens/s
requests to disk waited for the way back 10.2% of the time: its part is 40 kbit/s
1 destination has asked it for a lower rate (feedback); 12 pps were dropped as destination_congested: the receiving side is short, or the controller's rate for it; not this host
)");
}

TEST_CASE("why says that nothing held a vNIC back, that no guest is there, or that isolation is off") {
    json before = canned_why();
    json after = canned_why();
    after["uptime_s"] = 101.0;
    after["flows"] = json::array();
    CHECK(why_text(why_sample(before, after), kPipe) ==
          R"(db: up, offered 0 bit/s, delivered 0 bit/s, over 1 s
nothing held it back

BUCKET     BLOCKED  USED                   WHO ELSE
own limit     0.0%  0 bit/s of 8 Gbit/s    -
uplink        0.0%  0 bit/s of 900 Mbit/s  -
buffers       0.0%  -                      -
)");
    after["vnic"]["state"] = "down";
    after["isolation"] = false;
    const std::string text = why_text(why_sample(before, after), kPipe);
    CHECK(text.find("no guest is connected: weirctl qemu-args db\n") != std::string::npos);
    CHECK(text.find("isolation is off") != std::string::npos);
}

TEST_CASE("of many others the three who use most are named") {
    json after = canned_why_later();
    for (int i = 1; i <= 5; ++i)
        after["others"].push_back({{"name", "n" + std::to_string(i)}, {"uplink_bytes", i * 250'000'000}});
    const json sample = why_sample(canned_why(), after);
    CHECK(bucket(sample, "uplink")["others"].size() == 6);
    CHECK(why_text(sample, kPipe).find("n5 5 Gbit/s, n4 4 Gbit/s, n3 3 Gbit/s and 3 more\n") !=
          std::string::npos);
}

TEST_CASE("a limit in packets is shown in packets") {
    json before = canned_why();
    json after = canned_why_later();
    after["vnic"]["limit_bps"] = nullptr;
    after["vnic"]["from_vm"]["admitted"]["packets"] = 990 + 3'000'000;
    const json sample = why_sample(before, after);
    CHECK(bucket(sample, "limit")["used"] == 1.5e6);
    CHECK(bucket(sample, "limit")["unit"] == "packets/s");
    const std::string text = why_text(sample, kPipe);
    CHECK(text.find("1.5 Mpps of 2 Mpps") != std::string::npos);
    CHECK(text.find("its own limit, 2 Mpps: weirctl vnic set db limit_pps=RATE") != std::string::npos);
}

TEST_CASE("readings of another shape give dashes and never throw") {
    for (
        const char* shape :
        {"null", "5", "[]", "{}",
         R"({"flows": [1, {}, {"used": 5}, {"appliance": {}}], "appliances": [1, {"port": "x"}]})",
         R"({"vnic": 5, "others": [1], "uplink": [], "flows": {"a": 1}, "uptime_s": "x"})",
         R"({"vnic": {"name": {"a": 1}, "limit_bps": "x"}, "others": {"x": {"name": 1, "uplink_bytes": "y"}}})"}) {
        INFO(shape);
        const json odd = json::parse(shape);
        for (const auto& [before, after] :
             {std::pair{odd, odd}, {canned_why(), odd}, {odd, canned_why_later()}}) {
            CHECK_NOTHROW(flow_text(flow_sample(before, after), kPipe));
            CHECK_NOTHROW(why_text(why_sample(before, after), kPipe));
        }
        CHECK_NOTHROW(flow_text(odd, kPipe));
        CHECK_NOTHROW(why_text(odd, kPipe));
    }
}

TEST_CASE("why names the appliance's window, who has how much of it, and a limit in cycles") {
    json before = canned_why();
    json after = canned_why_later();
    for (json* reading : {&before, &after}) {
        (*reading)["appliances"][0]["window_tokens"] = 160;
        (*reading)["flows"][0]["limit"]["cycles"] = 50'000;
    }
    after["flows"][0]["blocked_ns"]["window"] = 1'800'000'000;
    after["flows"][0]["blocked_ns"]["cycles"] = 20'000'000;
    const json sample = why_sample(before, after);
    const json& window = bucket(sample, "window", "disk");
    CHECK(window["blocked_percent"] == 90.0);
    CHECK(window["used"] == 160);
    CHECK(window["limit"] == 160);
    CHECK(window["others"] == json::array({{{"vnic", "batch"}, {"used", 80.0}}}));
    CHECK(sample["held_back_by"]["bucket"] == "window");
    const std::string text = why_text(sample, kPipe);
    CHECK(text.find(
              "requests to disk waited for others to be answered 90.0% of the time: no more than 160 tokens "
              "may be outstanding there") != std::string::npos);
    CHECK(
        text.find(
            "requests to disk waited for cycles of the switch 1.0% of the time: its part is 50 kcycles/s") !=
        std::string::npos);
}
