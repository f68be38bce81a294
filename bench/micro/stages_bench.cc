// stages_bench.cc - cycles per frame of each stage of the poll loop, alone and warm, in bursts of 32; and of
// whole turns without rings; of the agent's samples, a command. Units: TSC cycles. Threads: one.
//
// A ring's stage reads and writes memory of a guest that no other core has touched, so that its cycles are
// the switch's own work: cache lines that travel between two cores come on top (bench/run.sh forwarding has
// both).
#include <benchmark/benchmark.h>
#include <rte_mbuf.h>

#include <array>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

#include "bench/micro/buffers.h"
#include "bench/micro/cycles.h"
#include "bench/micro/plain_worker.h"
#include "bench/micro/ring_rig.h"
#include "vswitch/datapath/loop/classifier.h"
#include "vswitch/datapath/loop/worker.h"
#include "vswitch/datapath/output/delivery.h"

namespace weir::bench {
namespace {

/// The same frames from each poll, and none is ever freed by the switch.
class EndlessPort final : public Port {
  public:
    explicit EndlessPort(std::uint16_t bytes) : frames_(make_burst(bytes)) {}
    ~EndlessPort() override { rte_pktmbuf_free_bulk(frames_.data(), kBurst); }
    std::uint16_t rx_burst(rte_mbuf** frames, std::uint16_t max) override {
        const std::uint16_t count = sends ? std::min(max, kBurst) : std::uint16_t{0};
        std::copy_n(frames_.begin(), count, frames);
        return count;
    }
    std::uint16_t tx_burst(rte_mbuf** /*frames*/, std::uint16_t count) override {
        taken += count;
        return count;
    }
    [[nodiscard]] bool up() const override { return true; }
    [[nodiscard]] PortOffloads offloads() const override { return {}; }
    [[nodiscard]] std::vector<std::string> features() const override { return {}; }
    bool sends = false;
    std::uint64_t taken = 0;

  private:
    Frames frames_;
};

/// Two vNICs or more on one worker, without an uplink.
class SwitchRig {
  public:
    SwitchRig(std::uint16_t bytes, std::uint16_t vnics) : sender_(bytes) {
        buffer_pool();
        quiescence_ = std::make_unique<Quiescence>(1);
        inboxes_.push_back(std::make_unique<Inbox>(WorkerId{0}));
        worker_ = make_plain_worker(0, inboxes_, *quiescence_);
        for (VnicId id = 0; id < vnics; ++id) {
            VnicConfig vnic;
            vnic.name = "vm" + std::to_string(id);
            paths_.push_back(
                std::make_unique<VnicPath>(make(id, vnic), make_vnic_profile(vnic, config_), 1000, 0));
            carry_out(*worker_, command::AddVnic{paths_.back().get()}, now_);
        }
    }
    ~SwitchRig() {
        for (const auto& path : paths_)
            carry_out(*worker_, command::RemoveVnic{path->fixed.id}, now_);
        quiescence_->offline(0);
    }
    SwitchRig(const SwitchRig&) = delete;
    SwitchRig& operator=(const SwitchRig&) = delete;

    void send(bool on) { sender_.sends = on; }
    [[nodiscard]] VnicPath& vnic(VnicId id) { return *paths_[id]; }
    [[nodiscard]] std::uint64_t delivered() const { return receiver_.taken; }
    /// A command for the first vNICs, between two turns. @return cycles of the worker
    std::uint64_t sample(VnicSamples& samples) {
        (void)worker_->control().post(command::SampleVnics{&samples});
        const std::uint64_t began = cycles();
        (void)worker_->run_commands(now_);
        return cycles() - began;
    }
    /// One turn. @return cycles
    std::uint64_t turn() {
        now_ += 10'000;
        const std::uint64_t began = cycles();
        worker_->run_once(now_, began);
        return cycles() - began;
    }

  private:
    VnicFixed make(VnicId id, VnicConfig& vnic) {
        Port* port = id == 0 ? &sender_ : id == 1 ? &receiver_ : &idle_;
        VnicFixed fixed = make_fixed(id, 0, port, vnic, config_);
        fixed.mac = mac(id);
        fixed.mac_mask = kMacMask;
        return fixed;
    }
    EndlessPort sender_;
    EndlessPort receiver_{64};
    EndlessPort idle_{64};
    SwitchConfig config_;
    std::unique_ptr<Quiescence> quiescence_;
    std::vector<std::unique_ptr<Inbox>> inboxes_;
    std::unique_ptr<Worker> worker_;
    std::vector<std::unique_ptr<VnicPath>> paths_;
    Nanos now_ = 1'000'000;
};

/// Runs `once`, which returns cycles, in all iterations, and reports them per frame.
template <class Once>
void measure(benchmark::State& state, Once&& once, double per) {
    std::uint64_t spent = 0;
    for (auto _ : state)
        spent += once();
    state.counters["cycles_per_frame"] =
        static_cast<double>(spent) / static_cast<double>(state.iterations()) / per;
}

template <class Run>
void guarded(benchmark::State& state, Run&& run) {
    try {
        run();
    } catch (const std::exception& error) {
        state.SkipWithError(error.what());
    }
}

void take(benchmark::State& state) {
    guarded(state, [&] {
        RingRig rig(static_cast<std::uint16_t>(state.range(0)), false);
        measure(
            state, [&] { return rig.take(); }, kBurst);
    });
}
void put(benchmark::State& state) {
    guarded(state, [&] {
        RingRig rig(static_cast<std::uint16_t>(state.range(0)), true);
        measure(
            state, [&] { return rig.put(); }, kBurst);
    });
}

void classify(benchmark::State& state) {
    guarded(state, [&] {
        SwitchRig rig(64, 2);
        MacTable macs(1, 300 * kNanosPerSec, nullptr);  // the rig has that of worker 0
        macs.set_static(mac_key(mac(1), 0), 1);
        CaptureTap tap;
        Frames frames = make_burst(64);
        Nanos now = 1'000'000;
        measure(
            state,
            [&] {
                Batch batch;
                const std::uint64_t began = cycles();
                classify_from_vm(rig.vnic(0), macs, kToAll, tap, frames.data(), kBurst, false, ++now, batch);
                const std::uint64_t spent = cycles() - began;
                if (batch.count != kBurst || batch.to[0] != 1)
                    throw std::runtime_error("not all frames were found");
                return spent;
            },
            kBurst);
        rte_pktmbuf_free_bulk(frames.data(), kBurst);
    });
}

void deliver(benchmark::State& state) {
    guarded(state, [&] {
        SwitchRig rig(64, 2);
        CycleBill bill;
        CaptureTap tap;
        Delivery delivery(
            {.worker = 0, .pool = buffer_pool(), .inboxes = {}, .bill = bill, .tap = tap, .source_key = {}});
        Frames frames = make_burst(64);
        std::array<std::uint32_t, kBurst> bytes;
        bytes.fill(64 + limits::kWireOverheadBytes);
        std::array<std::uint16_t, kBurst> wire_frames;
        wire_frames.fill(1);
        const Run run{
            frames.data(), bytes.data(), wire_frames.data(), kBurst, kBurst * bytes[0], kBurst, 64, 0};
        const Origin origin{.vm = &rig.vnic(0), .now = 1'000'000};
        measure(
            state,
            [&] {
                const std::uint64_t began = cycles();
                delivery.deliver(origin, rig.vnic(1), run, true);
                return cycles() - began;
            },
            kBurst);
        rte_pktmbuf_free_bulk(frames.data(), kBurst);
    });
}

void turn(benchmark::State& state) {
    guarded(state, [&] {
        SwitchRig rig(64, 2);
        rig.send(true);
        std::uint64_t turns = 0;
        const std::uint64_t before = rig.delivered();
        measure(
            state,
            [&] {
                ++turns;
                return rig.turn();
            },
            kBurst);
        if (rig.delivered() - before != turns * kBurst)
            throw std::runtime_error("not all frames were delivered");
    });
}

/// @param range how many vNICs there are, whose rings are empty
void idle_turn(benchmark::State& state) {
    guarded(state, [&] {
        const auto vnics = static_cast<std::uint16_t>(state.range(0));
        SwitchRig rig(64, vnics);
        measure(
            state, [&] { return rig.turn(); }, vnics);
    });
}

/// Of the agent's history, after a turn. @param range how many vNICs the command names
void sample(benchmark::State& state) {
    guarded(state, [&] {
        const auto vnics = static_cast<std::uint16_t>(state.range(0));
        SwitchRig rig(64, vnics);
        rig.send(true);
        VnicSamples samples;
        for (; samples.count < vnics; ++samples.count)
            samples.vnics[samples.count].id = static_cast<VnicId>(samples.count);
        std::vector<char> cache(state.range(1) == 0 ? 0 : 64U << 20);
        std::uint64_t spent = 0;
        for (auto _ : state) {
            rig.turn();
            for (std::size_t at = 0; at < cache.size(); at += 64)
                ++cache[at];
            spent += rig.sample(samples);
        }
        state.counters["cycles_per_command"] =
            static_cast<double>(spent) / static_cast<double>(state.iterations());
    });
}

BENCHMARK(take)->Arg(64)->Arg(512)->Arg(1500)->ArgName("bytes");
BENCHMARK(put)->Arg(64)->Arg(512)->Arg(1500)->ArgName("bytes");
BENCHMARK(classify);
BENCHMARK(deliver);
BENCHMARK(turn);
BENCHMARK(sample)->Args({1, 0})->Args({16, 0})->Args({64, 0})->ArgNames({"vnics", "cold"});
BENCHMARK(sample)->Args({16, 1})->Args({64, 1})->ArgNames({"vnics", "cold"})->Iterations(200);
BENCHMARK(idle_turn)->Arg(1)->Arg(16)->Arg(256)->ArgName("vnics");

}  // namespace
}  // namespace weir::bench
