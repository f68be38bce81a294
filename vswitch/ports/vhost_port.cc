// vhost_port.cc - bursts between a guest's rings and mbufs, and the control thread's changes of a connection.
#include "vswitch/ports/vhost_port.h"

#include <rte_arp.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "vswitch/ports/ring_spread.h"
#include "vswitch/ports/vhost_device.h"

namespace weir {
namespace {

constexpr std::uint64_t kAnnounced = 1ULL << 63;
constexpr unsigned kFaultBits = 8;
constexpr std::uint32_t kFaultMask = (1U << kFaultBits) - 1;
static_assert(2 * limits::kQueuesMax <= 32, "the ring bitmap has 32 bits");

}  // namespace

VhostPort::Connection& VhostPort::connection(int vid) {
    const auto found = std::ranges::find(connections_, vid, &Connection::vid);
    return found != connections_.end() ? *found : connections_.emplace_back(Connection{.vid = vid});
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
        publish(one);
}

void VhostPort::publish(Connection& one) {
    one.device = open_device(one.vid, one.negotiated, one.rings);
    watch_kicks(one);
    fault_.store(0, std::memory_order_relaxed);
    if (one.device->misplaced)
        note_fault(*one.device->misplaced, virtio::RingFault::kPlace);  // no worker has a device
    negotiated_.store(one.negotiated, std::memory_order_relaxed);
    rings_.store(std::max<std::uint16_t>(one.device->to_vm.count, 1), std::memory_order_relaxed);
    up_.store(true, std::memory_order_relaxed);
    device_.store(one.device.get(), std::memory_order_release);
}

/// A ring without a file of its own for kicks, or one that is not watched, has to be polled.
void VhostPort::watch_kicks(Connection& one) {
    if (wakeups_ == nullptr)
        return;
    for (virtio::Lane& lane : one.device->from_vm.all()) {
        FileHandle kicks = copy_of_kicks(one.vid, lane.number);
        lane.kicks = kicks && wakeups_->add(kicks.number());
        if (lane.kicks)
            one.kicks.push_back(std::move(kicks));
    }
}

void VhostPort::forget_kicks(Connection& one) {
    for (const FileHandle& kicks : one.kicks)  // the front-end has the file, too: closing it is not enough
        wakeups_->remove(kicks.number());
    one.kicks.clear();
}

void VhostPort::serve(Notifier& notifier, Wakeups* wakeups) {
    const std::scoped_lock lock(control_);
    for (Connection& one : connections_)
        forget_kicks(one);
    notifier_ = &notifier;
    wakeups_ = wakeups;
    for (Connection& one : connections_)
        if (one.device)
            watch_kicks(one);
}

bool VhostPort::hide(int vid) {
    const std::scoped_lock lock(control_);
    return live_ == vid && device_.exchange(nullptr) != nullptr;
}

void VhostPort::reclaim(int vid) {
    const std::scoped_lock lock(control_);
    Connection& one = connection(vid);
    if (one.device)
        return_indices(*one.device);
    one.device.reset();
    forget_kicks(one);
}

void VhostPort::show(int vid, std::uint64_t negotiated) {
    const std::scoped_lock lock(control_);
    Connection& one = connection(vid);
    one.negotiated = negotiated;
    if (one.attached && live_ == vid && !one.device)
        publish(one);
}

void VhostPort::detach(int vid) {
    const std::scoped_lock lock(control_);
    connection(vid).attached = false;
    if (live_ != vid)
        return;
    up_.store(false, std::memory_order_relaxed);
    const auto waiting = std::ranges::find(connections_, true, &Connection::attached);
    live_ = waiting != connections_.end() ? waiting->vid : -1;
    if (live_ >= 0)
        publish(*waiting);
}

void VhostPort::set_ring(int vid, std::uint16_t ring, bool enabled) {
    if (ring >= 2 * queues_)
        return;
    const std::scoped_lock lock(control_);
    const std::uint32_t bit = 1U << ring;
    std::uint32_t& rings = connection(vid).rings;
    rings = enabled ? rings | bit : rings & ~bit;
}

void VhostPort::disconnected(int vid) {
    const std::scoped_lock lock(control_);
    std::erase_if(connections_, [vid](const Connection& one) { return one.vid == vid; });
}

void VhostPort::announce(std::uint64_t mac) {
    announced_.store(mac | kAnnounced, std::memory_order_release);
}

bool VhostPort::up() const {
    return up_.load(std::memory_order_relaxed);
}

PortOffloads VhostPort::offloads() const {
    const std::uint64_t features = negotiated_.load(std::memory_order_relaxed);
    return {.checksum = vhost::has(features, vhost::kGuestChecksum),
            .tso = vhost::has(features, vhost::kGuestTso4)};
}

std::vector<std::string> VhostPort::features() const {
    return up() ? vhost::names(negotiated_.load(std::memory_order_relaxed)) : std::vector<std::string>{};
}

std::string VhostPort::ring_fault() const {
    const std::uint32_t fault = fault_.load(std::memory_order_relaxed);
    if (fault == 0)
        return {};
    const std::uint32_t ring = fault >> kFaultBits;
    return std::string((ring & 1) != 0 ? "transmit" : "receive") + " ring of pair " +
           std::to_string(ring / 2) + ": " + phrase(static_cast<virtio::RingFault>(fault & kFaultMask));
}

std::string VhostPort::front_end_fault() const {
    return front_end_.text(FrontEndFault::Clock::now());
}

void VhostPort::note_fault(std::uint16_t ring, virtio::RingFault fault) {
    ring_errors_.add(1);
    fault_.store(std::uint32_t{ring} << kFaultBits | static_cast<std::uint32_t>(fault),
                 std::memory_order_relaxed);
}

rte_mbuf* VhostPort::make_announcement() {
    const std::uint64_t word = announced_.exchange(0, std::memory_order_acquire);
    rte_ether_addr mac;
    std::memcpy(mac.addr_bytes, &word, sizeof(mac.addr_bytes));
    return rte_net_make_rarp_packet(pool_, &mac);
}

/// Counts and names the faults of a burst, and notifies the driver. @return the burst's frames
std::uint16_t VhostPort::settle(virtio::Lane& lane, const virtio::BurstResult& result) {
    if (result.refused != 0) [[unlikely]] {
        ring_errors_.add(result.refused);
        wasted_ = true;
    }
    if (result.fault != virtio::RingFault::kNone && !std::exchange(lane.named, true)) [[unlikely]]
        note_fault(lane.number, result.fault);
    if (result.notify && lane.call >= 0)
        notifier_->notify(lane.call);
    return result.frames;
}

std::uint16_t VhostPort::rx_burst(rte_mbuf** frames, std::uint16_t max) {
    virtio::Device* device = device_.load(std::memory_order_acquire);
    if (device == nullptr)
        return 0;
    if (announced_.load(std::memory_order_relaxed) != 0) [[unlikely]] {
        frames[0] = make_announcement();
        return frames[0] != nullptr ? 1 : 0;
    }
    virtio::Device::Lanes& lanes = device->from_vm;
    for (std::uint16_t tries = 0; tries < lanes.count; ++tries) {
        virtio::Lane& lane = lanes.lanes[lanes.next];
        lanes.next = static_cast<std::uint16_t>(lanes.next + 1 < lanes.count ? lanes.next + 1 : 0);
        const virtio::BurstResult result = take(lane, device->terms, device->memory, pool_, frames, max);
        if (result.owes) {
            owing_ = &lane;
            owes_chains_ = true;
        }
        const std::uint16_t got = settle(lane, result);
        if (got != 0)
            return got;
    }
    return 0;
}

void VhostPort::return_chains() {
    settle(*owing_, show_used(*owing_));
    owes_chains_ = false;
}

std::optional<std::uint64_t> VhostPort::peek_destination() {
    virtio::Device* device = device_.load(std::memory_order_acquire);
    if (device == nullptr || device->from_vm.count == 0)
        return std::nullopt;
    virtio::Device::Lanes& lanes = device->from_vm;
    lanes.next = static_cast<std::uint16_t>(lanes.next + 1 < lanes.count ? lanes.next + 1 : 0);
    return virtio::peek_destination(lanes.lanes[lanes.next], device->terms, device->memory);
}

std::optional<std::size_t> VhostPort::watch(std::span<virtio::RingWatch> words) {
    virtio::Device* device = device_.load(std::memory_order_acquire);
    if (device == nullptr)
        return 0;
    if (announced_.load(std::memory_order_relaxed) != 0)
        return std::nullopt;
    std::size_t count = 0;
    for (const virtio::Lane& lane : device->from_vm.all()) {
        if (std::visit([](const auto& ring) { return ring.fault(); }, lane.ring) != virtio::RingFault::kNone)
            continue;  // it gives nothing until the driver sets it up again
        const auto word = std::visit([](const auto& ring) { return ring.watch(); }, lane.ring);
        if (!word)
            return std::nullopt;
        words[count++] = *word;
    }
    return count;
}

Port::Wake VhostPort::ask_for_wake() {
    virtio::Device* device = device_.load(std::memory_order_acquire);
    if (device == nullptr)
        return Wake::kWill;  // the worker is woken when there is one
    if (announced_.load(std::memory_order_relaxed) != 0)
        return Wake::kReady;
    Wake wake = Wake::kWill;
    for (virtio::Lane& lane : device->from_vm.all()) {
        if (std::visit([](const auto& ring) { return ring.fault(); }, lane.ring) != virtio::RingFault::kNone)
            continue;
        if (!std::visit([](auto& ring) { return virtio::ask_for_kick(ring); }, lane.ring))
            return Wake::kReady;
        if (!lane.kicks)
            wake = Wake::kCannot;
    }
    return wake;
}

void VhostPort::forget_wake() {
    virtio::Device* device = device_.load(std::memory_order_acquire);
    if (device == nullptr)
        return;
    for (virtio::Lane& lane : device->from_vm.all())
        std::visit([](auto& ring) { ring.wish_kicks(false); }, lane.ring);
}

void VhostPort::prefetch(Prefetch stage) {
    virtio::Device* device = device_.load(std::memory_order_acquire);
    if (device == nullptr || device->to_vm.count != 1)
        return;
    std::visit(
        [&](const auto& ring) {
            if (stage == Prefetch::kIndex)
                ring.prefetch_index();
            else if (stage == Prefetch::kDescriptor)
                ring.prefetch_descriptor();
            else
                ring.prefetch_buffer(device->memory);
        },
        device->to_vm.lanes[0].ring);
}

/// @param too_long grows by the frames at the end that no buffers of the lane hold
std::uint16_t VhostPort::tx_lane(virtio::Device& device, virtio::Lane& lane, std::span<rte_mbuf*> frames,
                                 std::uint16_t& too_long) {
    const virtio::BurstResult result = put(lane, device.terms, device.memory, frames);
    if (result.too_long != 0) [[unlikely]]
        too_long = result.too_long;
    if (result.straight != 0)
        straight_.add(result.straight);
    const std::uint16_t sent = settle(lane, result);
    rte_pktmbuf_free_bulk(frames.data(), sent);  // they were copied
    return sent;
}

std::uint16_t VhostPort::tx_burst(rte_mbuf** frames, std::uint16_t count) {
    virtio::Device* device = device_.load(std::memory_order_acquire);
    if (device == nullptr || device->to_vm.count == 0)
        return 0;
    auto& lanes = device->to_vm.lanes;
    if (device->to_vm.count == 1) [[likely]]
        return tx_lane(*device, lanes[0], {frames, count}, too_long_);
    return spread_by_flow({frames, count}, device->to_vm.count, took_, too_long_,
                          [&](std::uint16_t ring, std::span<rte_mbuf*> run, std::uint16_t& too_long) {
                              return tx_lane(*device, lanes[ring], run, too_long);
                          });
}

}  // namespace weir
