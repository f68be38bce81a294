// vhost_rings.cc - bursts between a guest's rings and mbufs, and the devices that they are on.
#include "vswitch/ports/vhost_rings.h"

#include <rte_arp.h>
#include <rte_cycles.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "vswitch/ports/ring_spread.h"
#include "vswitch/ports/vhost_device.h"
#include "vswitch/ports/vhost_feature.h"

namespace weir {
namespace {

constexpr std::uint64_t kAnnounced = 1ULL << 63;
constexpr std::uint64_t kMicrosPerSec = 1'000'000;
constexpr unsigned kFaultBits = 8;
constexpr std::uint32_t kFaultMask = (1U << kFaultBits) - 1;

}  // namespace

VhostRings::VhostRings(rte_mempool* pool, Notifier& notifier, GuestAccess& access, SignalRelay& relay,
                       Wakeups* wakeups, std::uint16_t rings_least)
    : Port(true),
      pool_(pool),
      access_(&access),
      notifier_(&notifier),
      pace_(rte_get_tsc_hz()),
      relay_(relay),
      wakeups_(wakeups),
      rings_least_(rings_least),
      rings_(rings_least) {
    relay_.add(line_);
}

VhostRings::~VhostRings() {
    relay_.remove(line_);
}

void VhostRings::publish(std::unique_ptr<virtio::Device> device, std::uint64_t negotiated) {
    published_ = std::move(device);
    watch_kicks();
    fault_.store(0, std::memory_order_relaxed);
    copies_payloads_.store(false, std::memory_order_relaxed);
    if (published_->misplaced)
        note_fault(published_->misplaced->number, published_->misplaced->why);  // no worker has a device
    negotiated_.store(negotiated, std::memory_order_relaxed);
    rings_.store(std::max(published_->to_vm.count, rings_least_), std::memory_order_relaxed);
    up_.store(!published_->misplaced || published_->misplaced->why != virtio::RingFault::kUnknown,
              std::memory_order_relaxed);
    device_.store(published_.get(), std::memory_order_release);
    begin_epoch();
}

void VhostRings::reclaim() {
    relay_.forget(line_);
    if (published_)
        return_indices(*published_);
    published_.reset();
    forget_kicks();
}

/// Not by this thread: a front-end can make a write to its eventfd wait, and its waiters take their time.
std::uint32_t VhostRings::wake_drivers(std::uint32_t done) {
    std::uint32_t placed = 0;
    for (virtio::Device::Lanes* lanes : {&published_->from_vm, &published_->to_vm})
        for (const virtio::Lane& lane : lanes->all()) {
            const std::uint32_t bit = 1U << lane.number;
            placed |= bit;
            if ((done & bit) == 0 && lane.call >= 0)
                relay_.signal(line_, lane.number, lane.call);
        }
    return placed;
}

void VhostRings::announce(std::uint64_t mac) {
    announced_.store(mac | kAnnounced, std::memory_order_release);
    begin_epoch();
}

void VhostRings::serve(Notifier& notifier, GuestAccess& access, Wakeups* wakeups, rte_mempool* pool) {
    forget_kicks();
    pool_ = pool;
    notifier_ = &notifier;
    access_ = &access;
    wakeups_ = wakeups;
    if (published_)
        watch_kicks();
}

/// A ring without a file of its own for kicks, or one that is not watched, has to be polled.
void VhostRings::watch_kicks() {
    if (wakeups_ == nullptr)
        return;
    for (virtio::Lane& lane : published_->from_vm.all()) {
        FileHandle kicks = copy_of_kicks(published_->terms.vid, lane.number);
        lane.kicks = kicks && wakeups_->add(kicks.number());
        if (lane.kicks)
            kicks_.push_back(std::move(kicks));
    }
}

void VhostRings::forget_kicks() {
    for (const FileHandle& kicks : kicks_)  // the front-end has the file, too: closing it is not enough
        wakeups_->remove(kicks.number());
    kicks_.clear();
}

PortOffloads VhostRings::offloads() const {
    const std::uint64_t features = negotiated_.load(std::memory_order_relaxed);
    return {.checksum = vhost::has(features, vhost::kGuestChecksum),
            .tso = vhost::has(features, vhost::kGuestTso4)};
}

std::vector<std::string> VhostRings::features() const {
    return up() ? vhost::names(negotiated_.load(std::memory_order_relaxed)) : std::vector<std::string>{};
}

std::string VhostRings::ring_fault() const {
    const std::uint32_t fault = fault_.load(std::memory_order_relaxed);
    if (fault == 0)
        return {};
    const std::uint32_t ring = fault >> kFaultBits;
    return std::string((ring & 1) != 0 ? "transmit" : "receive") + " ring of pair " +
           std::to_string(ring / 2) + ": " + phrase(static_cast<virtio::RingFault>(fault & kFaultMask));
}

std::string VhostRings::signal_fault() const {
    if (!pace_.relays(rte_rdtsc()))
        return {};
    const std::uint64_t us = pace_.longest() * kMicrosPerSec / rte_get_tsc_hz();
    return "to interrupt its drivers took up to " + std::to_string(us) +
           " us of a worker: a thread of its own does it for a minute; look for many waiters at the "
           "front-end's call files";
}

void VhostRings::note_fault(std::uint16_t ring, virtio::RingFault fault) {
    ring_errors_.add(1);
    fault_.store(std::uint32_t{ring} << kFaultBits | static_cast<std::uint32_t>(fault),
                 std::memory_order_relaxed);
}

rte_mbuf* VhostRings::make_announcement() {
    const std::uint64_t word = announced_.exchange(0, std::memory_order_acquire);
    rte_ether_addr mac;
    std::memcpy(mac.addr_bytes, &word, sizeof(mac.addr_bytes));
    return rte_net_make_rarp_packet(pool_, &mac);
}

inline std::uint64_t VhostRings::interrupt(const virtio::Lane& lane) {
    const std::uint64_t before = rte_rdtsc();
    if (pace_.relays(before)) [[unlikely]] {
        relay_.signal(line_, lane.number, lane.call);
        return 0;
    }
    notifier_->notify(lane.call);
    const std::uint64_t cycles = rte_rdtsc() - before;
    if (pace_.is_slow(cycles)) [[unlikely]]
        pace_.note(cycles, before);
    return pace_.excess(cycles);
}

/// Counts and names the faults of a burst, and notifies the driver. @return the burst's frames
std::uint16_t VhostRings::settle(virtio::Lane& lane, const virtio::BurstResult& result) {
    if (result.refused != 0) [[unlikely]] {
        ring_errors_.add(result.refused);
        wasted_ = true;
    }
    if (result.fault != virtio::RingFault::kNone && !std::exchange(lane.named, true)) [[unlikely]]
        note_fault(lane.number, result.fault);
    if (result.notify && lane.call >= 0) {
        const std::uint64_t excess = interrupt(lane);
        if (excess != 0 && lane.receives()) [[unlikely]]
            excess_ += static_cast<std::uint32_t>(excess / limits::kDescriptorCycles);
    }
    return result.frames;
}

std::uint16_t VhostRings::rx_burst(rte_mbuf** frames, std::uint16_t max) {
    virtio::Device* device = device_.load(std::memory_order_acquire);
    if (device == nullptr)
        return 0;
    if (announced_.load(std::memory_order_relaxed) != 0) [[unlikely]] {
        ring_is_disabled_ = false;
        frames[0] = make_announcement();
        return frames[0] != nullptr ? 1 : 0;
    }
    const BurstVisit visit(*this);
    if (const bool copies = copies_payloads_.load(std::memory_order_relaxed);
        copies != device->terms.copies_payloads) [[unlikely]]
        device->terms.copies_payloads = copies;
    virtio::Device::Lanes& lanes = device->from_vm;
    for (std::uint16_t tries = 0; tries < lanes.count; ++tries) {
        virtio::Lane& lane = lanes.lanes[lanes.next];
        lanes.next = static_cast<std::uint16_t>(lanes.next + 1 < lanes.count ? lanes.next + 1 : 0);
        const virtio::BurstResult result = take(lane, device->terms, device->memory, pool_, frames, max);
        if (result.owes) {
            owing_ = &lane;
            owes_chains_ = true;
            access_->lend(this);
            if (visit.measured()) [[unlikely]]
                meter_.lend();
        }
        const std::uint16_t got = settle(lane, result);
        ring_is_disabled_ = lane.disabled;
        if (lane.disabled) [[unlikely]]
            wasted_ = wasted_ || got != 0;
        if (got != 0)
            return got;
    }
    return 0;
}

void VhostRings::return_chains() {
    const Visit visit(*this);
    settle(*owing_, show_used(*owing_));
    owes_chains_ = false;
    access_->lend(nullptr);
    if (meter_.lends() && meter_.is_loan_costly()) [[unlikely]]
        copy_payloads();  // its own bursts show from now on whether it was its memory
}

std::optional<std::uint64_t> VhostRings::peek_destination() {
    virtio::Device* device = device_.load(std::memory_order_acquire);
    if (device == nullptr || device->from_vm.count == 0)
        return std::nullopt;
    const Visit visit(*this);
    virtio::Device::Lanes& lanes = device->from_vm;
    lanes.next = static_cast<std::uint16_t>(lanes.next + 1 < lanes.count ? lanes.next + 1 : 0);
    return virtio::peek_destination(lanes.lanes[lanes.next], device->terms, device->memory);
}

std::optional<std::size_t> VhostRings::watch(std::span<virtio::RingWatch> words) {
    virtio::Device* device = device_.load(std::memory_order_acquire);
    if (device == nullptr)
        return 0;
    if (announced_.load(std::memory_order_relaxed) != 0)
        return std::nullopt;
    const Visit visit(*this);
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

Port::Wake VhostRings::ask_for_wake() {
    virtio::Device* device = device_.load(std::memory_order_acquire);
    if (device == nullptr)
        return Wake::kWill;  // the worker is woken when there is one
    if (announced_.load(std::memory_order_relaxed) != 0)
        return Wake::kReady;
    const Visit visit(*this);
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

void VhostRings::forget_wake() {
    virtio::Device* device = device_.load(std::memory_order_acquire);
    if (device == nullptr)
        return;
    const Visit visit(*this);
    for (virtio::Lane& lane : device->from_vm.all())
        std::visit([](auto& ring) { ring.wish_kicks(false); }, lane.ring);
}

void VhostRings::prefetch(Prefetch stage) {
    virtio::Device* device = device_.load(std::memory_order_acquire);
    if (device == nullptr || device->to_vm.count != 1)
        return;
    if (stage != Prefetch::kIndex)  // the others read words of the guest
        access_->glance(*this);
    std::visit(
        [&](const auto& ring) {
            if (stage == Prefetch::kIndex)
                ring.prefetch_index();
            else if (stage == Prefetch::kDescriptor)
                ring.prefetch_descriptor();
            else
                ring.prefetch_buffer(device->memory, device->terms.header_bytes);
        },
        device->to_vm.lanes[0].ring);
}

/// @param too_long grows by the frames at the end that no buffers of the lane hold
std::uint16_t VhostRings::tx_lane(virtio::Device& device, virtio::Lane& lane, std::span<rte_mbuf*> frames,
                                  std::uint16_t& too_long) {
    const virtio::BurstResult result = put(lane, device.terms, device.memory, frames);
    if (result.too_long != 0) [[unlikely]]
        too_long = result.too_long;
    if (result.straight != 0)
        straight_.add(result.straight);
    if (result.excess != 0) [[unlikely]]
        excess_ += result.excess;
    const std::uint16_t sent = settle(lane, result);
    rte_pktmbuf_free_bulk(frames.data(), sent);  // they were copied
    return sent;
}

std::uint16_t VhostRings::tx_burst(rte_mbuf** frames, std::uint16_t count) {
    virtio::Device* device = device_.load(std::memory_order_acquire);
    if (device == nullptr || device->to_vm.count == 0)
        return 0;
    const BurstVisit visit(*this);
    auto& lanes = device->to_vm.lanes;
    if (device->to_vm.count == 1) [[likely]]
        return tx_lane(*device, lanes[0], {frames, count}, too_long_);
    return spread_by_flow({frames, count}, device->to_vm.count, took_, too_long_,
                          [&](std::uint16_t ring, std::span<rte_mbuf*> run, std::uint16_t& too_long) {
                              return tx_lane(*device, lanes[ring], run, too_long);
                          });
}

}  // namespace weir
