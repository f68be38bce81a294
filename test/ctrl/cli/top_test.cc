// top_test.cc - rates between two snapshots, and the live table.
#include "ctrl/cli/commands.h"
#include "test/ctrl/cli/canned.h"
#include "test/support/catch.h"

using namespace weir::cli;
using namespace weir::cli::test;
using nlohmann::json;

namespace {

// The answers one second after the canned ones.
Snapshot second_later() {
    Snapshot after{canned_status(), canned_list()};
    json& worker = after.status["workers"][0];
    worker["busy_cycles"] = 420'000 + 1'200'000'000;
    worker["idle_cycles"] = 580'000 + 800'000'000;
    worker["packets"] = 3'000 + 8'000'000;
    worker["bursts"] = 250 + 500'000;
    after.status["uplink"]["tx"]["bytes"] = 3'000'000 + 125'000'000;
    json& vnic = after.vnics["vnics"][0];
    vnic["from_vm"]["offered"] = {{"packets", 1'000 + 100'000}, {"bytes", 1'524'000 + 150'000'000}};
    vnic["from_vm"]["delivered"] = {{"packets", 980 + 90'000}, {"bytes", 1'493'520 + 125'000'000}};
    vnic["to_vm"]["delivered"]["bytes"] = 50'000 + 12'500'000;
    vnic["held_back_ns"]["total"] = 1'500'000'000 + 250'000'000;
    vnic["cycles"] = 140'000 + 300'000'000;
    vnic["from_vm"]["drops"]["foreign_mac"] = 8 + 40;
    vnic["to_vm"]["drops"]["vm_ring_full"] = 1'500;
    return after;
}

Snapshot canned() {
    return {canned_status(), canned_list()};
}

}  // namespace

TEST_CASE("rates are growth over time") {
    const json sample = top_sample(canned(), second_later(), 1.0);
    const json& vnic = sample["vnics"][0];
    CHECK(vnic["offered_bps"] == 1.2e9);
    CHECK(vnic["delivered_bps"] == 1e9);
    CHECK(vnic["received_bps"] == 1e8);
    CHECK(vnic["offered_pps"] == 100'000);
    CHECK(vnic["delivered_pps"] == 90'000);
    CHECK(vnic["held_back_percent"] == 25.0);
    CHECK(vnic["cpu_percent"] == 15.0);
    CHECK(vnic["drops_per_second"] == json{{"foreign_mac", 40.0}, {"vm_ring_full", 1'500.0}});
    CHECK(sample["workers"][0]["busy_percent"] == 60.0);
    CHECK(sample["workers"][0]["mean_burst"] == 16.0);
    CHECK(sample["workers"][0]["cycles_per_packet"] == 150.0);
    CHECK(sample["uplink"]["sent_bps"] == 1e9);
}

TEST_CASE("half the time gives twice the rates") {
    CHECK(top_sample(canned(), second_later(), 0.5)["vnics"][0]["delivered_bps"] == 2e9);
}

TEST_CASE("fulfillment is delivered over what was wanted of the reservation") {
    Snapshot after = second_later();
    const auto fulfillment = [&] { return top_sample(canned(), after, 1.0)["vnics"][0]["fulfillment"]; };
    CHECK(fulfillment() == 0.5);  // held back, so it wanted all of its 2 Gbit/s, and got 1
    after.vnics["vnics"][0]["held_back_ns"]["total"] = 1'500'000'000;
    CHECK(fulfillment().get<double>() == Approx(1.0 / 1.2));  // not held back: it offered 1.2 and got 1
    after.vnics["vnics"][0]["reservation_bps"] = 500'000'000;
    CHECK(fulfillment() == 1.0);  // more than was reserved is no more than fulfilled
    after.vnics["vnics"][0]["reservation_bps"] = 0;
    CHECK(fulfillment().is_null());
}

TEST_CASE("counters of a switch that restarted, or of a new vNIC, count from zero") {
    Snapshot before = canned();
    before.vnics["vnics"][0]["from_vm"]["offered"]["bytes"] = 1'000'000'000'000;
    CHECK(top_sample(before, second_later(), 1.0)["vnics"][0]["offered_bps"] == 8.0 * 151'524'000);
    before.vnics["vnics"] = json::array();
    const json sample = top_sample(before, second_later(), 1.0);
    CHECK(sample["vnics"].size() == 2);
    CHECK(sample["vnics"][0]["offered_bps"] == 8.0 * 151'524'000);
    CHECK(sample["vnics"][1]["offered_bps"].is_null());  // it has no such counter
}

TEST_CASE("the live table shows for each vNIC what it offers, what is delivered and what holds it back") {
    CHECK(top_text(top_sample(canned(), second_later(), 1.0), kPipe) ==
          R"(host h1, isolation on, accounting wire, measured over 1 s
uplink:   sent 1 Gbit/s of 9 Gbit/s, received 0 bit/s
worker 0: core 1, busy 60.0%, mean burst 16.0, 150 cycles/packet

VNIC     OFFERED  DELIVERED  RECENT  RESERVATION             LIMIT  FULFILLMENT  HELD BACK    RECEIVED  DELAY P50     P99    CPU  DROPS/S
vm1   1.2 Gbit/s   1 Gbit/s             2 Gbit/s  8 Gbit/s, 2 Mpps        50.0%      25.0%  100 Mbit/s     1.8 us  9.4 us  15.0%  vm_ring_full 1.5 k, foreign_mac 40
vm2            -          -                    -                 -            -          -           -          -       -      -  down
)");
}

TEST_CASE("the table shows the vNICs that match, in the order that was asked for") {
    json all{{"vnics", json::array()}};
    const auto add = [&all](const char* name, const char* tenant, const json& fulfillment, double delivered) {
        all["vnics"].push_back({{"name", name},
                                {"tenant", tenant},
                                {"fulfillment", fulfillment},
                                {"delivered_bps", delivered},
                                {"drops_per_second", {{"queue_full", delivered / 2}, {"vlan", 1}}}});
    };
    add("web2", "A", 0.9, 5);
    add("web1", "A", nullptr, 7);
    add("db", "B", 0.4, 9);
    const auto names = [&](const std::string& filter, const std::string& key) {
        json sample = all;
        top_select(sample, filter, key);
        std::string text;
        for (const json& vnic : sample["vnics"])
            text += vnic["name"].get<std::string>() + ' ';
        return text;
    };
    CHECK(names("", "") == "web2 web1 db ");
    CHECK(names("", "name") == "db web1 web2 ");
    CHECK(names("", "delivered") == "db web1 web2 ");
    CHECK(names("", "drops") == "db web1 web2 ");
    CHECK(names("", "fulfillment") == "db web2 web1 ");  // one without a reservation is last
    CHECK(names("web", "delivered") == "web1 web2 ");
    CHECK(names("B", "") == "db ");
    CHECK(names("x", "cpu") == "");
    json odd = json::parse(R"({"vnics": [1, {"drops_per_second": {"x": "y"}}, {"name": {}}]})");
    for (const char* key : kTopKeys)
        CHECK_NOTHROW(top_select(odd, "", key));
}

TEST_CASE("the delivered rates of the last 12 tables are drawn against the reservation, or the largest") {
    TopHistory history;
    json sample;
    for (const double rate : {0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}) {
        sample = {
            {"vnics", json::array({{{"name", "a"}, {"delivered_bps", rate}, {"reservation_bps", 0}},
                                   {{"name", "b"}, {"delivered_bps", rate}, {"reservation_bps", 24}}})}};
        history.note(sample);
    }
    CHECK(sample["vnics"][0]["recent_bps"] == json::array({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
    const std::string text = top_text(sample, kPipe);
    CHECK(text.find("..--==++**##") != std::string::npos);  // to 12
    CHECK(text.find("_....----===") != std::string::npos);  // to 24
    json other{{"vnics", json::array({{{"name", "b"}}})}};
    history.note(other);
    history.note(sample);
    CHECK(sample["vnics"][0]["recent_bps"].size() == 1);  // it was gone
}

TEST_CASE("the live table fits the terminal") {
    json sample = top_sample(canned(), second_later(), 1.0);
    for (int i = 0; i < 50; ++i)
        sample["vnics"].push_back(sample["vnics"][0]);
    for (const std::size_t columns : {20U, 40U, 80U, 132U}) {
        Terminal terminal;
        terminal.columns = columns;
        terminal.rows = 24;
        const std::string text = top_text(sample, terminal);
        CHECK(std::count(text.begin(), text.end(), '\n') <= 24);
        CHECK(text.find("and 34 more vNICs") != std::string::npos);
        if (columns >= 80)
            for (std::size_t begin = text.find("VNIC"); begin < text.size();
                 begin = text.find('\n', begin) + 1)
                CHECK(text.find('\n', begin) - begin <= columns);
    }
}

TEST_CASE("snapshots of another shape give a sample with nulls and never throw") {
    for (const char* shape : {"null", "5", "[]", "{}", R"({"workers": [1], "uplink": {}, "tsc_hz": "x"})"}) {
        const Snapshot odd{json::parse(shape),
                           json::parse(R"({"vnics": [1, {"from_vm": {"drops": {"x": "y", "/~": 2}}}]})")};
        CHECK_NOTHROW(top_text(top_sample(odd, odd, 1.0), kPipe));
        CHECK_NOTHROW(top_text(top_sample(canned(), odd, 1.0), kPipe));
    }
}
