// flow_test.cc - rates and table of flow list, character by character.
#include "ctrl/cli/commands.h"
#include "test/ctrl/cli/canned.h"
#include "test/support/catch.h"

using namespace weir::cli;
using namespace weir::cli::test;
using nlohmann::json;

namespace {

json flows() {
    return flow_sample(canned_flows(), canned_flows_later());
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

TEST_CASE("tokens of requests whose responses are late are shown beside the outstanding ones") {
    json later = canned_flows_later();
    later["flows"][0]["overdue_tokens"] = 80;
    const json sample = flow_sample(canned_flows(), later);
    CHECK(sample["flows"][0]["overdue_tokens"] == 80);
    CHECK(flow_text(sample, kPipe).find("  1 (80), 80 overdue  ") != std::string::npos);
    CHECK(flow_text(flows(), kPipe).find("overdue") == std::string::npos);
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

TEST_CASE("flow list of a switch without appliances, or of vNICs without, names how to add them") {
    CHECK(flow_text(flow_sample(json::object(), {{"appliances", json::array()}}), kPipe)
              .find("add them to \"appliances\" of the switch's configuration") != std::string::npos);
    json none = canned_flows();
    none["flows"] = json::array();
    const std::string text = flow_text(flow_sample(none, none), kPipe);
    CHECK(text.find("no flows: no vNIC of this switch has \"appliances\"") == 0);
    CHECK(text.find("[fd00::6]:11211") != std::string::npos);
}

TEST_CASE("replies to flow.list of another shape give dashes and never throw") {
    for (const char* shape : kOddReadings) {
        INFO(shape);
        const json odd = json::parse(shape);
        for (const auto& [before, after] :
             {std::pair{odd, odd}, {canned_flows(), odd}, {odd, canned_flows_later()}}) {
            CHECK_NOTHROW(flow_text(flow_sample(before, after), kPipe));
        }
        CHECK_NOTHROW(flow_text(odd, kPipe));
    }
}
