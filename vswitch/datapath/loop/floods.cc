// floods.cc - Floods: frames are taken within a bound, copied in turn, and sent, delivered or dropped.
#include "vswitch/datapath/loop/floods.h"

#include <rte_mbuf.h>

#include "vswitch/datapath/frame/frame.h"
#include "vswitch/datapath/frame/offload.h"
#include "vswitch/qos/buckets/rate_profile.h"

namespace weir {
namespace {

/// Longer frames share their data with their copies; for shorter ones that costs as much as copying does. A
/// frame that asks for checksums or segments is finished in place for receivers that take neither, so each
/// gets its own.
constexpr std::uint32_t kCopiedBytesMax = 256;

rte_mbuf* make_copy(rte_mbuf* frame, rte_mempool* pool) {
    if (frame->pkt_len <= kCopiedBytesMax || (frame->ol_flags & kOffloadFlags) != 0)
        return rte_pktmbuf_copy(frame, pool, 0, UINT32_MAX);
    return rte_pktmbuf_clone(frame, pool);
}

/// The frame, or a copy in its place when others share its data: the uplink writes into it. @return
/// nullptr, and the frame is the caller's, when there is no buffer
rte_mbuf* unshared(rte_mbuf* frame, rte_mempool* pool) {
    const rte_mbuf* part = frame;
    while (part != nullptr && !is_shared(part))
        part = part->next;
    if (part == nullptr)
        return frame;
    rte_mbuf* copy = rte_pktmbuf_copy(frame, pool, 0, UINT32_MAX);
    if (copy != nullptr)
        rte_pktmbuf_free(frame);
    return copy;
}

bool is_group(const rte_mbuf* frame) {
    return (read_head(frame).destination & kMacGroupBit) != 0;
}

}  // namespace

Floods::Floods(const Setup& setup)
    : setup_(setup), outside_limit_(make_profile(setup.outside_pps, kFloodBurst)) {}

Floods::~Floods() {
    for (; !outside_.empty(); outside_.pop())
        rte_pktmbuf_free(outside_.front().frame);
}

void Floods::add(const VnicPath& path) {
    if (path.fixed.is_home())
        members_.add(path.fixed.id, path.fixed.vlan, !path.fixed.anti_spoofing);
}

void Floods::remove(VnicPath& path) {
    const VnicFixed& fixed = path.fixed;
    for (FloodQueue* queue : round_.waiting())
        if (queue->begun && queue->next == fixed.id)
            queue->next = members_.next(fixed.id, queue->front().group);
    members_.remove(fixed.id, fixed.vlan);
    if (fixed.owner != setup_.worker)
        return;
    round_.remove(path.floods);
    for (; !path.floods.empty(); path.floods.pop()) {
        const Flood& flood = path.floods.front();
        path.queued_buffers -= flood.buffers;
        path.stats.from_vm.queued.remove(1, flood.bytes);
        setup_.tap.drop(path.stats.from_vm, point_of(flood), flood.frame, flood.bytes,
                        DropReason::kVnicRemoved);
    }
}

/// Copies for tunnels are made between two polls of the sender's ring: then all that it holds is counted.
void Floods::take(const Passage& passage, VnicPath& from, const Run& run, bool wire_only) {
    DirectionStats& stats = from.stats.from_vm;
    const bool at_once = round_.idle() && !copies_for_tunnels(from);
    for (std::uint16_t i = 0; i < run.count; ++i) {
        rte_mbuf* frame = run.frames[i];
        const std::uint32_t split = setup_.uplink != nullptr ? Intake::split_buffers(frame) : 0;
        const Flood flood{.frame = frame,
                          .from = &from,
                          .stats = &stats,
                          .bytes = run.bytes[i],
                          .vlan = from.fixed.vlan,
                          .weight = offload::weight(frame),
                          .buffers = split != 0 ? static_cast<std::uint16_t>(split) : buffers_of(frame),
                          .group = is_group(frame),
                          .wire_only = wire_only};
        if (!from.flood.can_pay(flood.weight, passage.now()) || !round_.push(from.floods, flood)) {
            setup_.tap.drop(stats, point_of(flood), frame, run.bytes[i], DropReason::kFloodLimited);
            continue;
        }
        from.flood.pay(flood.weight, passage.now());
        from.queued_buffers += flood.buffers;
        stats.queued.add(1, run.bytes[i]);
    }
    if (at_once)
        copy_now(passage);
}

bool Floods::take_behind(const Passage& passage, VnicPath& from, const Run& one, Destination to) {
    const auto address = [](const rte_mbuf* frame) { return read_head(frame).destination; };
    const std::uint64_t wanted = address(one.frames[0]);
    if (!from.floods.any_unknown([&](const Flood& flood) { return address(flood.frame) == wanted; }))
        return false;
    from_vm_routed(passage, from, one, to, false);
    return true;
}

void Floods::from_vm_routed(const Passage& passage, VnicPath& from, const Run& one, Destination to,
                            bool wire_only) {
    const std::uint32_t tags =
        to == kToUplink ? one.wire_frames_total * std::uint32_t{from.fixed.tag_bytes} : 0;
    const std::uint32_t bytes = one.bytes[0] - tags;  // they count when it goes to the wire
    from.stats.from_vm.offered.remove(0, tags);
    Run untagged = one;
    untagged.bytes = &bytes;
    untagged.bytes_total = bytes;
    take(passage, from, untagged, wire_only);
}

/// The copies are charged to no vNIC: else the first member of the list would always pay for all.
void Floods::from_outside(const Passage& passage, DirectionStats& stats, rte_mbuf* frame, std::uint32_t bytes,
                          std::uint16_t vlan, bool encrypted) {
    const Flood flood{.frame = frame,
                      .stats = &stats,
                      .bytes = bytes,
                      .vlan = vlan,
                      .weight = offload::weight(frame),
                      .group = is_group(frame),
                      .encrypted = encrypted};
    const bool no_member = members_.first(vlan, flood.group) == kNoVnic;
    const bool at_once = round_.idle();
    if (no_member || !outside_limit_.can_pay(flood.weight, passage.now()) || !round_.push(outside_, flood)) {
        setup_.tap.drop(stats, point_of(flood), frame, bytes,
                        no_member ? DropReason::kNoSuchMac : DropReason::kFloodLimited);
        return;
    }
    outside_limit_.pay(flood.weight, passage.now());
    stats.queued.add(1, bytes);
    if (!at_once)
        return;
    copy_now(passage);
    setup_.bill.restart();
}

/// Copies frames of the only sender that has any, within the rest of this turn's copies.
void Floods::copy_now(const Passage& passage) {
    round_.serve([&](FloodQueue& queue, std::uint32_t budget) { return copy(passage, queue, budget); });
}

unsigned Floods::serve_waiting(Nanos now) {
    unsigned used_in_all = 0;
    setup_.bill.restart();
    round_.serve([&](FloodQueue& queue, std::uint32_t budget) {
        VnicPath* const payer = queue.front().from;
        const Passage passage(setup_.delivery, setup_.bill, {.vm = payer, .now = now},
                              payer != nullptr ? Passage::Payer::kSender : Passage::Payer::kReceivers);
        const std::uint32_t used = copy(passage, queue, budget);
        used_in_all += used;
        if (payer == nullptr)
            setup_.bill.restart();
        return used;
    });
    return used_in_all;
}

/// Copies one sender's frames, in order, until the budget is used or exceeded by the last copy. @return the
/// part that was used, 1 at least: the weight of each copy and of each frame that goes to the uplink, 1 for
/// each member without a copy
std::uint32_t Floods::copy(const Passage& passage, FloodQueue& queue, std::uint32_t budget) {
    std::uint32_t used = 0;
    while (!queue.empty() && used < budget) {
        const Flood flood = queue.front();
        if (!queue.begun)
            begin(queue, flood);
        used += copy_to_members(passage, queue, flood, budget - used);
        if (used < budget)
            used += copy_into_tunnels(queue, flood, budget - used, passage.now());
        if (used >= budget)
            break;
        const std::uint32_t copies = queue.copies;
        queue.pop();
        end(flood, copies, passage.now());
        used += setup_.uplink != nullptr && flood.from != nullptr ? flood.weight : 1U;
    }
    return used;
}

void Floods::begin(FloodQueue& queue, const Flood& flood) {
    queue.begun = true;
    queue.next = flood.wire_only ? kNoVnic : members_.first(flood.vlan, flood.group);
    if (flood.from != nullptr && copies_for_tunnels(*flood.from) &&
        setup_.tunnels->route(flood.frame) == kAllTunnels)
        queue.tunnel = static_cast<std::uint32_t>(setup_.tunnels->tunnels() - 1);
}

std::uint32_t Floods::copy_to_members(const Passage& passage, FloodQueue& queue, const Flood& flood,
                                      std::uint32_t budget) {
    std::uint32_t used = 0;
    for (; queue.next != kNoVnic && used < budget; ++used) {
        VnicPath& to = setup_.vnics.at(queue.next);
        queue.next = members_.next(queue.next, flood.group);
        if ((flood.from != nullptr && to.fixed.home == flood.from->fixed.home) ||
            (flood.from == nullptr && to.fixed.encrypted != flood.encrypted))
            continue;
        used += flood.weight - 1U;
        queue.copies += copy_to(passage, to, flood.frame);
    }
    return used;
}

std::uint32_t Floods::copy_into_tunnels(FloodQueue& queue, const Flood& flood, std::uint32_t budget,
                                        Nanos now) {
    std::uint32_t used = 0;
    for (; queue.tunnel != 0 && used < budget; --queue.tunnel) {
        const auto tunnel = static_cast<TunnelId>(queue.tunnel);
        const bool ready = setup_.tunnels->ready(tunnel);
        used += ready ? flood.weight : 1U;
        if (ready)
            copy_into(tunnel, flood, now);
    }
    return used;
}

/// A copy counts as a frame that its sender offers. Its buffers, or those of the segments that it may be
/// split into, must fit into the sender's quota beside all that the sender holds, with the frame itself.
void Floods::copy_into(TunnelId tunnel, const Flood& flood, Nanos now) {
    VnicPath& from = *flood.from;
    const std::uint32_t held = from.queued_buffers + from.intake.buffers();
    const bool fits = held + flood.buffers <= from.profile.buffers_max;
    rte_mbuf* made = fits ? rte_pktmbuf_copy(flood.frame, setup_.pool, 0, UINT32_MAX) : nullptr;
    flood.stats->offered.add(1, flood.bytes);
    if (made != nullptr) {
        setup_.uplink->send_copy(from, made, flood.bytes, tunnel, now);
        return;
    }
    const DropReason reason = fits ? DropReason::kNoBuffer : DropReason::kBufferQuota;
    flood.stats->drop(reason, 1, flood.bytes);
    setup_.tap.lost(point_of(flood), flood.frame, reason);
}

/// A copy that does not fit into another worker's inbox is counted in HandoffStats only: the frame itself
/// counts as delivered. @return whether a copy was made
bool Floods::copy_to(const Passage& passage, VnicPath& to, rte_mbuf* frame) {
    HandoffStats& handoff = setup_.delivery.handoff;
    rte_mbuf* made = make_copy(frame, setup_.pool);
    if (made == nullptr) {
        ++handoff.copies_without_buffer;
        return false;
    }
    if (!passage.deliver_copy(to, made))
        ++handoff.copies_ring_full;
    return true;
}

CapturePoint Floods::point_of(const Flood& flood) {
    return flood.from != nullptr ? CapturePoint::from_vm(flood.from->fixed.id) : CapturePoint::from_wire();
}

/// The frame itself: to the uplink, where it is longer than for the VMs here by the tag of its VLAN; or it is
/// done.
void Floods::end(const Flood& flood, std::uint32_t copies, Nanos now) {
    flood.stats->queued.remove(1, flood.bytes);
    if (flood.from != nullptr) {
        flood.from->queued_buffers -= flood.buffers;
        flood.from->stats.flood_copies += copies;
    }
    if (flood.from == nullptr || setup_.uplink == nullptr) {
        if (copies == 0) {
            setup_.tap.drop(*flood.stats, point_of(flood), flood.frame, flood.bytes, DropReason::kNoSuchMac);
            return;
        }
        if (flood.from != nullptr && flood.from->captured) [[unlikely]]
            setup_.tap.passed(point_of(flood), &flood.frame, 1);
        flood.stats->delivered.add(1, flood.bytes);
        rte_pktmbuf_free(flood.frame);
        return;
    }
    rte_mbuf* frame = unshared(flood.frame, setup_.pool);
    if (frame == nullptr) {
        setup_.tap.drop(*flood.stats, point_of(flood), flood.frame, flood.bytes, DropReason::kNoBuffer);
        return;
    }
    const std::uint32_t tags = std::uint32_t{offload::wire_frames(frame)} * flood.from->fixed.tag_bytes;
    flood.stats->offered.add(0, tags);
    OneFrame one(frame, flood.bytes + tags);
    setup_.uplink->send(*flood.from, one.run(), now);
}

}  // namespace weir
