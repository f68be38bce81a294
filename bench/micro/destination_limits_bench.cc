// destination_limits_bench.cc - cycles per packet of destination limits that bind: look-up, queue, wheel,
// departure. Source: EyeQ 3.2. Units: TSC cycles. Threads: one.
//
//   limiters/N       N limiters share 90 Gbit/s: with few of them one firing releases many packets
//   limiters_each/N  each limiter admits 9 Mbit/s, as with 10,000 above: for any N a packet is one firing
//
// The clock jumps from firing to firing, so that no N includes idle polls.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>

#include "bench/micro/cycles.h"
#include "vswitch/qos/feedback/destination_limits.h"
#include "vswitch/qos/schedulers/wrr_scheduler.h"

namespace weir::bench {
namespace {

constexpr std::uint32_t kFrame = 1538;
constexpr std::uint64_t kLink = 12'500'000'000;
constexpr std::uint64_t kLimited =
    kLink / 10 * 9;  ///< all flows together: they wait for limiters, not the link
constexpr Nanos kBurstTime = Nanos{32} * kFrame * kNanosPerSec / kLink;
constexpr std::uint32_t kFlows = 16'384;
constexpr std::uint32_t kMost = 10'000;
constexpr std::uint32_t kQueued = 2;  ///< packets that each flow keeps waiting, if there are many flows

/// One vNIC that sends to `limiters` destinations, each of which advertised the same rate.
class LimitedVnic {
  public:
    LimitedVnic(std::uint32_t limiters, std::uint64_t rate)
        : table_(kFlows, 1, {.rate_min = 1, .line_rate = kLink}) {
        link_.set_capacity(kLink, 0);
        link_.add(0, {}, nullptr, 0);
        for (std::uint32_t peer = 0; peer < limiters; ++peer) {
            const DestinationId flow = table_.on_feedback(0, peer, rate, 1, 0).destination;
            benchmark::DoNotOptimize(link_.open_destination(flow, 0, &table_.limiter(flow), 0,
                                                            [](const PacketRef&) { return false; }));
        }
        const std::uint32_t each = std::max(kQueued, 64 / limiters);
        for (std::uint32_t i = 0; i < each * limiters; ++i)
            send(i % limiters);
    }

    /// Dequeues a burst and enqueues as many packets for the same destinations. @return packets that left
    std::size_t poll(Nanos pause) {
        now_ += pause;
        if (wheel_.next_due() <= now_)
            wheel_.advance(now_, 64, [this](TimingWheel::Ids ids) {
                for (const std::uint32_t id : ids)
                    link_.wake_destination(id - 1, now_);
            });
        const std::size_t left = link_.dequeue_burst(now_, out_);
        for (std::size_t i = 0; i < left; ++i)
            send(reinterpret_cast<std::uintptr_t>(out_[i].packet));
        return left;
    }

    /// Time until a limiter fires; the link's time for a burst while packets are due.
    [[nodiscard]] Nanos pause() const {
        const Nanos due = std::min(wheel_.next_due(), link_.next_ready(now_));
        return due > now_ ? due - now_ : kBurstTime;
    }

  private:
    void send(std::uint64_t peer) {
        // NOLINTNEXTLINE(performance-no-int-to-ptr): opaque to the scheduler
        const PacketRef packet{reinterpret_cast<void*>(peer), now_, kFrame, 1, 1};
        benchmark::DoNotOptimize(link_.enqueue(0, table_.find(0, peer), packet, now_));
    }

    Nanos now_ = 1'000'000;
    TimingWheel wheel_{1 + kFlows};
    DestinationLimits table_;
    WrrScheduler link_{{.classes = 1,
                        .wheel = &wheel_,
                        .destinations = kFlows,
                        .destination_packets = 2 * kFlows,
                        .destination_wheel_id = 1}};
    std::array<PacketRef, 32> out_;
};

void report(benchmark::State& state, std::uint64_t began, std::uint64_t packets) {
    state.counters["cycles_per_packet"] =
        static_cast<double>(cycles() - began) / static_cast<double>(packets);
}

void limiters(benchmark::State& state) {
    const auto count = static_cast<std::uint32_t>(state.range(0));
    LimitedVnic vnic(count, kLimited / count);
    for (std::uint32_t i = 0; i < 2 * count / 16 + 1000; ++i)  // their first bursts
        benchmark::DoNotOptimize(vnic.poll(kBurstTime));
    std::uint64_t packets = 0;
    const std::uint64_t began = cycles();
    for (auto _ : state)
        packets += vnic.poll(kBurstTime);
    report(state, began, packets);
}
BENCHMARK(limiters)->Arg(1)->Arg(10)->Arg(100)->Arg(1000)->Arg(10000);

void limiters_each(benchmark::State& state) {
    const auto count = static_cast<std::uint32_t>(state.range(0));
    LimitedVnic vnic(count, kLimited / kMost);
    std::uint64_t packets = 0;
    while (packets < std::uint64_t{8} * count)  // their first bursts, and once around
        packets += vnic.poll(vnic.pause());
    packets = 0;
    const std::uint64_t began = cycles();
    for (auto _ : state)
        packets += vnic.poll(vnic.pause());
    report(state, began, packets);
}
BENCHMARK(limiters_each)->Arg(1)->Arg(10)->Arg(100)->Arg(1000)->Arg(kMost);

}  // namespace
}  // namespace weir::bench
