// request_gate_bench.cc - cycles per request that its buckets admit, and per request that waits for a bucket.
// Units: TSC cycles. Threads: one.
#include <benchmark/benchmark.h>

#include "bench/micro/cycles.h"
#include "vswitch/qos/requests/request_gate.h"

namespace weir::bench {
namespace {

constexpr std::uint32_t kConnections = 1024;
constexpr CostVector kRead{1, 100, 600};

void report(benchmark::State& state, std::uint64_t began, std::uint64_t requests) {
    state.counters["cycles_per_packet"] =
        static_cast<double>(cycles() - began) / static_cast<double>(requests);
}

/// One request of each of 1 to 1,000 service flows in turn, with limits that never bind.
void request_passes(benchmark::State& state) {
    const auto flows = static_cast<std::uint32_t>(state.range(0));
    TimingWheel wheel(flows);
    RequestGate gate({.flows = flows, .wheel = &wheel});
    const BucketProfile plenty = make_profile(1'000'000'000'000, 1'000'000'000);
    for (std::uint32_t flow = 0; flow < flows; ++flow)
        gate.open(flow, {.limits = {plenty, plenty, plenty, plenty}, .window = {}}, nullptr, 0);
    Nanos now = 1'000'000;
    std::uint32_t flow = 0;
    const std::uint64_t began = cycles();
    for (auto _ : state) {
        now += 100;
        benchmark::DoNotOptimize(gate.admit(flow, flow, kRead, now));
        flow = flow + 1 == flows ? 0 : flow + 1;
    }
    report(state, began, static_cast<std::uint64_t>(state.iterations()));
}
BENCHMARK(request_passes)->Arg(1)->Arg(100)->Arg(1000);

/// A flow whose connections all have requests waiting: a request is held, woken and released for each new
/// one.
void request_waits(benchmark::State& state) {
    const auto connections = static_cast<std::uint64_t>(state.range(0));
    TimingWheel wheel(1);
    RequestGate gate(
        {.flows = 1, .connections = 2 * kConnections, .packets = 4 * kConnections, .wheel = &wheel});
    constexpr std::uint64_t kRate = 1'000'000'000;
    RequestGate::Profile profile;
    profile.bytes_max = UINT32_MAX;
    profile.limits.fill(unlimited_profile());
    profile.limits[2] = make_profile(kRate, kRead[2]);
    gate.open(0, profile, nullptr, 0);
    Nanos now = 1'000'000;
    const auto send = [&](std::uint64_t connection) {
        // NOLINTNEXTLINE(performance-no-int-to-ptr): opaque to the gate
        const PacketRef packet{reinterpret_cast<void*>(connection), now, 160, 1, 1};
        gate.hold(0, {packet, connection, 0}, kRead, {}, now);
    };
    for (std::uint64_t i = 0; i < 2 * connections; ++i)
        send(i % connections);
    std::uint64_t passed = 0;
    std::array<std::uint64_t, 64> again;
    const std::uint64_t began = cycles();
    for (auto _ : state) {
        now = std::max(now, wheel.next_due());
        std::size_t count = 0;
        wheel.advance(now, 1, [&](TimingWheel::Ids) {
            gate.wake(0, now, [&](const RequestGate::Held& held) {
                again[count++] = reinterpret_cast<std::uintptr_t>(held.packet.packet);
            });
        });
        for (std::size_t i = 0; i < count; ++i)
            send(again[i]);
        passed += count;
    }
    report(state, began, passed);
}
BENCHMARK(request_waits)->Arg(1)->Arg(32)->Arg(1000);

}  // namespace
}  // namespace weir::bench
