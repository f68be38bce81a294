// receiver_bench.cc - cycles and ns per received frame of 64 bytes: meter, sender table, division among
// vNICs, feedback. Source: EyeQ 3.2. Units: TSC cycles; ns. Threads: one.
//
// Frames of 84 accounted bytes arrive at a line rate of 10 Gbit/s in virtual time, so that a period of 200 us
// has 2,976 frames; the sweep at its end is included.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <vector>

#include "bench/micro/cycles.h"
#include "vswitch/qos/feedback/receiver.h"

namespace weir::bench {
namespace {

constexpr std::uint32_t kFrame = 84;
constexpr std::uint64_t kLine = 1'250'000'000;
constexpr std::uint64_t kCapacity = kLine / 10 * 9;
constexpr std::size_t kBurst = 32;
constexpr Nanos kBurstTime = kBurst * kFrame * kNanosPerSec / kLine;
constexpr std::size_t kArrivals = 1 << 16;
constexpr std::size_t kWarmUp = 2'000;  ///< bursts: 20 periods, in which the rates settle

struct Arrival {
    std::uint64_t sender;
    VnicId vnic;
};

/// Frames of all senders in random order, the worst for caches. With more senders than vNICs each sender has
/// one vNIC; with fewer, each vNIC has one sender.
std::vector<Arrival> arrivals(std::uint32_t vnics, std::uint32_t senders) {
    std::minstd_rand random(1);
    std::vector<Arrival> all(kArrivals);
    for (Arrival& arrival : all) {
        const std::uint32_t pair = static_cast<std::uint32_t>(random()) % std::max(vnics, senders);
        arrival = {0x5452 + (std::uint64_t{pair % senders} << 16), static_cast<VnicId>(pair % vnics)};
    }
    return all;
}

class BusyReceiver {
  public:
    BusyReceiver(std::uint32_t vnics, std::uint32_t senders)
        : receiver_({}, {.capacity = kCapacity, .line_rate = kLine, .law = {}}),
          arrivals_(arrivals(vnics, senders)) {
        for (std::uint32_t vnic = 0; vnic < vnics; ++vnic)
            receiver_.add(static_cast<VnicId>(vnic), {.reservation = kCapacity / vnics / 2});
    }

    /// A burst, as the poll loop does it.
    void poll() {
        now_ += kBurstTime;
        if (receiver_.due(now_))
            receiver_.sweep(now_);
        for (std::size_t i = 0; i < kBurst; ++i) {
            const Arrival& arrival = arrivals_[(next_ + i) % kArrivals];
            Feedback feedback{};
            benchmark::DoNotOptimize(
                receiver_.received(arrival.vnic, arrival.sender, kFrame, 0, now_, feedback));
        }
        next_ += kBurst;
    }

  private:
    Receiver receiver_;
    std::vector<Arrival> arrivals_;
    Nanos now_ = 1'000'000;
    std::size_t next_ = 0;
};

void receiver(benchmark::State& state) {
    BusyReceiver receiver(static_cast<std::uint32_t>(state.range(0)),
                          static_cast<std::uint32_t>(state.range(1)));
    for (std::size_t i = 0; i < kWarmUp; ++i)
        receiver.poll();
    std::uint64_t packets = 0;
    const auto from = std::chrono::steady_clock::now();
    const std::uint64_t began = cycles();
    for (auto _ : state) {
        receiver.poll();
        packets += kBurst;
    }
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - from;
    state.counters["cycles_per_packet"] =
        static_cast<double>(cycles() - began) / static_cast<double>(packets);
    state.counters["ns_per_packet"] = spent.count() / static_cast<double>(packets);
}
BENCHMARK(receiver)->ArgNames({"vnics", "senders"})->ArgsProduct({{1, 10, 100, 1000}, {1, 10, 1000}});

}  // namespace
}  // namespace weir::bench
