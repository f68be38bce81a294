// workers_bench.cc - packets per us of one worker, of two that share nothing, and of two that poll the queue
// pairs of one vNIC; and the exactness of such a vNIC's limit. Units: packets, us, bytes. Threads: a worker
// each, on cores 0 and 1.
//
//   forward  frames of 64 bytes from a vNIC to another of the same host, with limits that do not bind. one:
//            both queue pairs on one worker; apart: two pairs of vNICs, one for each worker; spread: two
//            vNICs with a queue pair on each worker
//   limit    the same, with a limit that binds: the largest error of 100 ms, in percent
//
// A generator would need a third core: here the guests' rings are in memory of their worker, and offer the
// same buffers again and again. The rate is that of the time in turns.
#include <benchmark/benchmark.h>
#include <pthread.h>
#include <rte_cycles.h>
#include <rte_lcore.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "bench/micro/plain_worker.h"
#include "bench/micro/ring_rig.h"

namespace weir::bench {
namespace {

constexpr std::uint16_t kBytes = 64;
constexpr Nanos kWindow = 100'000'000;

enum class Shape : std::uint8_t { kOne, kApart, kSpread };

/// Queue pairs of a guest, one after the other.
class alignas(64) MemoryPort final : public Port {
  public:
    /// @param to_guest frames to the guest are taken, and it sends none
    MemoryPort(std::size_t pairs, bool to_guest, std::uint64_t from, std::uint64_t to) : to_guest_(to_guest) {
        for (std::size_t i = 0; i < pairs; ++i)
            rings_.push_back(std::make_unique<RingRig>(kBytes, to_guest, make_burst(kBytes, from, to)));
    }
    std::uint16_t rx_burst(rte_mbuf** frames, std::uint16_t max) override {
        return to_guest_ ? std::uint16_t{0} : next().take(frames, max);
    }
    std::uint16_t tx_burst(rte_mbuf** frames, std::uint16_t count) override {
        const std::uint16_t taken = next().put({frames, count});
        rte_pktmbuf_free_bulk(frames, taken);
        return taken;
    }
    [[nodiscard]] bool up() const override { return true; }
    [[nodiscard]] PortOffloads offloads() const override { return {}; }
    [[nodiscard]] std::vector<std::string> features() const override { return {}; }

  private:
    RingRig& next() { return *rings_[++turn_ % rings_.size()]; }

    bool to_guest_;
    std::vector<std::unique_ptr<RingRig>> rings_;
    std::size_t turn_ = 0;
};

/// A switch whose workers are in threads while run() lasts.
class Host {
  public:
    Host(Shape shape, std::uint64_t limit_bps) : workers_count_(shape == Shape::kOne ? 1 : 2) {
        config_.workers.assign(workers_count_, 0);
        quiescence_ = std::make_unique<Quiescence>(workers_count_);
        for (WorkerId id = 0; id < workers_count_; ++id)
            inboxes_.push_back(std::make_unique<Inbox>(id));
        for (WorkerId id = 0; id < workers_count_; ++id)
            workers_.push_back(make_plain_worker(id, inboxes_, *quiescence_));
        limit_.limit_bps = limit_bps;
        limit_.limit_pps = 400'000'000;
        if (shape == Shape::kApart) {
            for (WorkerId id = 0; id < 2; ++id)
                for (const unsigned n : {2U * id, 2U * id + 1})
                    add(n, id, 1, nullptr, 0);
            return;
        }
        for (unsigned n = 0; n < 2; ++n)
            if (shape == Shape::kOne)
                add(n, 0, 2, nullptr, 0);
            else
                add_spread(n);
    }
    ~Host() {
        for (std::size_t at = paths_.size(); at != 0; --at)
            for (const auto& worker : workers_)
                carry_out(*worker, command::RemoveVnic{paths_[at - 1]->fixed.id}, 0);
        for (WorkerId id = 0; id < workers_count_; ++id)
            quiescence_->offline(id);
    }
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;

    /// Bytes and cycles of one worker.
    struct Work {
        std::uint64_t packets = 0;
        std::uint64_t cycles = 0;
        std::map<Nanos, std::uint64_t> bytes;  ///< delivered before the begin of each window
    };
    std::vector<Work> run(Nanos span) {
        std::vector<Work> work(workers_count_);
        std::vector<std::thread> threads;
        std::atomic<unsigned> ready{0};
        for (WorkerId id = 0; id < workers_count_; ++id)
            threads.emplace_back([&, id] { poll(id, span, ready, work[id]); });
        for (std::thread& thread : threads)
            thread.join();
        return work;
    }

  private:
    /// Even vNICs send to the next one. @param n of the address
    void add(unsigned n, WorkerId worker, std::size_t pairs, Spread* spread, std::size_t member) {
        ports_.push_back(std::make_unique<MemoryPort>(pairs, n % 2 == 1, mac(n), mac(n + 1)));
        const auto id = static_cast<VnicId>(paths_.size());
        VnicConfig vnic = n % 2 == 0 ? limit_ : VnicConfig{};
        vnic.mac = MacAddress{mac(n)};
        const VnicProfile profile = make_vnic_profile(vnic, config_);
        const VnicFixed fixed =
            member == 0 ? make_fixed(id, worker, ports_.back().get(), vnic, config_)
                        : make_member(paths_[spread->ids[0]]->fixed, id, worker, ports_.back().get(), 0);
        paths_.push_back(std::make_unique<VnicPath>(fixed, profile, 1000, 0, spread, member));
        for (const auto& each : workers_)
            carry_out(*each, command::AddVnic{paths_.back().get()}, 0);
    }
    void add_spread(unsigned n) {
        const auto first = static_cast<VnicId>(paths_.size());
        const std::array ids{first, static_cast<VnicId>(first + 1)};
        spreads_.push_back(std::make_unique<Spread>(ids, 1'250'000'000));
        for (WorkerId id = 0; id < 2; ++id)
            add(n, id, 1, spreads_.back().get(), id);
    }
    [[nodiscard]] Tally delivered(WorkerId worker) const {
        Tally sum;
        for (const auto& path : paths_)
            if (path->fixed.owner == worker)
                sum.add(path->stats.from_vm.delivered.packets, path->stats.from_vm.delivered.bytes);
        return sum;
    }
    void poll(WorkerId id, Nanos span, std::atomic<unsigned>& ready, Work& result) {
        Work work;  // of this thread's own memory until the end
        pin(id);
        (void)rte_thread_register();  // for a cache of buffers
        const TickConverter ticks(rte_get_tsc_hz(), 0);
        Worker& worker = *workers_[id];
        // The workers find the rings of their members before it counts.
        for (unsigned turns = 0; turns < 4 * limits::kHousekeepingIterations; ++turns)
            worker.run_once(ticks.to_nanos(cycles()));
        for (ready.fetch_add(1); ready.load() != workers_count_;) {
        }
        const std::uint64_t before = delivered(id).packets;
        const Nanos from = ticks.to_nanos(cycles());
        Nanos window = from / kWindow;
        for (Nanos now = from; now < from + span;) {
            const std::uint64_t began = cycles();
            now = ticks.to_nanos(began);
            if (now / kWindow != window)
                work.bytes[window = now / kWindow] = delivered(id).bytes;
            worker.run_once(now, began);
            work.cycles += cycles() - began;
        }
        work.packets = delivered(id).packets - before;
        result = std::move(work);
        rte_thread_unregister();
    }
    static void pin(unsigned core) {
        cpu_set_t cores;
        CPU_ZERO(&cores);
        CPU_SET(core, &cores);
        if (pthread_setaffinity_np(pthread_self(), sizeof(cores), &cores) != 0)
            throw std::runtime_error("two cores are needed");
    }

    unsigned workers_count_;
    SwitchConfig config_;
    VnicConfig limit_;
    std::unique_ptr<Quiescence> quiescence_;
    std::vector<std::unique_ptr<Inbox>> inboxes_;
    std::vector<std::unique_ptr<Worker>> workers_;
    std::vector<std::unique_ptr<MemoryPort>> ports_;
    std::vector<std::unique_ptr<Spread>> spreads_;
    std::vector<std::unique_ptr<VnicPath>> paths_;
};

void forward(benchmark::State& state, Shape shape) {
    buffer_pool();
    Host host(shape, 400'000'000'000);
    const double cycles_per_us = static_cast<double>(rte_get_tsc_hz()) / 1e6;
    double rate = 0;
    for (auto _ : state) {
        for (const Host::Work& work : host.run(kWindow / 2))
            rate += static_cast<double>(work.packets) / static_cast<double>(work.cycles) * cycles_per_us;
        state.SetIterationTime(0.05);
    }
    state.counters["packets_per_us"] = rate / static_cast<double>(state.iterations());
}

/// Windows that all workers saw from begin to end. @return percent
double largest_error(const std::vector<Host::Work>& works, double bytes_per_window) {
    double largest = 0;
    for (const auto& [window, bytes] : works.front().bytes) {
        double sum = 0;
        bool whole = true;
        for (const Host::Work& work : works) {
            const auto from = work.bytes.find(window);
            const auto to = work.bytes.find(window + 1);
            whole = whole && from != work.bytes.end() && to != work.bytes.end();
            sum += whole ? static_cast<double>(to->second - from->second) : 0;
        }
        if (whole)
            largest = std::max(largest, std::abs(sum / bytes_per_window - 1) * 100);
    }
    return largest;
}

void limit(benchmark::State& state, Shape shape) {
    constexpr std::uint64_t kLimit = 1'000'000'000;
    buffer_pool();
    Host host(shape, kLimit);
    double error = 0;
    for (auto _ : state) {
        error = std::max(error, largest_error(host.run(6 * kWindow), kLimit / 8.0 / 10));
        state.SetIterationTime(0.6);
    }
    state.counters["error_percent"] = error;
}

BENCHMARK_CAPTURE(forward, one, Shape::kOne)->Iterations(1)->UseManualTime();
BENCHMARK_CAPTURE(forward, apart, Shape::kApart)->Iterations(1)->UseManualTime();
BENCHMARK_CAPTURE(forward, spread, Shape::kSpread)->Iterations(1)->UseManualTime();
BENCHMARK_CAPTURE(limit, one, Shape::kOne)->Iterations(1)->UseManualTime();
BENCHMARK_CAPTURE(limit, spread, Shape::kSpread)->Iterations(1)->UseManualTime();

}  // namespace
}  // namespace weir::bench
