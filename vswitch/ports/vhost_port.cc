// vhost_port.cc - bursts between a guest's rings and mbufs.
#include "vswitch/ports/vhost_port.h"

#include <rte_hash_crc.h>
#include <rte_mbuf.h>
#include <rte_vhost.h>

#include <array>
#include <cstring>

namespace weir {
namespace {

constexpr std::uint64_t kAttached = 1ULL << 63;
constexpr std::uint64_t kRingMask = 0xFFFFFFFF;
static_assert(2 * limits::kQueuesMax <= 32, "the ring bitmap has 32 bits");

/// Keeps a flow on one ring: a hash of addresses and ports of IPv4, else of the MAC addresses.
std::uint32_t flow_hash(const rte_mbuf* frame) {
    const auto* bytes = rte_pktmbuf_mtod(frame, const std::uint8_t*);
    constexpr std::uint32_t kIpv4Addresses = 26;  // Ethernet 14 + offset 12
    constexpr std::uint32_t kWithPorts = 38;      // two addresses and two ports
    const bool ipv4 = frame->data_len >= kWithPorts && bytes[12] == 0x08 && bytes[13] == 0x00;
    std::array<std::uint32_t, 3> words;  // copied: headers are not aligned
    std::memcpy(words.data(), ipv4 ? bytes + kIpv4Addresses : bytes, sizeof(words));
    return rte_hash_crc_4byte(words[2], rte_hash_crc_4byte(words[1], rte_hash_crc_4byte(words[0], 0)));
}

}  // namespace

void VhostPort::attach(int vid, std::uint64_t negotiated) {
    negotiated_.store(negotiated, std::memory_order_relaxed);
    const std::uint64_t rings = connection_.load(std::memory_order_relaxed) & kRingMask;
    connection_.store(kAttached | static_cast<std::uint64_t>(vid) << 32 | rings, std::memory_order_release);
}

void VhostPort::detach() {
    connection_.store(connection_.load(std::memory_order_relaxed) & kRingMask, std::memory_order_release);
}

void VhostPort::set_ring(std::uint16_t ring, bool enabled) {
    if (ring >= 2 * queues_)
        return;
    const std::uint64_t bit = 1ULL << ring;
    const std::uint64_t word = connection_.load(std::memory_order_relaxed);
    connection_.store(enabled ? word | bit : word & ~bit, std::memory_order_release);
}

void VhostPort::reset_rings() {
    connection_.store(0, std::memory_order_release);
}

bool VhostPort::up() const {
    return (connection_.load(std::memory_order_relaxed) & kAttached) != 0;
}

PortOffloads VhostPort::offloads() const {
    const std::uint64_t features = negotiated_.load(std::memory_order_relaxed);
    return {.checksum = vhost::has(features, vhost::kGuestChecksum),
            .tso = vhost::has(features, vhost::kGuestTso4)};
}

std::vector<std::string> VhostPort::features() const {
    return up() ? vhost::names(negotiated_.load(std::memory_order_relaxed)) : std::vector<std::string>{};
}

/// Reads the rings anew if the connection word changed. @return whether the port is attached
bool VhostPort::refresh() {
    const std::uint64_t word = connection_.load(std::memory_order_acquire);
    if (word == seen_) [[likely]]
        return vid_ >= 0;
    seen_ = word;
    vid_ = (word & kAttached) != 0 ? static_cast<int>((word & ~kAttached) >> 32) : -1;
    from_vm_ = Rings{};
    to_vm_ = Rings{};
    for (std::uint16_t ring = 0; ring < 2 * queues_ && vid_ >= 0; ++ring) {
        if ((word >> ring & 1) == 0)
            continue;
        Rings& rings = (ring & 1) != 0 ? from_vm_ : to_vm_;  // odd rings are the guest's transmit rings
        std::uint16_t used = 0;
        rte_vhost_get_vring_base(vid_, ring, &rings.last_avail[rings.count], &used);
        rings.ids[rings.count++] = ring;
    }
    return vid_ >= 0;
}

std::uint16_t VhostPort::rx_burst(rte_mbuf** frames, std::uint16_t max) {
    if (!refresh())
        return 0;
    for (std::uint16_t tries = 0; tries < from_vm_.count; ++tries) {
        const std::uint16_t at = from_vm_.next;
        from_vm_.next = static_cast<std::uint16_t>(at + 1 < from_vm_.count ? at + 1 : 0);
        const std::uint16_t got = rte_vhost_dequeue_burst(vid_, from_vm_.ids[at], pool_, frames, max);
        if (got != 0) {
            from_vm_.taken[at] = static_cast<std::uint16_t>(from_vm_.taken[at] + got);
            return got;
        }
    }
    return 0;
}

std::uint16_t VhostPort::tx_ring(std::uint16_t ring, rte_mbuf** frames, std::uint16_t count) {
    const std::uint16_t sent = rte_vhost_enqueue_burst(vid_, ring, frames, count);
    rte_pktmbuf_free_bulk(frames, sent);  // the library copied them
    return sent;
}

std::uint16_t VhostPort::tx_burst(rte_mbuf** frames, std::uint16_t count) {
    if (!refresh() || to_vm_.count == 0)
        return 0;
    return to_vm_.count == 1 ? tx_ring(to_vm_.ids[0], frames, count) : tx_spread(frames, count);
}

/// Spreads frames over several rings by flow; stops at the first ring that is full.
std::uint16_t VhostPort::tx_spread(rte_mbuf** frames, std::uint16_t count) {
    std::uint16_t done = 0;
    while (done < count) {
        const std::uint16_t at = static_cast<std::uint16_t>(flow_hash(frames[done]) % to_vm_.count);
        std::uint16_t run = 1;
        while (done + run < count && flow_hash(frames[done + run]) % to_vm_.count == at)
            ++run;
        const std::uint16_t sent = tx_ring(to_vm_.ids[at], frames + done, run);
        done = static_cast<std::uint16_t>(done + sent);
        if (sent < run)
            break;
    }
    return done;
}

/// The index of a split ring counts descriptor chains: chains that the library consumed and did not deliver
/// had an error.
void VhostPort::housekeeping() {
    if (!refresh() || vhost::has(negotiated_.load(std::memory_order_relaxed), vhost::kRingPacked))
        return;
    for (std::uint16_t i = 0; i < from_vm_.count; ++i) {
        std::uint16_t avail = 0;
        std::uint16_t used = 0;
        if (rte_vhost_get_vring_base(vid_, from_vm_.ids[i], &avail, &used) != 0)
            continue;
        const auto moved = static_cast<std::uint16_t>(avail - from_vm_.last_avail[i]);
        const auto lost = static_cast<std::uint16_t>(moved - from_vm_.taken[i]);
        if (lost < 0x8000)  // a guest that rewinds its ring adds nothing
            ring_errors_.add(lost);
        from_vm_.last_avail[i] = avail;
        from_vm_.taken[i] = 0;
    }
}

}  // namespace weir
