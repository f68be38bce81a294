// stream.cc - a stream's pool of frames, its pace, and the fields that change from frame to frame.
#include "bench/load/virtio/stream.h"

#include <rte_byteorder.h>
#include <rte_errno.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "bench/load/virtio/frame.h"

namespace weir::load {

namespace {

/// A ring of 256, a cache of 256 x 1.5, and those that the ring has not returned.
constexpr unsigned kFrameBuffers = 1024;
constexpr unsigned kPoolCache = 64;

struct FrameOf {
    const StreamSpec& spec;
    std::uint32_t id;
    const Mac& from;
    const Mac& to;
};

void fill(rte_mempool*, void* opaque, void* object, unsigned) {
    const auto& frame = *static_cast<const FrameOf*>(opaque);
    auto* packet = static_cast<rte_mbuf*>(object);
    packet->data_off = RTE_PKTMBUF_HEADROOM;
    packet->data_len = frame.spec.size;
    packet->pkt_len = frame.spec.size;
    build_frame(rte_pktmbuf_mtod(packet, std::uint8_t*), frame.spec, frame.id, frame.from, frame.to);
}

}  // namespace

rte_mempool* frame_pool(std::uint32_t id, const StreamSpec& spec, const Mac& from, const Mac& to) {
    const auto room =
        static_cast<std::uint16_t>(RTE_ALIGN_CEIL(std::uint32_t{spec.size}, 2048U) + RTE_PKTMBUF_HEADROOM);
    const std::string name = "tx" + std::to_string(id) + "_" + std::to_string(room);
    rte_mempool* pool = rte_mempool_lookup(name.c_str());
    if (pool == nullptr)
        pool = rte_pktmbuf_pool_create(name.c_str(), kFrameBuffers, kPoolCache, 0, room, SOCKET_ID_ANY);
    if (pool == nullptr)
        throw std::runtime_error("frame pool: " + std::string(rte_strerror(rte_errno)));
    FrameOf frame{spec, id, from, to};
    rte_mempool_obj_iter(pool, fill, &frame);
    return pool;
}

Stream::Stream(const StreamSpec& spec, Port& from, const Mac& to, rte_mempool* pool, std::uint64_t tsc_hz)
    : from_(from),
      pool_(pool),
      src_(from.mac()),
      dst_(to),
      src_macs_(spec.src_macs),
      dst_macs_(spec.dst_macs),
      flows_(spec.flows),
      src_ip_(spec.src_ip),
      src_ips_(spec.src_ips),
      random_(spec.random),
      burst_(spec.burst),
      burst_min_(spec.whole_bursts ? spec.burst : std::uint16_t{1}),
      l2_bytes_(l2_bytes(spec.vlan != 0)),
      ports_(spec.extensions == 0),
      stamp_(spec.stamp),
      paced_(spec.pps.has_value()),
      window_cycles_(tsc_hz / 10) {
    if (paced_) {
        frames_per_cycle_ = *spec.pps / static_cast<double>(tsc_hz);
        due_max_ = std::max(*spec.pps / 1000.0, static_cast<double>(burst_));
        stall_max_ = std::max(tsc_hz / 10'000, static_cast<std::uint64_t>(2.0 / frames_per_cycle_));
    }
}

void Stream::start_counting(std::uint64_t now) {
    accepted = refused = received = untimed = 0;
    delay = Histogram{};
    window_p99.clear();
    counting_since_ = now;
    close_window(now);
}

void Stream::close_window(std::uint64_t now) {
    constexpr std::uint64_t kFramesLeast = 1000;
    if (now != counting_since_ && window_.total() >= kFramesLeast)
        window_p99.push_back(window_.quantile(0.99));
    window_ = Histogram{};
    window_end_ = now + window_cycles_;
}

std::uint16_t Stream::due(std::uint64_t now) {
    if (!paced_)
        return burst_;
    due_ += static_cast<double>(std::min(now - last_, stall_max_)) * frames_per_cycle_;
    last_ = now;
    if (due_ > due_max_) {
        const auto lost = static_cast<std::uint64_t>(due_ - due_max_);
        refused += lost;
        due_ -= static_cast<double>(lost);
    }
    return due_ < burst_min_ ? std::uint16_t{0}
                             : static_cast<std::uint16_t>(std::min(due_, static_cast<double>(burst_)));
}

void Stream::send(std::uint64_t now) {
    rte_mbuf* packets[kBurstMax];
    const std::uint16_t count = due(now);
    if (count == 0 || rte_mempool_get_bulk(pool_, reinterpret_cast<void**>(packets), count) != 0)
        return;
    patch(packets, count, now);
    const std::uint16_t sent = from_.send(packets, count);
    if (sent < count) {
        rte_mempool_put_bulk(pool_, reinterpret_cast<void**>(packets + sent),
                             static_cast<unsigned>(count - sent));
    }
    accepted += sent;
    due_ -= sent;
}

/// Moves on to the next of `count` in turn, or to a random one.
void Stream::advance(std::uint32_t& index, std::uint32_t count) {
    if (!random_) {
        index = index + 1 < count ? index + 1 : 0;
        return;
    }
    random_state_ = random_state_ * 6'364'136'223'846'793'005 + 1'442'695'040'888'963'407;  // Knuth's MMIX
    index = static_cast<std::uint32_t>((random_state_ >> 32) * count >> 32);
}

void Stream::patch(rte_mbuf** packets, std::uint16_t count, std::uint64_t now) {
    for (std::uint16_t i = 0; i < count; ++i) {
        auto* frame = rte_pktmbuf_mtod(packets[i], std::uint8_t*);
        if (dst_macs_ > 1) {
            write_mac(frame, dst_, dst_next_);
            advance(dst_next_, dst_macs_);
        }
        if (src_macs_ > 1) {
            write_mac(frame + kMacBytes, src_, src_next_);
            advance(src_next_, src_macs_);
        }
        std::uint8_t* const ip = frame + l2_bytes_;
        if (src_ips_ > 1) {
            write_source(ip, src_ip_ + src_ip_next_);
            advance(src_ip_next_, src_ips_);
        }
        // Written with a single flow too: a guest writes its headers anew, so that their cache line is in
        // this core's cache when the switch reads it.
        if (ports_) {
            const auto port = rte_cpu_to_be_16(static_cast<std::uint16_t>(kUdpPortFirst + flow_next_));
            std::memcpy(ip + kIpBytes, &port, sizeof port);
            advance(flow_next_, flows_);
        }
        if (stamp_)
            std::memcpy(ip + kIpBytes + kUdpBytes + offsetof(Stamp, tsc), &now, sizeof now);
    }
}

}  // namespace weir::load
