// schedule_test.cc - ticks, early solves and their part of the time, on a manual clock; turns of intake.
#include "ctrl/daemon/schedule.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "test/support/amounts.h"
#include "test/support/catch.h"

using namespace weir;
using weir::testing::kMs;

namespace {

/// A controller whose solves take so long, and whose demands change all the time.
struct Solving {
    Nanos now = 0;
    Nanos tick_takes = 0;
    Nanos early_takes = 0;
    bool is_early_due = true;
    std::vector<Nanos> ticks;
    std::vector<Nanos> early;
    Schedule schedule{{.tick =
                           [this](Nanos at) {
                               ticks.push_back(at);
                               now += tick_takes;
                           },
                       .solve_early =
                           [this](Nanos at) {
                               early.push_back(at);
                               now += early_takes;
                           },
                       .early_solve_due = [this] { return is_early_due; },
                       .clock = [this] { return now; }},
                      kNanosPerSec,
                      0};

    void run_until(Nanos end) {
        for (; std::max(now, schedule.next_due()) < end; schedule.run_due(now))
            now = std::max(now, schedule.next_due());
    }
};

}  // namespace

TEST_CASE("early solves of 4 ms are a tenth of the interval apart, and stop with the changes") {
    Solving solving;
    solving.early_takes = 4 * kMs;
    solving.now = 300 * kMs;
    solving.run_until(800 * kMs);
    CHECK(solving.early == std::vector<Nanos>{300 * kMs, 400 * kMs, 500 * kMs, 600 * kMs, 700 * kMs});
    solving.is_early_due = false;
    solving.run_until(3'001 * kMs);
    CHECK(solving.ticks == std::vector<Nanos>{1'000 * kMs, 2'000 * kMs, 3'000 * kMs});
    CHECK(solving.early.size() == 5);
}

TEST_CASE("early solves take at most a fifth of the time, whatever they last") {
    for (const Nanos takes : {1 * kMs, 25 * kMs, 60 * kMs, 222 * kMs, 900 * kMs}) {
        Solving solving;
        solving.early_takes = takes;
        solving.run_until(100 * kNanosPerSec);
        const auto figures = solving.schedule.figures().describe();
        CHECK(figures["early_solve_ns"]["sum"] == takes * solving.early.size());
        CHECK(takes * solving.early.size() <= 20 * kNanosPerSec + takes);
        for (std::size_t i = 1; i < solving.early.size(); ++i)
            CHECK(solving.early[i] - solving.early[i - 1] >= std::max(100 * kMs, 5 * takes));
    }
}

TEST_CASE("the figures have how late ticks began, and ticks that were missed") {
    Solving solving;
    solving.is_early_due = false;
    solving.tick_takes = 30 * kMs;
    solving.run_until(900 * kMs);
    solving.now = 1'007 * kMs;
    solving.schedule.run_due(solving.now);
    auto figures = solving.schedule.figures().describe();
    CHECK(figures["ticks"] == 1);
    CHECK(figures["lag_ns"]["last"] == 7 * kMs);
    CHECK(figures["solve_ns"]["last"] == 30 * kMs);
    solving.now = 4'250 * kMs;  // the ticks of 3 s and 4 s are not made up for
    solving.schedule.run_due(solving.now);
    figures = solving.schedule.figures().describe();
    CHECK(figures["missed"] == 2);
    CHECK(figures["lag_ns"]["max"] == 2'250 * kMs);
    CHECK(solving.schedule.next_tick() == 5'000 * kMs);
    CHECK(solving.schedule.figures().lag_max() == 2'250 * kMs);
}

TEST_CASE(
    "a turn of intake is a tenth of the interval, 50 ms at most, and ends at a tick that is due in it") {
    CHECK(intake_end(0, 100 * kMs, 100 * kMs) == 10 * kMs);
    CHECK(intake_end(0, kNanosPerSec, kNanosPerSec) == 50 * kMs);
    CHECK(intake_end(980 * kMs, kNanosPerSec, kNanosPerSec) == kNanosPerSec);
    // The tick is late already: some demands are read all the same.
    CHECK(intake_end(1'001 * kMs, kNanosPerSec, kNanosPerSec) == 1'051 * kMs);
    CHECK(intake_end(7, kNanosPerSec, kNever) == 50 * kMs + 7);
    // The process stood still for 4 s: nothing that came meanwhile is taken for silence.
    CHECK(intake_end(1'999 * kMs, kNanosPerSec, kNanosPerSec) == 2'049 * kMs);
    CHECK(intake_end(2'000 * kMs, kNanosPerSec, kNanosPerSec) == 2'500 * kMs);
    CHECK(intake_end(5'000 * kMs, kNanosPerSec, kNanosPerSec) == 5'500 * kMs);
}
