// run.cc - the phases of a run, receiving, and the result as JSON.
#include "bench/load/virtio/run.h"

#include <rte_cycles.h>
#include <rte_mbuf.h>
#include <time.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "bench/load/virtio/frame.h"

namespace weir::load {

namespace {

constexpr std::uint64_t kWireOverheadBytes = 24;  // FCS 4, preamble 8, gap 12
constexpr double kWireBytesMax = 2 * 1524;        // that a slow wire carries at once after a pause
/// Longer than any work of the generator between two polls of the measured ports: another program, or the
/// hypervisor, had its core.
constexpr double kPauseSeconds = 50e-6;
/// With more ports, serve_measured() is called after each of them, too.
constexpr std::size_t kPortsWithoutFloods = 4;

std::uint64_t monotonic_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

std::uint64_t median_of(std::vector<std::uint64_t> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

std::uint64_t cycles(double seconds, std::uint64_t hz) {
    return static_cast<std::uint64_t>(seconds * static_cast<double>(hz));
}

}  // namespace

Run::Run(const RunSpec& spec, std::vector<std::unique_ptr<Port>>& ports)
    : spec_(spec),
      ports_(ports),
      tallies_(ports.size()),
      tsc_hz_(rte_get_tsc_hz()),
      pause_cycles_(cycles(kPauseSeconds, tsc_hz_)),
      series_cycles_(cycles(spec.series, tsc_hz_)) {
    for (std::uint32_t id = 0; id < spec_.streams.size(); ++id) {
        const auto& stream = spec_.streams[id];
        Port& from = *ports_[stream.from];
        const Mac to = stream.dst_mac.value_or(ports_[stream.to]->mac());
        auto* pool = frame_pool(id, stream, from.mac(), to);
        streams_.push_back(std::make_unique<Stream>(stream, from, to, pool, tsc_hz_));
    }
    for (const auto port : spec_.inspect)
        tallies_.at(port).inspect = true;
    for (const auto port : spec_.echo)
        tallies_.at(port).echo = true;
    for (const auto port : spec_.unread)
        tallies_.at(port).unread = true;
    for (const auto& [port, bps] : spec_.wire_bps)
        tallies_.at(port).wire_bytes_per_cycle = bps / 8 / static_cast<double>(tsc_hz_);
    if (spec_.series > 0)
        for (auto& tally : tallies_)
            tally.series.resize(static_cast<std::size_t>(spec_.seconds / spec_.series) + 1);
    begun_monotonic_ns_ = monotonic_ns();
    begun_tsc_ = rte_rdtsc();
    phase_ends_ = begun_tsc_ + cycles(spec_.warmup, tsc_hz_);
}

bool Run::step(std::uint64_t now) {
    const std::uint64_t gap = last_step_ == 0 ? 0 : now - last_step_;
    gap_max_ = std::max(gap_max_, gap);
    last_step_ = now;
    note_poll(now);
    // Beside 28 VMs that flood an iteration takes 200 us, which none of the measured frames may wait.
    const bool floods = ports_.size() - spec_.unread.size() > kPortsWithoutFloods;
    for (std::size_t port = 0; port < ports_.size(); ++port) {
        receive(port, gap);
        if (floods)
            serve_measured();
    }
    const bool sends = phase_.load(std::memory_order_relaxed) < Phase::kDrain;
    for (std::size_t stream = 0; sends && stream < streams_.size(); ++stream) {
        streams_[stream]->send(streams_[stream]->paced() ? rte_rdtsc() : now);
        if (floods)
            serve_measured();
    }
    if (now >= phase_ends_)
        advance_phase(now);
    return phase_.load(std::memory_order_relaxed) != Phase::kDone;
}

void Run::note_poll(std::uint64_t now) {
    if (now - last_poll_ > pause_cycles_)
        pause_end_ = now;
    last_poll_ = now;
}

void Run::serve_measured() {
    note_poll(rte_rdtsc());
    for (std::size_t port = 0; port < ports_.size(); ++port)
        if (tallies_[port].inspect)
            receive(port, 0);
    if (phase_.load(std::memory_order_relaxed) >= Phase::kDrain)
        return;
    for (auto& stream : streams_)
        if (stream->paced())
            stream->send(rte_rdtsc());
}

void Run::advance_phase(std::uint64_t now) {
    switch (phase_.load(std::memory_order_relaxed)) {
        case Phase::kWarmUp:
            for (auto& stream : streams_)
                stream->start_counting(now);
            for (auto& tally : tallies_)
                tally.packets = tally.bytes = 0;
            gap_max_ = 0;
            measured_from_ = now;
            enter(Phase::kMeasure, now, cycles(spec_.seconds, tsc_hz_));
            break;
        case Phase::kMeasure:
            measured_cycles_ = now - measured_from_;
            enter(Phase::kDrain, now, cycles(spec_.drain, tsc_hz_));
            break;
        default:
            enter(Phase::kDone, now, 0);
    }
}

void Run::enter(Phase phase, std::uint64_t now, std::uint64_t cycles_long) {
    phase_ends_ = now + cycles_long;
    phase_.store(phase, std::memory_order_release);
    phase_.notify_all();
}

void Run::receive(std::size_t index, std::uint64_t gap) {
    Port& port = *ports_[index];
    Tally& tally = tallies_[index];
    if (tally.unread)
        return;
    rte_mbuf* packets[kBurstMax];
    int bursts = 4;
    std::uint16_t burst = kBurstMax;
    if (tally.wire_bytes_per_cycle > 0) {
        tally.wire_bytes =
            std::min(tally.wire_bytes + static_cast<double>(gap) * tally.wire_bytes_per_cycle, kWireBytesMax);
        if (tally.wire_bytes < 0)
            return;
        bursts = 1;
        burst = 1;
    }
    for (std::uint16_t queue = 0; queue < port.queues(); ++queue) {
        for (int i = 0; i < bursts; ++i) {
            const std::uint16_t count = port.receive(queue, packets, burst);
            if (count == 0)
                break;
            account(tally, packets, count);
            if (tally.inspect)
                inspect(packets, count);
            if (tally.echo)
                send_back(port, packets, count);
            else
                rte_pktmbuf_free_bulk(packets, count);
        }
    }
}

void Run::account(Tally& tally, rte_mbuf** packets, std::uint16_t count) {
    if (tally.first_tsc == 0) {
        tally.first_tsc = rte_rdtsc();
        if (spec_.stop_on_rx && &tally == &tallies_[*spec_.stop_on_rx])
            phase_ends_ = 0;
    }
    std::uint64_t bytes = 0;
    for (std::uint16_t i = 0; i < count; ++i)
        bytes += packets[i]->pkt_len;
    tally.wire_bytes -= static_cast<double>(bytes + count * kWireOverheadBytes);
    const Phase phase = phase_.load(std::memory_order_relaxed);
    if (phase == Phase::kDrain)
        return;
    tally.packets += count;
    tally.bytes += bytes;
    if (series_cycles_ != 0 && phase == Phase::kMeasure) {
        const std::size_t at = (rte_rdtsc() - measured_from_) / series_cycles_;
        tally.series[std::min(at, tally.series.size() - 1)] += count;
    }
}

void Run::inspect(rte_mbuf** packets, std::uint16_t count) {
    const std::uint64_t now = rte_rdtsc();
    for (std::uint16_t i = 0; i < count; ++i) {
        const auto stamp =
            read_stamp(rte_pktmbuf_mtod(packets[i], const std::uint8_t*), packets[i]->data_len);
        if (stamp && stamp->stream < streams_.size())
            streams_[stamp->stream]->arrived(stamp->tsc, now, pause_end_);
    }
}

void Run::send_back(Port& port, rte_mbuf** packets, std::uint16_t count) {
    for (std::uint16_t i = 0; i < count; ++i) {
        auto* frame = rte_pktmbuf_mtod(packets[i], std::uint8_t*);
        std::swap_ranges(frame, frame + kMacBytes, frame + kMacBytes);
    }
    const std::uint16_t sent = port.send(packets, count);
    rte_pktmbuf_free_bulk(packets + sent, static_cast<unsigned>(count - sent));
}

void Run::wait_past(Phase phase) const {
    for (Phase seen = phase_.load(); seen <= phase && seen != Phase::kDone; seen = phase_.load())
        phase_.wait(seen);
}

nlohmann::json Run::port_result(std::size_t index, double seconds) const {
    const Tally& tally = tallies_[index];
    nlohmann::json out = {{"rx_packets", tally.packets},
                          {"rx_bytes", tally.bytes},
                          {"rx_pps", static_cast<double>(tally.packets) / seconds},
                          {"rx_bps", static_cast<double>(tally.bytes) * 8 / seconds},
                          {"first_rx_monotonic_ns", nullptr}};
    if (tally.first_tsc != 0) {
        const double ns =
            static_cast<double>(tally.first_tsc - begun_tsc_) * 1e9 / static_cast<double>(tsc_hz_);
        out["first_rx_monotonic_ns"] = begun_monotonic_ns_ + static_cast<std::uint64_t>(ns);
    }
    if (series_cycles_ != 0)
        out["series"] = tally.series;
    return out;
}

nlohmann::json Run::stream_result(std::size_t index, double seconds) const {
    const Stream& stream = *streams_[index];
    const double us = 1e6 / static_cast<double>(tsc_hz_);
    const auto at = [&](double share) { return static_cast<double>(stream.delay.quantile(share)) * us; };
    nlohmann::json out = {{"name", spec_.streams[index].name},
                          {"accepted", stream.accepted},
                          {"refused", stream.refused},
                          {"accepted_pps", static_cast<double>(stream.accepted) / seconds},
                          {"received", stream.received}};
    if (stream.delay.total() != 0) {
        out["delay_us"] = {{"count", stream.delay.total()},
                           {"untimed", stream.untimed},
                           {"p50", at(0.5)},
                           {"p90", at(0.9)},
                           {"p99", at(0.99)},
                           {"p999", at(0.999)},
                           {"max", at(1.0)}};
        if (!stream.window_p99.empty())
            out["delay_us"]["p99_typical"] = static_cast<double>(median_of(stream.window_p99)) * us;
    }
    return out;
}

nlohmann::json Run::result() const {
    const double seconds = static_cast<double>(measured_cycles_) / static_cast<double>(tsc_hz_);
    nlohmann::json ports = nlohmann::json::array();
    nlohmann::json streams = nlohmann::json::array();
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    for (std::size_t i = 0; i < tallies_.size(); ++i) {
        ports.push_back(port_result(i, seconds));
        received += tallies_[i].packets;
    }
    for (std::size_t i = 0; i < streams_.size(); ++i) {
        streams.push_back(stream_result(i, seconds));
        sent += streams_[i]->accepted;
    }
    return {{"event", "result"},
            {"name", spec_.name},
            {"seconds", seconds},
            {"begun_monotonic_ns", begun_monotonic_ns_},
            {"tx_packets", sent},
            {"rx_packets", received},
            {"longest_gap_us", static_cast<double>(gap_max_) * 1e6 / static_cast<double>(tsc_hz_)},
            {"ports", std::move(ports)},
            {"streams", std::move(streams)}};
}

}  // namespace weir::load
