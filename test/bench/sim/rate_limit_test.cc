// rate_limit_test.cc - periodic rate limits: the law by worked numbers, and hosts that live by them.
#include "bench/sim/periodic_limit.h"
#include "test/bench/sim/sim_support.h"

using namespace weir;
using namespace weir::sim;
using namespace weir::sim::test;
using nlohmann::json;

namespace {

constexpr std::uint64_t kMega = 1'000'000;
constexpr std::size_t kSamples = 29;  // of 100 ms in 3 s: the end is not in it

/// Two VMs of one host with 450 Mbit each on 1 Gbit: y without end, x from 1 s on.
json two_senders(const char* signal) {
    return {{"duration", "3s"},
            {"sample", "100ms"},
            {"isolation", "rate-limits"},
            {"network", {{"hosts", 3}, {"rate", "1Gbit"}}},
            {"rate_limits", {{"signal", signal}}},
            {"hosts", {{"headroom", "5%"}, {"nic_descriptors", 256}, {"stack_delay", "20us"}}},
            {"tenants",
             {{{"name", "X"}, {"hosts", "0-1"}, {"reservation", "450Mbit"}},
              {{"name", "Y"}, {"hosts", "0,2"}, {"reservation", "450Mbit"}}}},
            {"sources",
             {{{"name", "x"}, {"kind", "tcp"}, {"tenant", "X"}, {"from", "0"}, {"to", "1"}, {"start", "1s"}},
              {{"name", "y"}, {"kind", "tcp"}, {"tenant", "Y"}, {"from", "0"}, {"to", "2"}}}},
            {"watch", "1-2"}};
}

/// Mean of a tenant's arrivals at a host in samples from..to, bit/s.
double mean(const Recorder::Series& rates, std::size_t from, std::size_t to) {
    double sum = 0;
    for (std::size_t i = from; i < to; ++i)
        sum += static_cast<double>(rates.at(i));
    return sum / static_cast<double>(to - from);
}

}  // namespace

TEST_CASE("a limit grows while it holds back, falls by its part at a congestion, and rests a period") {
    PeriodicLimit limit({.decrease = 0.2, .regain = 10}, 50 * kMega, 125 * kMega);
    CHECK(limit.rate() == 50 * kMega);
    limit.update(false, true);
    CHECK(limit.rate() == 60 * kMega);
    for (int i = 0; i < 9; ++i)
        limit.update(false, true);
    CHECK(limit.rate() == 125 * kMega);  // the ceiling
    limit.update(true, true);
    CHECK(limit.rate() == 100 * kMega);
    limit.update(false, true);
    CHECK(limit.rate() == 100 * kMega);  // rests
    for (int i = 0; i < 5; ++i)
        limit.update(false, true);
    CHECK(limit.rate() == 121'875'000);  // half way: 125 M * (1 - 0.2 / 8)
    for (int i = 0; i < 5; ++i)
        limit.update(false, true);
    CHECK(limit.rate() == 125 * kMega);  // regained
}

TEST_CASE("no congestion lowers a limit below the guarantee, and one that does not hold back stays") {
    PeriodicLimit limit({.decrease = 0.5}, 50 * kMega, 125 * kMega);
    for (int i = 0; i < 20; ++i)
        limit.update(true, true);
    CHECK(limit.rate() == 50 * kMega);
    for (int i = 0; i < 100; ++i)
        limit.update(false, false);
    CHECK(limit.rate() == 50 * kMega);
}

TEST_CASE("a guarantee above the ceiling is cut to it") {
    PeriodicLimit limit({.decrease = 0.5}, 200 * kMega, 125 * kMega);
    limit.update(false, false);
    CHECK(limit.rate() == 125 * kMega);
}

TEST_CASE("hosts with periodic rate limits fill the link for one VM and keep both guarantees of two") {
    for (const char* signal : {"loss", "queue"}) {
        INFO(signal);
        Run run(two_senders(signal).dump());
        run.finish();
        const Recorder& recorder = run.simulation.recorder();
        CHECK(mean(recorder.received_at(1, 1), 5, 10) > 700e6);  // alone
        CHECK(mean(recorder.received_at(0, 0), 15, kSamples) > 0.95 * 450e6);
        CHECK(mean(recorder.received_at(1, 1), 15, kSamples) > 0.95 * 450e6);
        const PacketCounts counts = run.simulation.packets();
        CHECK(counts.dropped_in_hosts != 0);  // x comes faster than a period ends
        CHECK(counts.sent ==
              counts.delivered + counts.dropped_in_hosts + counts.dropped_at_edge + counts.in_flight);
    }
}
