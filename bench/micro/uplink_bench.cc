// uplink_bench.cc - cycles per frame of 64 bytes from a vNIC to the wire past the queues, in bursts of 32.
// Units: TSC cycles. Threads: one. Without limits for single destinations, and with destinations whose rates
// the controller allocated, in runs of some frames to each.
#include <benchmark/benchmark.h>
#include <rte_mbuf.h>

#include <array>
#include <cstring>
#include <stdexcept>

#include "bench/micro/buffers.h"
#include "bench/micro/cycles.h"
#include "vswitch/datapath/output/uplink.h"

namespace weir::bench {
namespace {

constexpr std::uint16_t kBurst = limits::kBurst;
constexpr std::uint16_t kFrameBytes = 64;
constexpr std::uint64_t kRate = 50'000'000'000;         // bytes per second: binds nothing
constexpr std::uint64_t kFirstPeer = 0x000A'0000'0002;  // 02:00:00:00:0a:00, in the order of a header

constexpr std::uint64_t peer_address(std::uint32_t peer) {
    return kFirstPeer + (std::uint64_t{peer} << 40);
}

class Rig {
  public:
    explicit Rig(std::uint32_t allocated)
        : path_(make_fixed(0, 0, nullptr, VnicConfig{}, config_), make_vnic_profile(VnicConfig{}, config_), 0,
                0),
          uplink_(setup()) {
        uplink_.egress().set_capacity(kRate, kRate, 0);
        uplink_.add(path_, 0);
        for (std::uint32_t peer = 0; peer < allocated; ++peer)
            if (!uplink_.allocate(0, peer_address(peer), UINT64_MAX, 0))
                throw std::runtime_error("no room for an allocation");
    }
    ~Rig() { uplink_.remove(path_, now_); }
    Rig(const Rig&) = delete;
    Rig& operator=(const Rig&) = delete;

    /// Sends a burst to the next of `peers`, `run_frames` to each in turn. @return cycles
    std::uint64_t send(std::uint32_t peers, std::uint32_t run_frames) {
        if (rte_pktmbuf_alloc_bulk(buffer_pool(), frames_.data(), kBurst) != 0)
            throw std::runtime_error("no buffers");
        for (std::uint16_t i = 0; i < kBurst; ++i) {
            write(frames_[i], peer_address(next_));
            if ((i + 1U) % run_frames == 0)
                next_ = (next_ + 1) % peers;
        }
        now_ += 10'000;
        const Run run{frames_.data(),     bytes_.data(), wire_frames_.data(), kBurst,
                      kBurst * bytes_[0], kBurst,        kFrameBytes,         0};
        const std::uint64_t began = cycles();
        uplink_.send(path_, run, now_);
        const std::uint64_t spent = cycles() - began;
        uplink_.flush(now_);
        return spent;
    }
    /// Whether no frame was queued and those to an allocated peer were counted.
    [[nodiscard]] bool all_passed(bool allocated) const {
        PeerReading peer{.address = peer_address(0)};
        uplink_.read_peer(0, peer);
        return path_.stats.from_vm.queued.packets == 0 && (peer.bytes != 0) == allocated;
    }

  private:
    static void write(rte_mbuf* frame, std::uint64_t to) {
        frame->data_len = kFrameBytes;
        frame->pkt_len = kFrameBytes;
        auto* at = rte_pktmbuf_mtod(frame, std::uint8_t*);
        for (unsigned i = 0; i < 6; ++i)
            at[i] = static_cast<std::uint8_t>(to >> 8 * i);
    }
    Uplink::Setup setup() {
        return {.device = device_,
                .queue = 0,
                .pool = buffer_pool(),
                .directory = directory_.data(),
                .overhead_bytes = limits::kWireOverheadBytes,
                .mtu = 1500,
                .egress = {.wheel = &wheel_,
                           .vnics = limits::kVnicsMax,
                           .destinations = limits::kDestinationLimitsMax,
                           .destination_wheel_id = limits::kVnicsMax,
                           .limits = {.line_rate = kRate}},
                .tap = tap_};
    }

    NicDevice device_{{.device = "net_null0", .owner = "bench"}, buffer_pool()};
    SwitchConfig config_;
    TimingWheel wheel_{limits::kVnicsMax + limits::kDestinationLimitsMax, 0};
    VnicPath path_;
    std::array<VnicPath*, limits::kVnicsMax> directory_{&path_};
    CaptureTap tap_;
    Uplink uplink_;
    std::array<rte_mbuf*, kBurst> frames_{};
    std::array<std::uint32_t, kBurst> bytes_ =
        filled<std::uint32_t>(kFrameBytes + limits::kWireOverheadBytes);
    std::array<std::uint16_t, kBurst> wire_frames_ = filled<std::uint16_t>(1);
    std::uint32_t next_ = 0;
    Nanos now_ = 1'000'000;

    template <typename T>
    static std::array<T, kBurst> filled(T value) {
        std::array<T, kBurst> all;
        all.fill(value);
        return all;
    }
};

void uplink(benchmark::State& state, std::uint32_t allocated, std::uint32_t peers, std::uint32_t run_frames) {
    try {
        Rig rig(allocated);
        std::uint64_t spent = 0;
        for (auto _ : state)
            spent += rig.send(peers, run_frames);
        state.counters["cycles_per_frame"] =
            static_cast<double>(spent) / static_cast<double>(state.iterations()) / kBurst;
        if (!rig.all_passed(allocated != 0))
            state.SkipWithError("frames were queued, or not counted");
    } catch (const std::exception& error) {
        state.SkipWithError(error.what());
    }
}
BENCHMARK_CAPTURE(uplink, plain, 0, 1, kBurst);
BENCHMARK_CAPTURE(uplink, allocated_one_peer, 1, 1, kBurst);
BENCHMARK_CAPTURE(uplink, allocated_runs_of_8, 64, 64, 8);
BENCHMARK_CAPTURE(uplink, allocated_in_turn, 64, 64, 1);
BENCHMARK_CAPTURE(uplink, others_allocated, 1, 64, 1);

}  // namespace
}  // namespace weir::bench
