// eyeq_test.cc - EyeQ's experiments in short: the bounds that the results page states, in virtual time.
#include <algorithm>
#include <cmath>

#include "test/bench/sim/sim_support.h"
#include "test/support/places.h"

using namespace weir;
using namespace weir::sim;
using namespace weir::sim::test;
using nlohmann::json;

namespace {

Scenario shipped(const char* name) {
    auto loaded = load_scenario(weir::test::source_path("bench/scenarios/" + std::string(name) + ".jsonc"));
    if (const Faults* faults = std::get_if<Faults>(&loaded))
        FAIL(faults->front().to_line());
    return std::get<Scenario>(loaded);
}

/// Mean of samples begin .. end-1, in Gbit/s.
double mean_gbit(const Recorder::Series& series, std::size_t begin, std::size_t end) {
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i)
        sum += static_cast<double>(series[i]) / 1e9;
    return sum / static_cast<double>(end - begin);
}

/// The largest distance of a window's mean from the mean of all, as a part of it.
/// @param begin, end samples; `width` samples make a window
double swing(const Recorder::Series& series, std::size_t begin, std::size_t end, std::size_t width) {
    const double mean = mean_gbit(series, begin, end);
    double most = 0;
    for (std::size_t i = begin; i + width <= end; i += width)
        most = std::max(most, std::abs(mean_gbit(series, i, i + width) / mean - 1));
    return most;
}

/// The flood of the fig6 scenarios begins with sample 200 of 100 us.
constexpr std::size_t kFlood = 200;
constexpr std::size_t kMs = 10;

/// Fig. 6 with the flood cut short.
struct Flood {
    explicit Flood(Scenario scenario)
        : run([&] {
              scenario.duration = 40'000'000;
              return scenario;
          }()) {
        result = run.finish();
        tcp = run.simulation.recorder().received_at(0, 0);
        udp = run.simulation.recorder().received_at(0, 1);
    }
    Run run;
    json result;
    Recorder::Series tcp;
    Recorder::Series udp;
};

}  // namespace

TEST_CASE("Fig. 6: a TCP connection has its half back within 1 ms of 14 floods, and never times out") {
    const Flood flood(shipped("eyeq/fig6-14"));
    CHECK(mean_gbit(flood.tcp, 100, kFlood) > 8.9);  // all there is, before
    CHECK(mean_gbit(flood.tcp, kFlood + kMs, kFlood + 2 * kMs) > 0.9 * 4.5);
    for (std::size_t ms = 2; ms < 19; ++ms) {
        INFO(ms << " ms");
        CHECK(mean_gbit(flood.tcp, kFlood + ms * kMs, kFlood + (ms + 1) * kMs) == Approx(4.5).epsilon(0.1));
        CHECK(mean_gbit(flood.udp, kFlood + ms * kMs, kFlood + (ms + 1) * kMs) == Approx(4.5).epsilon(0.1));
    }
    CHECK(flood.result["summary"]["sources"]["victim"]["timeouts"] == 0);
    CHECK(flood.result["summary"]["packets"]["dropped_at_edge"] == 0);
}

TEST_CASE(
    "Fig. 6 with 100 floods: both tenants have their halves in every ms from 2 ms on, and nothing times "
    "out") {
    double fine = 0;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        Scenario scenario = shipped("eyeq/fig6-100");
        scenario.seed = seed;
        const Flood flood(scenario);
        for (std::size_t ms = 2; ms < 19; ++ms) {
            INFO("seed " << seed << ", " << ms << " ms");
            CHECK(mean_gbit(flood.tcp, kFlood + ms * kMs, kFlood + (ms + 1) * kMs) ==
                  Approx(4.5).epsilon(0.1));
            CHECK(mean_gbit(flood.udp, kFlood + ms * kMs, kFlood + (ms + 1) * kMs) ==
                  Approx(4.5).epsilon(0.1));
        }
        CHECK(mean_gbit(flood.tcp, kFlood + 2 * kMs, 390) == Approx(4.5).epsilon(0.02));
        CHECK(flood.result["summary"]["sources"]["victim"]["timeouts"] == 0);
        fine = std::max(
            {fine, swing(flood.tcp, kFlood + 2 * kMs, 390, 2), swing(flood.udp, kFlood + 2 * kMs, 390, 2)});
    }
    // Windows of 200 us swing by far more than 10 %, as docs/results/eyeq.md states; a change in either
    // direction belongs there.
    CHECK(fine == Approx(0.38).margin(0.05));
}

TEST_CASE("Fig. 6 with 14 floods: both tenants are within 10 % in every 200 us from 2 ms on") {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        Scenario scenario = shipped("eyeq/fig6-14");
        scenario.seed = seed;
        const Flood flood(scenario);
        for (const Recorder::Series* series : {&flood.tcp, &flood.udp}) {
            INFO("seed " << seed);
            CHECK(swing(*series, kFlood + 2 * kMs, 390, 2) <= 0.1);
        }
        // 1.0 ms is not enough (1.4 to 1.8 ms on the page).
        CHECK(std::max(swing(flood.tcp, kFlood + kMs, 390, 2), swing(flood.udp, kFlood + kMs, 390, 2)) > 0.1);
    }
}

TEST_CASE("feedback that is up to three periods late makes no rate swing by 10 %") {
    for (Nanos periods = 1; periods <= 3; ++periods) {
        Scenario scenario = shipped("eyeq/fig6-14");
        scenario.hosts.feedback_delay = periods * scenario.hosts.feedback_period;
        const Flood flood(scenario);
        for (std::size_t ms = 10; ms < 19; ++ms) {
            INFO(periods << " periods, " << ms << " ms");
            CHECK(mean_gbit(flood.udp, kFlood + ms * kMs, kFlood + (ms + 1) * kMs) ==
                  Approx(4.5).epsilon(0.1));
        }
        CHECK(flood.result["summary"]["sources"]["victim"]["timeouts"] == 0);
    }
}

TEST_CASE("Table 1: requests beside bursts of UDP take at most 5 % longer at p99, 10 % at p99.9") {
    const auto latency = [](Isolation isolation, bool bursts) {
        Scenario scenario = shipped("eyeq/table1");
        scenario.duration = 1'000'000'000;
        scenario.isolation = isolation;
        if (!bursts)
            scenario.sources.pop_back();
        return Run(scenario).finish()["summary"]["sources"]["set"]["latency_ns"];
    };
    const json alone = latency(Isolation::kOff, false);
    const json isolated = latency(Isolation::kWeir, true);
    const json open = latency(Isolation::kOff, true);
    CHECK(isolated["p99"].get<double>() <= 1.05 * alone["p99"].get<double>());
    CHECK(isolated["p999"].get<double>() <= 1.1 * alone["p999"].get<double>());
    CHECK(open["p99"].get<double>() >= 100 * alone["p99"].get<double>());
}

TEST_CASE("an idle vNIC's share is in use within 1 ms, and its own again within 1 ms") {
    Run run(shipped("idle-share"));
    (void)run.finish();
    const auto& a = run.simulation.recorder().received_at(0, 0);
    const auto& b = run.simulation.recorder().received_at(0, 1);
    std::size_t checked = 0;
    for (std::size_t i = 50; i + kMs < a.size(); ++i) {
        if (a[i] > 1'000'000'000 && *std::max_element(&a[i + 1], &a[i + kMs]) == 0) {
            CHECK(b[i + kMs] > 8'100'000'000);  // all but a tenth of 9 Gbit/s
            ++checked;
        }
    }
    CHECK(checked >= 4);
    for (std::size_t ms = 21; ms < 100; ms += 20)
        CHECK(mean_gbit(a, ms * kMs, (ms + 5) * kMs) == Approx(4.5).epsilon(0.1));
}
