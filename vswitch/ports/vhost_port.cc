// vhost_port.cc - bursts between a guest's rings and mbufs.
#include "vswitch/ports/vhost_port.h"

#include <rte_mbuf.h>
#include <rte_vhost.h>

#include <algorithm>
#include <array>
#include <utility>

#include "vswitch/ports/burst_pool.h"
#include "vswitch/ports/flow_hash.h"

namespace weir {
namespace {

constexpr std::uint64_t kAttached = 1ULL << 63;
/// After a chain that was longer than any frame a ring is read frame by frame for this long.
constexpr Nanos kOneByOne = kNanosPerSec;
static_assert(2 * limits::kQueuesMax <= 32, "the ring bitmap has 32 bits");

}  // namespace

VhostPort::Connection& VhostPort::connection(int vid) {
    const auto found = std::ranges::find(connections_, vid, &Connection::vid);
    return found != connections_.end() ? *found : connections_.emplace_back(Connection{.vid = vid});
}

/// Shows the worker the live connection, or that there is none.
void VhostPort::publish() {
    std::uint64_t word = 0;
    if (live_ >= 0) {
        const Connection& live = connection(live_);
        negotiated_.store(live.negotiated, std::memory_order_relaxed);
        word = kAttached | static_cast<std::uint64_t>(live_) << 32 | live.rings;
    }
    connection_.store(word, std::memory_order_release);
}

/// The library uses the ids of closed connections again.
void VhostPort::connected(int vid) {
    const std::scoped_lock lock(control_);
    connection(vid) = {.vid = vid};
}

void VhostPort::attach(int vid, std::uint64_t negotiated) {
    const std::scoped_lock lock(control_);
    Connection& one = connection(vid);
    one.attached = true;
    one.negotiated = negotiated;
    if (live_ < 0)
        live_ = vid;
    if (live_ == vid)
        publish();
}

bool VhostPort::detach(int vid) {
    const std::scoped_lock lock(control_);
    connection(vid).attached = false;
    if (live_ != vid)
        return false;
    const auto waiting = std::ranges::find(connections_, true, &Connection::attached);
    live_ = waiting != connections_.end() ? waiting->vid : -1;
    publish();
    return true;
}

void VhostPort::set_ring(int vid, std::uint16_t ring, bool enabled) {
    if (ring >= 2 * queues_)
        return;
    const std::scoped_lock lock(control_);
    const std::uint32_t bit = 1U << ring;
    std::uint32_t& rings = connection(vid).rings;
    rings = enabled ? rings | bit : rings & ~bit;
    if (live_ == vid)
        publish();
}

void VhostPort::disconnected(int vid) {
    const std::scoped_lock lock(control_);
    std::erase_if(connections_, [vid](const Connection& one) { return one.vid == vid; });
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

/// A chain that is refused was copied into all buffers of the burst before: 2 MiB with a burst of 32, some
/// 500 us for nothing. With a burst of one frame it is 66 KiB.
void VhostPort::poll_carefully() {
    one_by_one_ = true;
    refused_ = true;
}

std::uint16_t VhostPort::rx_burst(rte_mbuf** frames, std::uint16_t max) {
    if (!refresh())
        return 0;
    if (one_by_one_) [[unlikely]]
        max = 1;
    pool_.open(max * limits::kFrameBuffersMax);
    for (std::uint16_t tries = 0; tries < from_vm_.count && !pool_.refused(); ++tries) {
        const std::uint16_t at = from_vm_.next;
        from_vm_.next = static_cast<std::uint16_t>(at + 1 < from_vm_.count ? at + 1 : 0);
        const std::uint16_t got = rte_vhost_dequeue_burst(vid_, from_vm_.ids[at], pool_.pool(), frames, max);
        if (pool_.refused()) [[unlikely]]
            poll_carefully();
        if (got != 0) {
            from_vm_.taken[at] = static_cast<std::uint16_t>(from_vm_.taken[at] + got);
            return got;
        }
    }
    wasted_ |= pool_.refused();
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
    std::array<std::uint16_t, limits::kBurst> rings;
    for (std::uint16_t i = 0; i < count; ++i)
        rings[i] = FlowHash::ring(
            FlowHash::of({rte_pktmbuf_mtod(frames[i], const std::uint8_t*), frames[i]->data_len}),
            to_vm_.count);
    std::uint16_t done = 0;
    while (done < count) {
        std::uint16_t run = 1;
        while (done + run < count && rings[done + run] == rings[done])
            ++run;
        const std::uint16_t sent = tx_ring(to_vm_.ids[rings[done]], frames + done, run);
        done = static_cast<std::uint16_t>(done + sent);
        if (sent < run)
            break;
    }
    return done;
}

/// The index of a split ring counts descriptor chains: chains that the library consumed and did not deliver
/// had an error.
void VhostPort::housekeeping(Nanos now) {
    if (std::exchange(refused_, false))
        one_by_one_until_ = now + kOneByOne;
    one_by_one_ = now < one_by_one_until_;
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
