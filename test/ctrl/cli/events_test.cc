// events_test.cc - events and the past of a vNIC, character by character.
#include "ctrl/cli/commands.h"
#include "test/support/catch.h"

using namespace weir::cli;
using nlohmann::json;

namespace {

constexpr double kTen = 1'795'773'600;  // 2026-11-27 10:00:00 UTC
const Terminal kPlainTerminal{};

json record(double from, double span_ns, double sent_bytes, double held_percent) {
    return {{"from", from},
            {"span_ns", span_ns},
            {"samples", 1},
            {"sent_bytes", sent_bytes},
            {"received_bytes", 0},
            {"sent_bps", sent_bytes * 8 / span_ns * 1e9},
            {"received_bps", 0},
            {"sent_burst_bytes", sent_bytes / 10},
            {"received_burst_bytes", 0},
            {"queue_delay_ns", 3'000'000},
            {"dropped", 2},
            {"held_back_ns", span_ns * held_percent / 100},
            {"held_back_percent", held_percent},
            {"held_back_by", held_percent > 0 ? json("limit") : json()}};
}

json past() {
    json answer{{"vnic", "vm1"},
                {"now", kTen + 3},
                {"removed", nullptr},
                {"resolution_ns", 1'000'000},
                {"second", record(kTen + 1, 1e9, 1'250'000, 82.3)},
                {"held_back_by",
                 {{"bucket", "limit"}, {"percent", 82.3}, {"since", kTen - 60}, {"before_history", false}}},
                {"seconds", {record(kTen, 1e9, 125'000, 0), record(kTen + 1, 1e9, 1'250'000, 82.3)}},
                {"samples", json::array()}};
    return answer;
}

}  // namespace

TEST_CASE("why --at names the bucket, its share of the second and the begin, then the seconds around") {
    CHECK(why_at_text(past(), kPlainTerminal) ==
          "vm1: 2026-11-27 10:00:01 UTC, for 1 s, sampled every 1 ms\n"
          "held back by own limit 82.3% of this time, since 2026-11-27 09:59:00 UTC\n"
          "it sent 10 Mbit/s with bursts of 125 kB in 1 ms, received 0 bit/s with bursts of 0 B; its packets "
          "waited 3 ms at most, 2 were dropped\n"
          "\n"
          "TIME           SENT    BURST  RECEIVED  BURST  DELAY  DROPPED  HELD BACK  BUCKET\n"
          "10:00:00   1 Mbit/s  12.5 kB   0 bit/s    0 B   3 ms        2       0.0%  -\n"
          "10:00:01  10 Mbit/s   125 kB   0 bit/s    0 B   3 ms        2      82.3%  own limit  #########\n");
}

TEST_CASE("why --at states that no bucket held the vNIC back, and that it was before the history") {
    json answer = past();
    answer["held_back_by"]["before_history"] = true;
    CHECK(why_at_text(answer, kPlainTerminal)
              .find("since before 2026-11-27 09:59:00 UTC, when its history begins\n") != std::string::npos);
    answer["held_back_by"] = nullptr;
    answer["removed"] = kTen + 2;
    const std::string text = why_at_text(answer, kPlainTerminal);
    CHECK(text.find("no bucket held it back\n") != std::string::npos);
    CHECK(text.find("it was removed at 2026-11-27 10:00:02 UTC\n") != std::string::npos);
}

TEST_CASE("samples of a second are summed up in steps of 50 ms") {
    json answer = past();
    for (int i = 0; i < 100; ++i)
        answer["samples"].push_back(record(kTen + 1 + i * 1e-3, 1e6, 1'250, i < 50 ? 100 : 0));
    const std::string text = why_at_text(answer, kPlainTerminal);
    const std::string rows = text.substr(text.find("10:00:01.000"));
    CHECK(std::count(rows.begin(), rows.end(), '\n') == 2);
    CHECK(rows.find("10 Mbit/s") != std::string::npos);
    CHECK(rows.find("100.0%  own limit  ##########") != std::string::npos);
    CHECK(rows.find("10:00:01.050") != std::string::npos);
}

TEST_CASE("events have a time, an object, a kind and a detail") {
    const json reply{{"events",
                      {{{"number", 1},
                        {"time", kTen + 0.25},
                        {"part", "switch"},
                        {"vnic", nullptr},
                        {"event", "started"},
                        {"detail", "2 vNICs"}},
                       {{"number", 2},
                        {"time", kTen + 5},
                        {"part", "vnic"},
                        {"vnic", "vm1"},
                        {"event", "held_back"},
                        {"detail", "bucket limit"}}}},
                     {"last", 2}};
    CHECK(events_text(reply, kPlainTerminal) ==
          "TIME                     OBJECT    EVENT      DETAIL\n"
          "2026-11-27 10:00:00 UTC  switch    started    2 vNICs\n"
          "2026-11-27 10:00:05 UTC  vNIC vm1  held back  bucket limit\n");
    CHECK(event_lines(reply, kPlainTerminal) ==
          "2026-11-27 10:00:00 UTC  switch  started  2 vNICs\n"
          "2026-11-27 10:00:05 UTC  vNIC vm1  held back  bucket limit\n");
}
