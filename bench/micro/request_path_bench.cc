// request_path_bench.cc - ns per frame of tracked requests: headers read, connection looked up, tracked,
// priced, admitted and settled, with limits that never bind. Units: ns. Threads: one.
//
//   get    a GET from the VM and its hit of 512 bytes: ns per frame of either
//   body   1448 bytes within a value, all of one connection, to the VM
//   ack    an acknowledgement from the VM
//
// Connections take turns in bursts of 32 frames, as in the poll loop; frames are in the cache, as after the
// copy from a guest's ring.
#include <benchmark/benchmark.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/micro/buffers.h"
#include "cost_functions/protocols/registry.h"
#include "vswitch/datapath/requests/request_path.h"

namespace weir::bench {
namespace {

constexpr std::uint16_t kBurst = limits::kBurst;
constexpr std::uint16_t kServicePort = 11211;
constexpr std::size_t kHeaderBytes = 54;

std::vector<Appliance> appliances() {
    std::vector<Appliance> all(1);
    all[0].address = {10, 0, 0, 9};
    all[0].port = kServicePort;
    all[0].protocol = protocol_index("memcached").value();
    all[0].cost = std::make_shared<CostTable>();
    return all;
}

SwitchConfig switch_config() {
    SwitchConfig config;
    config.appliances.emplace_back().name = "kv";
    return config;
}

VnicConfig vnic_config() {
    VnicConfig config;
    config.name = "vm";
    VnicApplianceConfig& appliance = config.appliances.emplace_back();
    appliance.name = "kv";
    appliance.limit_tokens = 1'000'000'000'000;
    appliance.uplink_bps = 400'000'000'000;
    appliance.downlink_bps = 400'000'000'000;
    return config;
}

/// On the heap, in pages of its own: beside a burst on the stack, 64 bytes more or less of it were 4 % of an
/// acknowledgement.
class Rig {
  public:
    explicit Rig(std::size_t connections)
        : appliances_(appliances()),
          config_(switch_config()),
          wheel_(limits::kRequestFlowsMax),
          requests_({.appliances = appliances_,
                     .pool = nullptr,  // no TCP window of a client is closed
                     .key = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
                     .worker = 0,
                     .shared = false,
                     .wheel = wheel_,
                     .wheel_id = 0,
                     .overhead_bytes = 24,
                     .tap = tap_}),
          path_(make_fixed(0, 0, nullptr, vnic_config(), config_), make_vnic_profile(vnic_config(), config_),
                0, 0),
          seq_(connections) {
        for (rte_mbuf*& frame : frames_)
            frame = rte_pktmbuf_alloc(buffer_pool());
        requests_.add(path_, 0);
        for (std::size_t opened = 0; opened < connections; opened += kBurst)
            for (const Side side : {Side::kRequests, Side::kResponses})
                pass(side, opened, "", Segment::kSyn);
    }
    ~Rig() { rte_pktmbuf_free_bulk(frames_.data(), kBurst); }
    Rig(const Rig&) = delete;
    Rig& operator=(const Rig&) = delete;

    /// A burst of one frame each of the connections from `first` on.
    void pass(Side side, std::size_t first, std::string_view text, std::uint8_t flags = Segment::kAck) {
        prepare(side, first, text, flags);
        send(side);
    }
    void prepare(Side side, std::size_t first, std::string_view text, std::uint8_t flags = Segment::kAck,
                 bool one = false) {
        for (std::uint16_t i = 0; i < kBurst; ++i) {
            const std::size_t number = one ? first : (first + i) % seq_.size();
            write(frames_[i], side, number, text, flags);
        }
    }
    void send(Side side) {
        now_ += 1000;
        Batch batch;
        std::uint32_t total = 0;
        for (std::uint16_t i = 0; i < kBurst; ++i) {
            batch.frames[i] = frames_[i];
            batch.bytes[i] = frames_[i]->pkt_len;
            batch.wire_frames[i] = 1;
            batch.to[i] = 1;
            total += batch.bytes[i];
        }
        batch.count = kBurst;
        batch.bytes_total = total;
        batch.wire_frames_total = kBurst;
        if (side == Side::kRequests)
            requests_.from_vm(path_, batch, now_);
        else
            requests_.to_vm(path_,
                            {batch.frames.data(), batch.bytes.data(), batch.wire_frames.data(), kBurst, total,
                             kBurst, 1514, 0},
                            now_);
        benchmark::DoNotOptimize(batch.count);
    }
    [[nodiscard]] RequestFlowStats stats() const {
        std::vector<RequestPath::Reading> readings;
        readings.reserve(limits::kAppliancesPerVnic);
        requests_.read(0, now_, readings);
        return readings.at(0).stats;
    }

  private:
    static void put(std::uint8_t* at, std::uint32_t value, unsigned bytes) {
        while (bytes-- > 0)
            *at++ = static_cast<std::uint8_t>(value >> 8 * bytes);
    }
    void write(rte_mbuf* frame, Side side, std::size_t number, std::string_view text, std::uint8_t flags) {
        const bool is_request = side == Side::kRequests;
        std::uint32_t& seq = seq_[number][is_request ? 0 : 1];
        auto* at = rte_pktmbuf_mtod(frame, std::uint8_t*);
        std::memset(at, 0, kHeaderBytes);
        put(at + 12, 0x0800, 2);
        put(at + 14, 0x45, 1);
        put(at + 16, static_cast<std::uint32_t>(40 + text.size()), 2);
        put(at + 23, 6, 1);
        put(at + (is_request ? 26 : 30), 0x0A00'0001, 4);
        put(at + (is_request ? 30 : 26), 0x0A00'0009, 4);
        put(at + (is_request ? 34 : 36), static_cast<std::uint32_t>(1024 + number), 2);
        put(at + (is_request ? 36 : 34), kServicePort, 2);
        put(at + 38, seq, 4);
        put(at + 46, 0x50, 1);
        put(at + 47, flags, 1);
        std::memcpy(at + kHeaderBytes, text.data(), text.size());
        frame->data_len = static_cast<std::uint16_t>(std::max<std::size_t>(60, kHeaderBytes + text.size()));
        frame->pkt_len = frame->data_len;
        seq += static_cast<std::uint32_t>(text.size()) + ((flags & Segment::kSyn) != 0 ? 1 : 0);
    }

    alignas(4096) std::vector<Appliance> appliances_;
    SwitchConfig config_;
    TimingWheel wheel_;
    CaptureTap tap_;
    RequestPath requests_;
    VnicPath path_;
    std::vector<std::array<std::uint32_t, 2>> seq_;
    std::array<rte_mbuf*, kBurst> frames_{};
    Nanos now_ = 0;
};

benchmark::Counter each(double count) {
    return {count * 1e-9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert};
}

const std::string kGet = "get key:00012345\r\n";
const std::string kHit = "VALUE key:00012345 0 512\r\n" + std::string(512, 'v') + "\r\nEND\r\n";

void get(benchmark::State& state) {
    const auto connections = static_cast<std::size_t>(state.range(0));
    const auto rig = std::make_unique<Rig>(connections);
    std::size_t first = 0;
    double frames = 0;
    for (auto _ : state) {
        std::chrono::duration<double> spent{};
        for (const Side side : {Side::kRequests, Side::kResponses}) {
            rig->prepare(side, first, side == Side::kRequests ? kGet : kHit);
            const auto begin = std::chrono::steady_clock::now();
            rig->send(side);
            spent += std::chrono::steady_clock::now() - begin;
        }
        state.SetIterationTime(spent.count());
        first = (first + kBurst) % connections;
        frames += 2 * kBurst;
    }
    state.counters["ns_per_frame"] = each(frames);
    if (rig->stats().responses != rig->stats().requests || rig->stats().plain_bytes != 0)
        state.SkipWithError("responses did not find their requests");
}
BENCHMARK(get)->Arg(32)->Arg(256)->Arg(8192)->UseManualTime();

void body(benchmark::State& state) {
    const auto rig = std::make_unique<Rig>(32);
    rig->pass(Side::kRequests, 0, kGet);
    rig->pass(Side::kResponses, 0, "VALUE key:00012345 0 1000000000\r\n");
    rig->prepare(Side::kResponses, 0, std::string(1448, 'v'), Segment::kAck, true);
    double frames = 0;
    for (auto _ : state) {
        rig->send(Side::kResponses);
        frames += kBurst;
    }
    state.counters["ns_per_frame"] = each(frames);
    if (rig->stats().plain_bytes != 0)
        state.SkipWithError("the frames were not part of a value");
}
BENCHMARK(body);

void ack(benchmark::State& state) {
    const auto rig = std::make_unique<Rig>(32);
    rig->prepare(Side::kRequests, 0, "");
    double frames = 0;
    for (auto _ : state) {
        rig->send(Side::kRequests);
        frames += kBurst;
    }
    state.counters["ns_per_frame"] = each(frames);
}
BENCHMARK(ack);

}  // namespace
}  // namespace weir::bench
