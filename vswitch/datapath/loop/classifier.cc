// classifier.cc - the loops over a burst; rare cases are out of line.
#include "vswitch/datapath/loop/classifier.h"

#include <rte_mbuf.h>

#include <cstring>

#include "common/byte_order.h"
#include "vswitch/datapath/frame/feedback_frame.h"
#include "vswitch/datapath/frame/frame.h"
#include "vswitch/datapath/frame/offload.h"
#include "vswitch/datapath/frame/traffic_class.h"
#include "vswitch/datapath/frame/vlan_tag.h"

namespace weir {
namespace {

/// Long frames have pushed their own headers out of the first-level cache by the time they are read.
constexpr unsigned kPrefetchAhead = 4;
inline void prefetch_head(rte_mbuf** frames, unsigned count, unsigned at) {
    if (at < count)
        rte_prefetch0(rte_pktmbuf_mtod(frames[at], const void*));
}

/// Adds one accepted frame to the batch.
inline void append(Batch& batch, rte_mbuf* frame, Destination to, std::uint32_t bytes,
                   std::uint16_t wire_frames) {
    const std::uint16_t at = batch.count++;
    batch.frames[at] = frame;
    batch.bytes[at] = bytes;
    batch.wire_frames[at] = wire_frames;
    batch.to[at] = to;
    batch.bytes_total += bytes;
    batch.wire_frames_total += wire_frames;
    batch.same_destination &= to == batch.to[0];
}

/// Whether it is a feedback frame of a Weir switch, or a forgery. Other packets of the protocol are guests'.
/// @param before bytes of VLAN tags in front of the EtherType
bool claims_feedback(const rte_mbuf* frame, std::uint32_t before = 0) {
    constexpr std::uint32_t kEnough = 24;
    return frame->data_len >= kEnough + before &&
           has_feedback_protocol(rte_pktmbuf_mtod_offset(frame, const std::uint8_t*, before)) &&
           is_feedback(first_buffer(frame).subspan(before));
}

/// VLAN 0 is none: the tag only states a priority (802.1Q 6.9).
bool is_priority_tagged(const rte_mbuf* frame, const FrameHead& head) {
    constexpr std::uint8_t kHighVlanBits = 0x0F;
    if (!head.tagged() || frame->data_len < kEthernetHeaderBytes + kVlanTagBytes)
        return false;
    const auto* tag = rte_pktmbuf_mtod_offset(frame, const std::uint8_t*, kEthernetHeaderBytes);
    return ((tag[0] & kHighVlanBits) | tag[1]) == 0;
}

/// Takes the priority tag of a guest's frame off, so that checks, prices and offloads see an untagged frame.
/// Its priority is kept for the tag that the frame may get on the wire.
void strip_priority_tag(rte_mbuf* frame, FrameHead& head) {
    frame->vlan_tci = remove_tag(frame);
    frame->ol_flags |= kPriorityFlag;
    head = read_head(frame);
}

/// The offloads that the guest asks for write at the headers that the guard has read, and nowhere else.
bool offloads_fit(const AddressGuard::Judgement& judged, const rte_mbuf* frame) {
    constexpr std::uint8_t kTcp = 6;
    constexpr std::uint8_t kUdp = 17;
    const std::uint64_t l4 = frame->ol_flags & RTE_MBUF_F_TX_L4_MASK;
    const bool tcp = l4 == RTE_MBUF_F_TX_TCP_CKSUM || (frame->ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0;
    return judged.ip_at == frame->l2_len && judged.upper_at == frame->l2_len + frame->l3_len &&
           (!tcp || judged.protocol == kTcp) && (l4 != RTE_MBUF_F_TX_UDP_CKSUM || judged.protocol == kUdp);
}

/// Why a frame of a guest whose addresses are guarded is refused; kCount when it is not.
DropReason judge_addresses(VnicPath& from, const rte_mbuf* frame, Nanos now) {
    const AddressGuard::Judgement judged = from.guard.judge(from.profile.addresses, first_buffer(frame), now);
    if (judged.refused == DropReason::kCount && (frame->ol_flags & kOffloadFlags) != 0 &&
        !offloads_fit(judged, frame))
        return DropReason::kBadOffload;
    return judged.refused;
}

/// Why a frame with an unusual header, or of a guarded guest, is refused; kCount when it is not.
[[gnu::noinline]] DropReason judge_head(VnicPath& from, const rte_mbuf* frame, const FrameHead& head,
                                        bool feedback, Nanos now) {
    if (feedback && claims_feedback(frame, head.tagged() ? kVlanTagBytes : 0))
        return DropReason::kFeedbackUnexpected;
    if (((head.source ^ from.fixed.mac) & from.fixed.mac_mask) != 0 || (head.source & kMacGroupBit) != 0)
        return DropReason::kMacSpoof;
    if (head.tagged() && (from.fixed.anti_spoofing || is_priority_tagged(frame, head)))
        return DropReason::kVlanSpoof;
    if (is_reserved_multicast(head.destination))
        return DropReason::kReservedMulticast;
    return from.profile.guarded ? judge_addresses(from, frame, now) : DropReason::kCount;
}

/// Takes the VLAN tag off; a service tag stays. @return the VLAN, 0 when untagged
std::uint16_t strip_tag(rte_mbuf* frame, FrameHead& head) {
    if (head.type != kTypeTag || frame->data_len < kEthernetHeaderBytes + kVlanTagBytes)
        return 0;
    const std::uint16_t control = remove_tag(frame);
    head = read_head(frame);
    return control & 0x0FFF;
}

/// Where a frame from outside goes. Where no port here may have unknown addresses behind it, frames for a
/// vNIC whose VM is not connected still go to that vNIC, which counts them.
template <class Context>
Destination find_inside(const Context& context, std::uint64_t mac, std::uint16_t vlan) {
    const MacKey key = mac_key(mac, vlan);
    return context.learns ? context.macs.find(key) : context.macs.find_or_home(key);
}

/// The vNIC that the NIC's rule has already found, kNowhere without a (sane) mark.
Destination marked(const WireContext& context, const rte_mbuf* frame, std::uint16_t vlan, std::uint64_t mac) {
    if ((frame->ol_flags & RTE_MBUF_F_RX_FDIR_ID) == 0)
        return kNowhere;
    const std::uint32_t vnic = frame->hash.fdir.hi - 1;
    if (vnic >= limits::kVnicsMax || context.directory[vnic] == nullptr)
        return kNowhere;
    const VnicFixed& fixed = context.directory[vnic]->fixed;
    return fixed.mac == mac && fixed.vlan == vlan ? fixed.id
                                                  : kNowhere;  // a rule may outlive its vNIC by a moment
}

/// Never for a guest: to the switch itself.
[[gnu::noinline]] void take_feedback(const WireContext& context, rte_mbuf* frame, std::uint16_t vlan,
                                     std::uint32_t bytes) {
    FeedbackBurst* burst = context.feedback;
    context.stats.delivered.add(1, bytes);
    burst->vlans[burst->count] = vlan;
    burst->frames[burst->count++] = frame;
}

}  // namespace

void classify_from_vm(VnicPath& from, MacTable& macs, Destination unknown, CaptureTap& tap, rte_mbuf** frames,
                      std::uint16_t count, bool feedback, Nanos now, Batch& batch) {
    const VnicFixed& fixed = from.fixed;
    const bool guarded = from.profile.guarded;
    DirectionStats& stats = from.stats.from_vm;
    std::uint64_t offered_bytes = 0;
    MacKey last_key = ~0ULL;
    Destination last = kNowhere;
    for (std::uint16_t i = 0; i < count; ++i) {
        rte_mbuf* frame = frames[i];
        prefetch_head(frames, count, i + kPrefetchAhead);
        std::uint32_t bytes = frame->pkt_len + fixed.overhead_bytes;
        std::uint16_t wire_frames = 1;
        if (frame->data_len < kEthernetHeaderBytes) [[unlikely]] {
            offered_bytes += bytes;
            tap.drop(stats, CapturePoint::from_vm(fixed.id), frame, bytes, DropReason::kRunt);
            continue;
        }
        FrameHead head = read_head(frame);
        const bool odd = guarded || ((head.source ^ fixed.mac) & fixed.mac_mask) != 0 || head.tagged() ||
                         ((head.source | head.destination) & kMacGroupBit) != 0 ||
                         has_feedback_protocol(rte_pktmbuf_mtod(frame, const std::uint8_t*));
        DropReason verdict = DropReason::kCount;
        if (odd) {
            if (is_priority_tagged(frame, head)) {
                strip_priority_tag(frame, head);
                bytes -= kVlanTagBytes;
            }
            verdict = judge_head(from, frame, head, feedback, now);
        }
        if ((frame->ol_flags & kOffloadFlags) != 0) [[unlikely]] {
            if (!offload::valid(frame)) {
                verdict = DropReason::kBadOffload;
            } else if ((wire_frames = offload::wire_frames(frame)) > 1) {
                bytes = offload::accounted_bytes(frame, wire_frames, fixed.overhead_bytes);
            }
            batch.offload_flags |= frame->ol_flags & kOffloadFlags;
        }
        if ((frame->ol_flags & RTE_MBUF_F_TX_TCP_SEG) == 0)
            batch.longest = RTE_MAX(batch.longest, frame->pkt_len);
        const MacKey key = mac_key(head.destination, fixed.vlan);
        if (key != last_key) {
            last_key = key;
            last = (head.destination & kMacGroupBit) != 0 ? kToAll : macs.find(key);
            last = last == kNowhere ? unknown : last;
        }
        if (last == kToUplink)
            bytes += static_cast<std::uint32_t>(wire_frames) * fixed.tag_bytes;
        offered_bytes += bytes;
        if (last == fixed.id || last == fixed.home)
            verdict = verdict == DropReason::kCount ? DropReason::kHairpin : verdict;
        if (verdict != DropReason::kCount) [[unlikely]] {
            tap.drop(stats, CapturePoint::from_vm(fixed.id), frame, bytes, verdict);
            continue;
        }
        if (!fixed.anti_spoofing) [[unlikely]]
            macs.learn(mac_key(head.source, fixed.vlan), fixed.id, now, fixed.generation);
        append(batch, frame, last, bytes, wire_frames);
    }
    stats.offered.add(count, offered_bytes);
}

void classify_from_wire(const WireContext& context, rte_mbuf** frames, std::uint16_t count, Nanos now,
                        Batch& batch, std::uint16_t* vlans) {
    for (std::uint16_t i = 0; i < count; ++i) {
        rte_mbuf* frame = frames[i];
        prefetch_head(frames, count, i + kPrefetchAhead);
        std::uint32_t bytes = frame->pkt_len + context.overhead_bytes;
        context.stats.offered.add(1, bytes);
        if (frame->data_len < kEthernetHeaderBytes) [[unlikely]] {
            context.tap.drop(context.stats, CapturePoint::from_wire(), frame, bytes, DropReason::kRunt);
            continue;
        }
        FrameHead head = read_head(frame);
        const std::uint16_t vlan = strip_tag(frame, head);
        if (vlan == 0 && bytes != frame->pkt_len + context.overhead_bytes) [[unlikely]] {
            bytes -= kVlanTagBytes;  // a priority tag does not count, as little as a guest's does
            context.stats.offered.remove(0, kVlanTagBytes);
        }
        if (is_reserved_multicast(head.destination)) [[unlikely]] {
            context.tap.drop(context.stats, CapturePoint::from_wire(), frame, bytes,
                             DropReason::kReservedMulticast);
            continue;
        }
        if (context.feedback != nullptr && claims_feedback(frame)) [[unlikely]] {
            take_feedback(context, frame, vlan, bytes);
            continue;
        }
        if (context.tunnels != nullptr && context.tunnels->claims(frame)) {
            context.esp->add(frame, bytes);
            continue;
        }
        Destination to = marked(context, frame, vlan, head.destination);
        if (to == kNowhere)
            to = (head.destination & kMacGroupBit) != 0 ? kToAll
                                                        : find_inside(context, head.destination, vlan);
        if (to == kToUplink) [[unlikely]] {
            context.tap.drop(context.stats, CapturePoint::from_wire(), frame, bytes, DropReason::kHairpin);
            continue;
        }
        if (context.learns && (head.source & kMacGroupBit) == 0)
            context.macs.learn(mac_key(head.source, vlan), kToUplink, now);
        batch.longest = RTE_MAX(batch.longest, frame->pkt_len);
        frame->ol_flags &= ~kOffloadFlags;  // only a sender's requests count, and the wire makes none
        vlans[batch.count] = vlan;
        append(batch, frame, to == kNowhere ? kToAll : to, bytes, 1);
    }
}

TunnelFrame classify_from_tunnel(const TunnelContext& context, rte_mbuf* frame, TunnelId tunnel, Nanos now) {
    TunnelFrame found;
    FrameHead head = read_head(frame);
    const bool congested = was_congested(frame);
    found.vlan = strip_tag(frame, head);
    if (congested)
        (void)mark_congestion(frame);
    const bool group = (head.destination & kMacGroupBit) != 0;
    found.to = group ? kToAll : find_inside(context, head.destination, found.vlan);
    found.is_feedback = context.feedback && claims_feedback(frame);
    if (is_reserved_multicast(head.destination))
        found.refused = DropReason::kReservedMulticast;
    else if (!context.tunnels.source_fits(tunnel, frame))
        found.refused = DropReason::kTunnelSource;
    else if (found.to == kToUplink)
        found.refused = DropReason::kHairpin;
    else if (found.to == kNowhere)
        found.refused = DropReason::kNoSuchMac;
    else if (!group && !context.directory[found.to]->fixed.encrypted)
        found.refused = DropReason::kEncryptedUnexpected;
    else if (context.learns && !found.is_feedback && (head.source & kMacGroupBit) == 0)
        context.macs.learn(mac_key(head.source, found.vlan), kToUplink, now);
    return found;
}

}  // namespace weir
