// schedulers_bench.cc - cycles per packet of the uplink's schedulers, and of the cycle accounting per vNIC.
// Units: TSC cycles; ns. Threads: one.
//
//   backlogged, bypass   wrr: the way through the queues, enqueueing included, and past them
//   fulfillment, rls     one decision, with 1 to 1,000 backlogged vNICs
//   vms_SCHEDULER        one decision with 1 to 16 VMs (SoftBW's Fig. 10)
//   round                cycle shares: one round over all vNICs
//
// The link has 1,000 vNICs, of which `busy` are backlogged; a poll moves 32 packets.
#include <benchmark/benchmark.h>

#include <array>
#include <chrono>

#include "bench/micro/cycles.h"
#include "vswitch/qos/schedulers/cycle_share.h"
#include "vswitch/qos/schedulers/fulfillment_scheduler.h"
#include "vswitch/qos/schedulers/rls_scheduler.h"
#include "vswitch/qos/schedulers/wrr_scheduler.h"

namespace weir::bench {
namespace {

constexpr std::uint32_t kFrame = 1538;
constexpr std::uint64_t kRate = 12'500'000'000;

struct Spent {
    std::uint64_t packets = 0;
    std::uint64_t dequeuing = 0;  ///< cycles in dequeue_burst()
    std::uint64_t total = 0;      ///< cycles, with enqueueing
    double nanos_per_cycle = 0;
};

/// Runs a scheduler whose first `busy` classes always have `depth` packets; profile(id) is a class's.
template <class Scheduler, class Profile>
Spent schedule(benchmark::State& state, VnicId busy, std::uint32_t depth, Profile&& profile) {
    constexpr Nanos kBurstTime = Nanos{32} * kFrame * kNanosPerSec / kRate;
    TimingWheel limits(1000);
    Scheduler link({.classes = 1000, .queue_packets = 64, .wheel = &limits});
    link.set_capacity(kRate, 0);
    for (VnicId id = 0; id < 1000; ++id)
        link.add(id, profile(id), nullptr, 0);
    Nanos now = 1'000'000;
    const auto fill = [&](VnicId id) {
        benchmark::DoNotOptimize(link.enqueue(id, {nullptr, now, kFrame, 1, 1}, now));
    };
    for (VnicId id = 0; id < busy; ++id)
        for (std::uint32_t i = 0; i < depth; ++i)
            fill(id);
    std::array<PacketRef, 32> out;
    VnicId next = 0;
    Spent spent;
    const auto clock_began = std::chrono::steady_clock::now();
    const std::uint64_t began = cycles();
    for (auto _ : state) {
        now += kBurstTime;
        const std::uint64_t before = cycles();
        const std::size_t sent = link.dequeue_burst(now, out);
        spent.dequeuing += cycles() - before;
        spent.packets += sent;
        for (std::size_t i = 0; i < sent; ++i) {
            while (link.backlog_packets(next) >= depth)
                next = static_cast<VnicId>(next + 1 < busy ? next + 1 : 0);
            fill(next);
        }
    }
    spent.total = cycles() - began;
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - clock_began;
    spent.nanos_per_cycle = took.count() / static_cast<double>(spent.total);
    return spent;
}

void report_decisions(benchmark::State& state, const Spent& spent) {
    const double cycles = static_cast<double>(spent.dequeuing) / static_cast<double>(spent.packets);
    state.counters["cycles_per_packet"] = cycles;
    state.counters["decision_ns"] = cycles * spent.nanos_per_cycle;
}

void bypass(benchmark::State& state) {
    TimingWheel limits(1);
    WrrScheduler link({.classes = 1, .wheel = &limits});
    link.set_capacity(kRate, 0);
    link.add(0, {.reservation = kRate / 4}, nullptr, 0);
    Nanos now = 1'000'000;
    const std::uint64_t began = cycles();
    for (auto _ : state) {
        now += 200;
        if (link.can_bypass(0, kFrame, now))
            link.bypass(0, kFrame, now);
    }
    state.counters["cycles_per_packet"] =
        static_cast<double>(cycles() - began) / static_cast<double>(state.iterations());
}
BENCHMARK(bypass);

/// `busy` backlogged classes; every second has a reservation if `reserved`. Cycles include enqueueing.
void backlogged(benchmark::State& state) {
    const std::uint64_t reservation = kRate / 1000 * static_cast<unsigned>(state.range(1));
    const Spent spent = schedule<WrrScheduler>(
        state, static_cast<VnicId>(state.range(0)), 32,
        [reservation](VnicId id) { return ClassProfile{.reservation = id % 2 == 0 ? reservation : 0}; });
    state.counters["cycles_per_packet"] =
        static_cast<double>(spent.total) / static_cast<double>(spent.packets);
}
BENCHMARK(backlogged)->ArgNames({"busy", "reserved"})->ArgsProduct({{1, 10, 100, 1000}, {0, 1}});

/// `busy` backlogged classes, whose reservations together are `promised` percent of the link.
void fulfillment(benchmark::State& state) {
    const auto busy = static_cast<VnicId>(state.range(0));
    const std::uint64_t each = kRate / 100 * static_cast<std::uint64_t>(state.range(1)) / busy;
    report_decisions(state, schedule<FulfillmentScheduler>(state, busy, 48, [each](VnicId) {
                         return ClassProfile{.reservation = each};
                     }));
}
BENCHMARK(fulfillment)->ArgNames({"busy", "promised"})->ArgsProduct({{1, 10, 100, 1000}, {50, 400}});

/// `busy` backlogged classes with shares 1:2:3:4 in turn; the reservations of every second one are together
/// `promised` percent of the link.
void rls(benchmark::State& state) {
    const auto busy = static_cast<VnicId>(state.range(0));
    const std::uint64_t each = kRate / 100 * static_cast<std::uint64_t>(state.range(1)) / ((busy + 1U) / 2);
    report_decisions(state, schedule<RlsScheduler>(state, busy, 48, [=](VnicId id) {
                         return ClassProfile{.reservation = id < busy && id % 2 == 0 ? each : 0,
                                             .shares = 100U * (1 + id % 4)};
                     }));
}
BENCHMARK(rls)->ArgNames({"busy", "promised"})->ArgsProduct({{1, 10, 100, 1000}, {0, 50, 95}});

/// All backlogged, with the same reservation, nine tenths of the link together. Source: SoftBW Fig. 10.
template <class Scheduler>
void vms(benchmark::State& state) {
    const auto busy = static_cast<VnicId>(state.range(0));
    const std::uint64_t each = kRate / 10 * 9 / busy;
    report_decisions(state, schedule<Scheduler>(state, busy, 48, [=](VnicId id) {
                         return ClassProfile{.reservation = id < busy ? each : 0};
                     }));
}
BENCHMARK_TEMPLATE(vms, WrrScheduler)->Name("vms_wrr")->RangeMultiplier(2)->Range(1, 16);
BENCHMARK_TEMPLATE(vms, FulfillmentScheduler)->Name("vms_fulfillment")->RangeMultiplier(2)->Range(1, 16);
BENCHMARK_TEMPLATE(vms, RlsScheduler)->Name("vms_rls")->RangeMultiplier(2)->Range(1, 16);

/// Every vNIC is asked whether it may be polled; every eighth has packets.
void round(benchmark::State& state) {
    const auto vnics = static_cast<std::size_t>(state.range(0));
    CycleShare share(vnics);
    for (std::size_t i = 0; i < vnics; ++i)
        share.add(i, 100);
    const std::uint64_t began = cycles();
    for (auto _ : state) {
        for (std::size_t i = 0; i < vnics; ++i)
            if (share.may_poll(i) && i % 8 == 0)
                share.charge(i, 5000);
        share.end_round();
        benchmark::DoNotOptimize(share);
    }
    state.counters["cycles_per_vnic"] = static_cast<double>(cycles() - began) /
                                        static_cast<double>(state.iterations()) / static_cast<double>(vnics);
}
BENCHMARK(round)->Arg(1)->Arg(8)->Arg(64)->Arg(1000);

}  // namespace
}  // namespace weir::bench
