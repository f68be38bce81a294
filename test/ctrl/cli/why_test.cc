// why_test.cc - buckets and sentences of why, character by character.
#include <algorithm>

#include "ctrl/cli/commands.h"
#include "test/ctrl/cli/canned.h"
#include "test/support/catch.h"

using namespace weir::cli;
using namespace weir::cli::test;
using nlohmann::json;

namespace {

json why() {
    return why_sample(canned_why(), canned_why_later());
}

json bucket(const json& sample, const char* name, const json& appliance = nullptr) {
    const json& buckets = sample.at("buckets");
    const auto found = std::find_if(buckets.begin(), buckets.end(), [&](const json& each) {
        return each.at("bucket") == name && each.at("appliance") == appliance;
    });
    REQUIRE(found != buckets.end());
    return *found;
}

}  // namespace

TEST_CASE("why has every bucket on the vNIC's path, with its other users") {
    const json sample = why();
    CHECK(sample["vnic"] == "db");
    CHECK(sample["offered_bps"] == 3e8);
    CHECK(sample["delivered_bps"] == 2e8);
    CHECK(sample["destination_congested_per_second"] == 12.0);
    CHECK(sample["buckets"].size() == 7);
    const json uplink = bucket(sample, "uplink");
    CHECK(uplink["blocked_percent"] == 50.0);
    CHECK(uplink["used"] == 9e8);
    CHECK(uplink["limit"] == 900'000'000);
    CHECK(uplink["others"] == json::array({{{"vnic", "batch"}, {"used", 6e8}}}));  // web sent nothing
    const json limit = bucket(sample, "limit");
    CHECK(limit["blocked_percent"] == 12.5);
    CHECK(limit["used"] == 3e8);
    CHECK(limit["limit"] == 8'000'000'000);
    const json tokens = bucket(sample, "appliance", "disk");
    CHECK(tokens["unit"] == "tokens/s");
    CHECK(tokens["blocked_percent"] == 41.0);
    CHECK(tokens["used"] == 800.0);
    CHECK(tokens["others"] == json::array({{{"vnic", "batch"}, {"used", 600.0}}}));
    const json back = bucket(sample, "downlink", "disk");
    CHECK(back["used"] == 38'400.0);
    CHECK(back["limit"] == 40'000.0);
    CHECK(bucket(sample, "uplink", "disk")["limit"].is_null());
    CHECK(sample["held_back_by"] ==
          json{{"bucket", "uplink"}, {"appliance", nullptr}, {"blocked_percent", 50.0}});
}

TEST_CASE("why explains in sentences what held the vNIC back, how long, and what would change it") {
    CHECK(why_text(why(), kPipe) == R"(db: up, offered 300 Mbit/s, delivered 200 Mbit/s, over 2 s
held back most by uplink: 50.0% of the time

BUCKET           BLOCKED  USED                          OTHER USERS
own limit          12.5%  300 Mbit/s of 8 Gbit/s        -
uplink             50.0%  900 Mbit/s of 900 Mbit/s      batch 600 Mbit/s
buffers             0.0%  -                             -
receiver            0.0%  -                             -
disk: appliance    41.0%  800 tokens/s of 800 tokens/s  batch 600 tokens/s
disk: uplink        0.0%  6.4 kbit/s                    batch 4.8 kbit/s
disk: downlink     10.2%  38.4 kbit/s of 40 kbit/s      batch 28.8 kbit/s

its ring was not polled 12.5% of the time because of its own limit, 8 Gbit/s, 2 Mpps; to raise it: weirctl vnic set db limit=RATE
its ring was not polled 50.0% of the time because its backlog for the uplink was full; with a reservation or more shares it is served earlier: weirctl vnic set db reservation=RATE shares=N
requests to disk waited for tokens of the appliance 41.0% of the time: their limit is 800 tokens/s
requests to disk waited for bytes of the downlink 10.2% of the time: their limit is 40 kbit/s
1 destination advertises a lower rate to it (feedback); 12 pps were dropped as destination_congested: the bottleneck is at the destination, or in the rate that the controller allocates for it, not on this host
)");
}

TEST_CASE("why reports that nothing held a vNIC back, that no guest is connected, or that isolation is off") {
    json before = canned_why();
    json after = canned_why();
    after["uptime_s"] = 101.0;
    after["flows"] = json::array();
    CHECK(why_text(why_sample(before, after), kPipe) ==
          R"(db: up, offered 0 bit/s, delivered 0 bit/s, over 1 s
no bucket held it back

BUCKET     BLOCKED  USED                   OTHER USERS
own limit     0.0%  0 bit/s of 8 Gbit/s    -
uplink        0.0%  0 bit/s of 900 Mbit/s  -
buffers       0.0%  -                      -
receiver      0.0%  -                      -
)");
    after["vnic"]["state"] = "down";
    after["isolation"] = false;
    const std::string text = why_text(why_sample(before, after), kPipe);
    CHECK(text.find("no guest is connected; to connect one: weirctl qemu-args db\n") != std::string::npos);
    CHECK(text.find("isolation is off") != std::string::npos);
}

TEST_CASE("of many other users the three that use most are named") {
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
    CHECK(text.find("its own limit, 2 Mpps; to raise it: weirctl vnic set db limit_pps=RATE") !=
          std::string::npos);
}

TEST_CASE("why names the appliance's window, its users, and a limit in cycles") {
    json before = canned_why();
    json after = canned_why_later();
    for (json* reading : {&before, &after}) {
        (*reading)["appliances"][0]["window_tokens"] = 160;
        (*reading)["flows"][0]["limit"]["cycles"] = 50'000;
    }
    after["flows"][0]["blocked_ns"]["window"] = 1'800'000'000;
    after["flows"][0]["blocked_ns"]["cycles"] = 20'000'000;
    const json sample = why_sample(before, after);
    const json window = bucket(sample, "window", "disk");
    CHECK(window["blocked_percent"] == 90.0);
    CHECK(window["used"] == 160);
    CHECK(window["limit"] == 160);
    CHECK(window["others"] == json::array({{{"vnic", "batch"}, {"used", 80.0}}}));
    CHECK(sample["held_back_by"]["bucket"] == "window");
    const std::string text = why_text(sample, kPipe);
    CHECK(text.find(
              "requests to disk waited for responses to earlier ones 90.0% of the time: at most 160 tokens "
              "may be outstanding there") != std::string::npos);
    CHECK(text.find("requests to disk waited for cycles of the worker 1.0% of the time: their limit is 50 "
                    "kcycles/s") != std::string::npos);
}

TEST_CASE("replies to why of another shape give dashes and never throw") {
    for (const char* shape : kOddReadings) {
        INFO(shape);
        const json odd = json::parse(shape);
        for (const auto& [before, after] :
             {std::pair{odd, odd}, {canned_why(), odd}, {odd, canned_why_later()}}) {
            CHECK_NOTHROW(why_text(why_sample(before, after), kPipe));
        }
        CHECK_NOTHROW(why_text(odd, kPipe));
    }
}

TEST_CASE("why explains a refused vNIC by the controller's reason") {
    json before = canned_why();
    json after = canned_why();
    after["uptime_s"] = 101.0;
    after["flows"] = json::array();
    before["vnic"]["held_back_ns"]["refused"] = 0;
    after["vnic"]["held_back_ns"]["refused"] = 1'000'000'000;
    after["vnic"]["refusal"] = "host h2 has it";
    const json sample = why_sample(before, after);
    CHECK(sample["refusal"] == "host h2 has it");
    CHECK(sample["held_back_by"]["bucket"] == "refused");
    const std::string text = why_text(sample, kPipe);
    CHECK(text.find("\nthe controller refuses it: host h2 has it\n") != std::string::npos);
    CHECK(text.find("its ring was not polled 100.0% of the time because the controller refuses it") !=
          std::string::npos);
}

TEST_CASE(
    "why --cluster shows each flow with its holder, and the users of a short resource with their times") {
    const json why = json::parse(R"({"vnic": "a1", "tenant": "A", "host": "h1", "time": 1795691200,
        "reservation_bps": 1000000000, "limit_bps": null, "flows": [
            {"source": "a1", "destination": "a3", "unit": "bit/s", "wanted": 4e9, "allocated": 1.7e9,
             "held_by": "downlink of host h3", "since": 1795691190},
            {"source": "a1", "destination": "disk", "unit": "tokens/s", "wanted": 900, "allocated": 900,
             "held_by": null, "since": null}],
        "resources": [{"name": "downlink of host h3", "unit": "bit/s", "capacity": 9.7e9, "used": 9.7e9,
            "since": 1795691190, "users": [{"vnic": "b1", "tenant": "B", "used": 8e9, "since": 1795691190},
                                           {"vnic": "a1", "tenant": "A", "used": 1.7e9, "since": null}]}]})");
    CHECK(why_cluster_text(why, kPipe) == R"(a1 of tenant A on host h1, at 2026-11-26 11:06:40 UTC
FROM  TO          WANTED     ALLOCATED  HELD BACK BY         SINCE
a1    a3        4 Gbit/s    1.7 Gbit/s  downlink of host h3  2026-11-26 11:06:30 UTC
a1    disk  900 tokens/s  900 tokens/s  -                    -

downlink of host h3: 9.7 Gbit/s of 9.7 Gbit/s, short since 2026-11-26 11:06:30 UTC
USER  TENANT        USED  SINCE
b1    B         8 Gbit/s  2026-11-26 11:06:30 UTC
a1    A       1.7 Gbit/s  -

it reserves 1 Gbit/s of links; to reserve more: weirctl tenant set-vnic A a1 reservation=RATE
)");
    for (const json& odd : canned_shapes())
        CHECK_NOTHROW(why_cluster_text(odd, kPipe));
}
