// timing_wheel_bench.cc - cycles per packet of N backlogged limiters on one wheel.
// Units: TSC cycles. Threads: one.
//
//   wheel/N            each limiter admits one frame in 3.9 ms, of a horizon of 4.2 ms: for any N a packet is
//   one
//                      firing, one payment from two buckets and one insertion
//   wheel_same_rate/N  N limiters together admit 25.6 M packets/s: with few of them one firing serves many
//   packets
//
// The clock jumps from due slot to due slot, so that no N includes idle polls.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "bench/micro/cycles.h"
#include "vswitch/qos/buckets/limiter.h"
#include "vswitch/qos/buckets/timing_wheel.h"

namespace weir::bench {
namespace {

constexpr std::uint32_t kFrame = 1538;
constexpr Nanos kPeriod = 3'900'000;
constexpr Nanos kPeriodTogether = 39;
constexpr unsigned kBurst = 32;
constexpr Limiter::Costs kCosts{kFrame, 1};

class Rig {
  public:
    /// @param period ns from one frame of a limiter to its next
    Rig(std::uint32_t limiters, Nanos period) : limiters_(limiters), wheel_(limiters) {
        const std::uint64_t rate = kFrame * kNanosPerSec / period;
        const std::uint64_t burst = std::max<std::uint64_t>(kFrame, rate / 250'000);  // of two slots
        for (std::uint32_t i = 0; i < limiters; ++i) {
            limiters_[i].set_profiles(make_profile(rate, burst), make_profile(100'000'000, 1000), 0);
            wheel_.insert(i, period * i / limiters, 0);
        }
    }

    /// One poll of the worker. @return packets that left
    unsigned poll() {
        now_ = std::max(now_, wheel_.next_due());
        wheel_.advance(
            now_, kBurst, [this](TimingWheel::Ids ids) { send(ids); },
            [this](TimingWheel::Ids ids) {
                for (const std::uint32_t id : ids)
                    __builtin_prefetch(&limiters_[id], 1);
            });
        return std::exchange(sent_, 0);
    }

  private:
    void send(TimingWheel::Ids ids) {
        for (const std::uint32_t id : ids) {
            Limiter& limit = limiters_[id];
            while (limit.admit(kCosts, now_))
                ++sent_;
            wheel_.insert(id, limit.ready_at(kCosts, now_), now_);
        }
    }

    std::vector<Limiter> limiters_;
    TimingWheel wheel_;
    Nanos now_ = 0;
    unsigned sent_ = 0;
};

void run(benchmark::State& state, Nanos period) {
    Rig rig(static_cast<std::uint32_t>(state.range(0)), period);
    std::uint64_t packets = 0;
    while (packets < 2 * static_cast<std::uint64_t>(state.range(0)))
        packets += rig.poll();
    packets = 0;
    const std::uint64_t began = cycles();
    for (auto _ : state)
        packets += rig.poll();
    state.counters["cycles_per_packet"] =
        static_cast<double>(cycles() - began) / static_cast<double>(packets);
}

void wheel(benchmark::State& state) {
    run(state, kPeriod);
}
BENCHMARK(wheel)->Arg(1)->Arg(100)->Arg(10'000)->Arg(100'000);

void wheel_same_rate(benchmark::State& state) {
    run(state, kPeriodTogether * static_cast<Nanos>(state.range(0)));
}
BENCHMARK(wheel_same_rate)->Arg(1)->Arg(100)->Arg(10'000)->Arg(100'000);

}  // namespace
}  // namespace weir::bench
