// period_bench.cc - ns of a worker's periodic work in each period of 200 us, by the number of its vNICs.
// Units: ns. Threads: one.
//
//   link_period      the worker's part of the link: its report, the division among two workers, the new rate.
//                    reserved: vNICs' reservations together, in percent of the link
//   receiver_period  the sweep over vNICs that receive from the wire, two frames each in a period
#include <benchmark/benchmark.h>

#include <chrono>

#include "vswitch/qos/feedback/receiver.h"
#include "vswitch/qos/link_share.h"
#include "vswitch/qos/schedulers/wrr_scheduler.h"

namespace weir::bench {
namespace {

constexpr std::uint64_t kRate = 1'250'000'000;
constexpr std::uint32_t kFrame = 1538;

class Stopwatch {
  public:
    template <class Work>
    void run(Work&& work) {
        const auto began = std::chrono::steady_clock::now();
        work();
        spent_ += std::chrono::steady_clock::now() - began;
    }
    void report(benchmark::State& state, Nanos simulated) const {
        state.counters["period_ns"] =
            spent_.count() * static_cast<double>(LinkShare::kPeriod) / static_cast<double>(simulated);
    }

  private:
    std::chrono::duration<double, std::nano> spent_{};
};

void link_period(benchmark::State& state) {
    const auto vnics = static_cast<VnicId>(state.range(0));
    const std::uint64_t reserved = kRate / 100 * static_cast<std::uint64_t>(state.range(1));
    TimingWheel limits(vnics);
    WrrScheduler link({.classes = vnics, .queue_packets = 64, .wheel = &limits});
    LinkShare share(2, kRate);
    for (VnicId id = 0; id < vnics; ++id)
        link.add(id, {.reservation = reserved / 2 / vnics}, nullptr, 0);
    Nanos now = 1'000'000;
    std::uint64_t used = 0;
    Stopwatch watch;
    share.report(1, {.reservation = reserved / 2, .shares = 100, .used = kRate / 4, .backlogged = true});
    for (auto _ : state) {
        now += LinkShare::kPeriod;
        used = (used + kRate / 7) % (kRate / 2);
        watch.run([&] {
            share.report(0, {.reservation = reserved / 2, .shares = 100, .used = used, .backlogged = false});
            share.divide_when_due(now);
            link.set_capacity(share.allocation(0), share.reservable(0), now);
        });
    }
    watch.report(state, LinkShare::kPeriod * state.iterations());
}

void receiver_period(benchmark::State& state) {
    constexpr Nanos kStep = 10'000;
    const auto vnics = static_cast<VnicId>(state.range(0));
    Receiver receiver({}, {.capacity = kRate / 10 * 9, .line_rate = kRate, .law = {}});
    for (VnicId id = 0; id < vnics; ++id)
        receiver.add(id, {.reservation = kRate / vnics / 2});
    Nanos now = 1'000'000;
    VnicId next = 0;
    Stopwatch watch;
    const Nanos began = now;
    for (auto _ : state) {
        now += kStep;
        for (VnicId i = 0; i < vnics / 10 + 1; ++i, next = static_cast<VnicId>((next + 1) % vnics)) {
            Feedback feedback{};
            benchmark::DoNotOptimize(
                receiver.received(next, 0x5452 + (std::uint64_t{next} << 16), kFrame / 8, 0, now, feedback));
        }
        if (receiver.due(now))
            watch.run([&] { receiver.sweep(now); });
    }
    watch.report(state, now - began);
}

BENCHMARK(link_period)->ArgNames({"vnics", "reserved"})->ArgsProduct({{1, 100, 500}, {50, 150}});
BENCHMARK(receiver_period)->ArgName("vnics")->Arg(1)->Arg(100)->Arg(500);

}  // namespace
}  // namespace weir::bench
