// forwarder_floods.cc - Forwarder: frames for all of a VLAN wait in their sender's queue and are copied in
// turn. Source: IEEE 802.1Q 8.6, 8.8; docs/algorithms.md 3.9.
#include <rte_mbuf.h>

#include "vswitch/datapath/frame/frame.h"
#include "vswitch/datapath/frame/offload.h"
#include "vswitch/datapath/loop/forwarder.h"

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
/// nullptr, and the frame is freed, when there is no buffer
rte_mbuf* unshared(rte_mbuf* frame, rte_mempool* pool) {
    const rte_mbuf* part = frame;
    while (part != nullptr && !is_shared(part))
        part = part->next;
    if (part == nullptr)
        return frame;
    rte_mbuf* copy = rte_pktmbuf_copy(frame, pool, 0, UINT32_MAX);
    rte_pktmbuf_free(frame);
    return copy;
}

bool is_group(const rte_mbuf* frame) {
    return (read_head(frame).destination & kMacGroupBit) != 0;
}

}  // namespace

Forwarder::~Forwarder() {
    for (; !floods_outside_.empty(); floods_outside_.pop())
        rte_pktmbuf_free(floods_outside_.front().frame);
}

/// Copies for the VMs of the VLAN and the tunnels; the frame itself goes to the uplink, if there is one.
/// Copies for tunnels are made between two polls of the sender's ring: then all that it holds is counted.
void Forwarder::flood_from_vm(VnicPath& from, const Run& run, bool wire_only, Nanos now) {
    DirectionStats& stats = from.stats.from_vm;
    const bool at_once = floods_.idle() && !copies_for_tunnels(from);
    for (std::uint16_t i = 0; i < run.count; ++i) {
        rte_mbuf* frame = run.frames[i];
        const std::uint32_t split = uplink_ ? Intake::split_buffers(frame) : 0;
        const Flood flood{.frame = frame,
                          .from = &from,
                          .stats = &stats,
                          .bytes = run.bytes[i],
                          .vlan = from.fixed.vlan,
                          .weight = offload::weight(frame),
                          .buffers = split != 0 ? static_cast<std::uint16_t>(split) : buffers_of(frame),
                          .group = is_group(frame),
                          .wire_only = wire_only};
        if (!from.flood.can_pay(flood.weight, now) || !floods_.push(from.floods, flood)) {
            stats.drop(DropReason::kFloodLimited, 1, run.bytes[i]);
            rte_pktmbuf_free(frame);
            continue;
        }
        from.flood.pay(flood.weight, now);
        from.queued_buffers += flood.buffers;
        stats.queued.add(1, run.bytes[i]);
    }
    if (at_once)
        copy_floods_now(now);
}

/// Whether frames of the sender that wait to be flooded will go there, too.
bool Forwarder::reached_by_floods(const VnicPath& from, Destination to) const {
    return from.floods.has_unknown() && (to == kToUplink || !directory_[to]->fixed.anti_spoofing);
}

/// A frame to an address that was learned while earlier frames to it wait to be flooded: it is flooded behind
/// them, so that it does not overtake them. It is charged to the sender's limit of floods, because a sender
/// that keeps its queue filled could flood at any rate otherwise. @return false when no such frame waits
bool Forwarder::flood_behind(VnicPath& from, const Run& run, Destination to, Nanos now) {
    const auto address = [](const rte_mbuf* frame) { return read_head(frame).destination; };
    const std::uint64_t wanted = address(run.frames[0]);
    if (!from.floods.any_unknown([&](const Flood& flood) { return address(flood.frame) == wanted; }))
        return false;
    flood_routed(from, run, to, false, now);
    return true;
}

/// Floods a frame that was routed already, and counted with the tags that it gets on the wire.
void Forwarder::flood_routed(VnicPath& from, const Run& run, Destination to, bool wire_only, Nanos now) {
    const std::uint32_t tags =
        to == kToUplink ? run.wire_frames_total * std::uint32_t{from.fixed.tag_bytes} : 0;
    const std::uint32_t bytes = run.bytes[0] - tags;  // they count when it goes to the wire
    from.stats.from_vm.offered.remove(0, tags);
    Run untagged = run;
    untagged.bytes = &bytes;
    untagged.bytes_total = bytes;
    flood_from_vm(from, untagged, wire_only, now);
}

/// A frame from the wire or from a tunnel, within the bound on such floods. vNICs that encrypt get what came
/// through tunnels, the others what came in clear text. The copies are charged to no vNIC: else the first
/// member of the list would always pay for all.
void Forwarder::flood_from_outside(DirectionStats& stats, rte_mbuf* frame, std::uint32_t bytes,
                                   std::uint16_t vlan, bool encrypted, Nanos now) {
    const Flood flood{.frame = frame,
                      .stats = &stats,
                      .bytes = bytes,
                      .vlan = vlan,
                      .weight = offload::weight(frame),
                      .group = is_group(frame),
                      .encrypted = encrypted};
    const bool no_member = members_.first(vlan, flood.group) == kNoVnic;
    const bool at_once = floods_.idle();
    if (no_member || !wire_flood_.can_pay(flood.weight, now) || !floods_.push(floods_outside_, flood)) {
        stats.drop(no_member ? DropReason::kNoSuchMac : DropReason::kFloodLimited, 1, bytes);
        rte_pktmbuf_free(frame);
        return;
    }
    wire_flood_.pay(flood.weight, now);
    stats.queued.add(1, bytes);
    if (!at_once)
        return;
    copy_floods_now(now);
    bill_.restart();
}

/// Of the only sender, with what is left of this turn's copies; the caller flushes and charges.
void Forwarder::copy_floods_now(Nanos now) {
    floods_.serve([&](FloodQueue& queue, std::uint32_t budget) { return copy_floods(queue, budget, now); });
}

unsigned Forwarder::serve_waiting_floods(Nanos now) {
    unsigned used_in_all = 0;
    bill_.restart();
    floods_.serve([&](FloodQueue& queue, std::uint32_t budget) {
        VnicPath* const payer = queue.front().from;
        if (payer != nullptr)
            delivery_.begin_vm(*payer, now);
        else
            delivery_.begin_wire(now);
        const std::uint32_t used = copy_floods(queue, budget, now);
        used_in_all += used;
        if (payer == nullptr) {
            bill_.restart();
            delivery_.flush_to_receivers();
        } else {
            delivery_.flush();
            bill_.charge(*payer);
        }
        return used;
    });
    return used_in_all;
}

/// Copies one sender's frames, in order, until the budget is used or exceeded by the last copy. @return what
/// was used, 1 at least: the weight of each copy and of each frame that goes to the uplink, 1 for each member
/// without a copy
std::uint32_t Forwarder::copy_floods(FloodQueue& queue, std::uint32_t budget, Nanos now) {
    std::uint32_t used = 0;
    while (!queue.empty() && used < budget) {
        const Flood flood = queue.front();
        if (!queue.begun)
            begin_flood(queue, flood);
        used += copy_to_members(queue, flood, budget - used, now);
        if (used < budget)
            used += copy_into_tunnels(queue, flood, budget - used, now);
        if (used >= budget)
            break;
        const std::uint32_t copies = queue.copies;
        queue.pop();
        end_flood(flood, copies, now);
        used += uplink_ && flood.from != nullptr ? flood.weight : 1U;
    }
    return used;
}

void Forwarder::begin_flood(FloodQueue& queue, const Flood& flood) {
    queue.begun = true;
    queue.next = flood.wire_only ? kNoVnic : members_.first(flood.vlan, flood.group);
    if (flood.from != nullptr && copies_for_tunnels(*flood.from) &&
        tunnels_->route(flood.frame) == kAllTunnels)
        queue.tunnel = static_cast<std::uint32_t>(tunnels_->tunnels() - 1);
}

std::uint32_t Forwarder::copy_to_members(FloodQueue& queue, const Flood& flood, std::uint32_t budget,
                                         Nanos now) {
    std::uint32_t used = 0;
    for (; queue.next != kNoVnic && used < budget; ++used) {
        VnicPath& to = *directory_[queue.next];
        queue.next = members_.next(queue.next, flood.group);
        if (&to == flood.from || (flood.from == nullptr && to.fixed.encrypted != flood.encrypted))
            continue;
        used += flood.weight - 1U;
        queue.copies += copy_to(to, flood.frame, now);
    }
    return used;
}

std::uint32_t Forwarder::copy_into_tunnels(FloodQueue& queue, const Flood& flood, std::uint32_t budget,
                                           Nanos now) {
    std::uint32_t used = 0;
    for (; queue.tunnel != 0 && used < budget; --queue.tunnel) {
        const auto tunnel = static_cast<TunnelId>(queue.tunnel);
        const bool ready = tunnels_->ready(tunnel);
        used += ready ? flood.weight : 1U;
        if (ready)
            copy_into(tunnel, flood, now);
    }
    return used;
}

/// A copy counts as a frame that its sender offers. What it may be split into must fit into the sender's
/// quota beside all that the sender holds, of which the frame itself is a part.
void Forwarder::copy_into(TunnelId tunnel, const Flood& flood, Nanos now) {
    VnicPath& from = *flood.from;
    const std::uint32_t held = from.queued_buffers + from.intake.buffers();
    const bool fits = held + flood.buffers <= from.profile.buffers_max;
    rte_mbuf* copy = fits ? rte_pktmbuf_copy(flood.frame, pool_, 0, UINT32_MAX) : nullptr;
    flood.stats->offered.add(1, flood.bytes);
    if (copy != nullptr)
        uplink_->send_copy(from, copy, flood.bytes, tunnel, now);
    else
        flood.stats->drop(fits ? DropReason::kNoBuffer : DropReason::kBufferQuota, 1, flood.bytes);
}

/// A copy that does not fit into another worker's inbox is counted in HandoffStats only: the frame itself
/// counts as delivered. @return whether a copy was made
bool Forwarder::copy_to(VnicPath& to, rte_mbuf* frame, Nanos now) {
    rte_mbuf* copy = make_copy(frame, pool_);
    if (copy == nullptr) {
        ++delivery_.handoff.copies_without_buffer;
        return false;
    }
    delivery_.deliver_copies(true);
    if (!deliver_one(to, copy, now))
        ++delivery_.handoff.copies_ring_full;
    delivery_.deliver_copies(false);
    return true;
}

void Forwarder::end_flood(const Flood& flood, std::uint32_t copies, Nanos now) {
    flood.stats->queued.remove(1, flood.bytes);
    if (flood.from != nullptr) {
        flood.from->queued_buffers -= flood.buffers;
        flood.from->stats.flood_copies += copies;
    }
    if (flood.from != nullptr && uplink_) {
        if (rte_mbuf* frame = unshared(flood.frame, pool_); frame != nullptr)
            send_flooded(*flood.from, frame, flood.bytes, now);
        else
            flood.stats->drop(DropReason::kNoBuffer, 1, flood.bytes);
        return;
    }
    if (copies != 0)
        flood.stats->delivered.add(1, flood.bytes);
    else
        flood.stats->drop(DropReason::kNoSuchMac, 1, flood.bytes);
    rte_pktmbuf_free(flood.frame);
}

/// On the wire the frame is longer than for the VMs here: it gets the tag of its VLAN.
void Forwarder::send_flooded(VnicPath& from, rte_mbuf* frame, std::uint32_t bytes, Nanos now) {
    const std::uint32_t tags = std::uint32_t{offload::wire_frames(frame)} * from.fixed.tag_bytes;
    from.stats.from_vm.offered.add(0, tags);
    send_single(from, frame, bytes + tags, now);
}

/// A vNIC goes: what it floods is dropped, and others' floods go on with the member behind it.
void Forwarder::remove_from_floods(VnicPath& path) {
    const VnicFixed& fixed = path.fixed;
    for (FloodQueue* queue : floods_.waiting())
        if (queue->begun && queue->next == fixed.id)
            queue->next = members_.next(fixed.id, queue->front().group);
    members_.remove(fixed.id, fixed.vlan);
    if (fixed.owner != worker_)
        return;
    floods_.remove(path.floods);
    for (; !path.floods.empty(); path.floods.pop()) {
        const Flood& flood = path.floods.front();
        path.queued_buffers -= flood.buffers;
        path.stats.from_vm.queued.remove(1, flood.bytes);
        path.stats.from_vm.drop(DropReason::kVnicRemoved, 1, flood.bytes);
        rte_pktmbuf_free(flood.frame);
    }
}

}  // namespace weir
