// ring_rig.h - one ring of a guest in memory that no other core touches, for benches of the switch's own
// work. Units: bytes; TSC cycles. Threads: one.
#pragma once

#include <rte_mbuf.h>

#include <array>
#include <cstring>
#include <stdexcept>

#include "bench/micro/buffers.h"
#include "bench/micro/cycles.h"
#include "test/vswitch/ports/virtio/guest_area.h"
#include "vswitch/base/limits.h"
#include "vswitch/ports/virtio/device.h"
#include "vswitch/ports/virtio/left_payload.h"

namespace weir::bench {

inline constexpr std::uint16_t kBurst = limits::kBurst;

/// Of vNIC n: 02:00:00:00:00:01 and so on, in the order of a header.
constexpr std::uint64_t mac(std::uint64_t n) {
    return 0x0100'0000'0002 + (n << 40);
}

using Frames = std::array<rte_mbuf*, kBurst>;

/// A burst from one vNIC to another.
inline Frames make_burst(std::uint16_t bytes, std::uint64_t from = mac(0), std::uint64_t to = mac(1)) {
    Frames frames;
    if (rte_pktmbuf_alloc_bulk(buffer_pool(), frames.data(), kBurst) != 0)
        throw std::runtime_error("no buffers");
    for (rte_mbuf* frame : frames) {
        frame->data_len = bytes;
        frame->pkt_len = bytes;
        auto* at = rte_pktmbuf_mtod(frame, std::uint8_t*);
        std::memset(at, 0, bytes);
        std::memcpy(at, &to, 6);
        std::memcpy(at + 6, &from, 6);
        at[12] = 0x08;  // IPv4
    }
    return frames;
}

/// Its driver offers the same buffers again and again.
class RingRig {
  public:
    static constexpr std::uint16_t kSize = 256;
    static constexpr std::uint64_t kStride = 2048;

    /// @param frames of `bytes`, which the guest sends  @param to_guest the ring is one to receive
    RingRig(std::uint16_t bytes, bool to_guest, const Frames& frames)
        : parts_(testing::parts_at(2 * testing::GuestArea::kRegionBytes, kSize, false)), frames_(frames) {
        auto* descriptors = &area_.as<virtio::Descriptor>(parts_.descriptors);
        auto* avail = &area_.as<std::uint16_t>(parts_.driver);
        for (std::uint16_t i = 0; i < kSize; ++i) {
            // So many buffers as the first region has: they are used in turn. A header ends where a line
            // does.
            const std::uint64_t at = (i % (testing::GuestArea::kRegionBytes / kStride - 1) + 1) * kStride;
            const std::uint64_t header_at = at - virtio::kNetHeaderBytes;
            descriptors[i] = {testing::GuestArea::kAddress + header_at,
                              virtio::kNetHeaderBytes + (to_guest ? 1518U : bytes),
                              static_cast<std::uint16_t>(to_guest ? virtio::descriptor_flag::kWrite : 0), 0};
            if (!to_guest) {
                std::memset(area_.host(header_at), 0, virtio::kNetHeaderBytes);
                std::memcpy(area_.host(at), rte_pktmbuf_mtod(frames_[0], const void*), bytes);
            }
            avail[2 + i] = i;
        }
        if (!lane_.ring.emplace<virtio::SplitRing>().place(testing::place_of(area_, parts_, kSize),
                                                           area_.memory))
            throw std::runtime_error("the ring has no place");
    }
    RingRig(std::uint16_t bytes, bool to_guest) : RingRig(bytes, to_guest, make_burst(bytes)) {}
    ~RingRig() { rte_pktmbuf_free_bulk(frames_.data(), kBurst); }
    RingRig(const RingRig&) = delete;
    RingRig& operator=(const RingRig&) = delete;

    /// The driver offers `count` buffers more, the switch takes their frames.
    [[nodiscard]] std::uint16_t take(rte_mbuf** frames, std::uint16_t count) {
        offer(count);
        const auto result = virtio::take(lane_, terms_, area_.memory, buffer_pool(), frames, count);
        fetch_payloads({frames, result.frames});
        if (result.owes)
            (void)virtio::show_used(lane_);
        return result.frames;
    }
    /// Likewise, the switch puts frames into them.
    [[nodiscard]] std::uint16_t put(std::span<rte_mbuf*> frames) {
        offer(static_cast<std::uint16_t>(frames.size()));
        return virtio::put(lane_, terms_, area_.memory, frames).frames;
    }
    /// A whole burst. @return cycles
    std::uint64_t take() {
        Frames frames;
        const std::uint64_t began = cycles();
        const std::uint16_t count = take(frames.data(), kBurst);
        const std::uint64_t spent = cycles() - began;
        check(count);
        rte_pktmbuf_free_bulk(frames.data(), count);
        return spent;
    }
    std::uint64_t put() {
        const std::uint64_t began = cycles();
        const std::uint16_t count = put(frames_);
        const std::uint64_t spent = cycles() - began;
        check(count);
        return spent;
    }

  private:
    void offer(std::uint16_t count) {
        auto* avail = &area_.as<std::uint16_t>(parts_.driver);
        avail[1] = static_cast<std::uint16_t>(avail[1] + count);
    }
    static void check(std::uint16_t frames) {
        if (frames != kBurst)
            throw std::runtime_error("the ring did not move a whole burst");
    }
    testing::GuestArea area_;
    testing::RingParts parts_;
    virtio::Terms terms_;
    virtio::Lane lane_;
    Frames frames_;
};

}  // namespace weir::bench
