// forward_tunnel.cc - what came through tunnels: to the worker that has the keys, into clear text, to its VM.
#include <rte_mbuf.h>

#include <algorithm>
#include <utility>

#include "vswitch/datapath/classifier.h"
#include "vswitch/datapath/flood.h"
#include "vswitch/datapath/traffic_class.h"
#include "vswitch/datapath/worker.h"

namespace weir {

/// ESP frames to this host, as the wire gave them: to the agent, to who has the SA, or to nobody.
void Worker::from_tunnels(const EspBurst& burst, Nanos now) {
    DirectionStats& rx = uplink_->stats.rx;
    EspBurst mine;
    for (std::uint16_t i = 0; i < burst.count; ++i) {
        rte_mbuf* frame = burst.frames[i];
        const std::uint32_t bytes = burst.bytes[i];
        const TunnelPath::Found found = tunnels_->find(frame);
        DropReason refused = DropReason::kCount;
        if (found.tunnel == kNoTunnel) {
            refused = DropReason::kEspUnknownSpi;
        } else if (found.message) {
            if (tunnels_->letters.push({frame, found.tunnel}))
                ++tunnels_->stats[found.tunnel].letters;
            else
                refused = DropReason::kQueueFull;
        } else if (found.owner == setup_.id) {
            mine.bytes[mine.count] = bytes;
            mine.frames[mine.count++] = frame;
        } else {
            set_destination(frame, found.tunnel, FrameOrigin::kTunnel);
            if (setup_.inboxes[found.owner]->post(&frame, 1) != 1)
                refused = DropReason::kWorkerRingFull;
        }
        if (refused == DropReason::kCount) {
            rx.delivered.add(1, bytes);  // to the switch itself
        } else {
            rx.drop(refused, 1, bytes);
            rte_pktmbuf_free(frame);
        }
    }
    decrypt(mine, now);
}

/// SA by SA; a session may have gone while the frame changed workers.
void Worker::decrypt(EspBurst& burst, Nanos now) {
    for (std::uint16_t first = 0; first < burst.count; ++first) {
        if (burst.frames[first] == nullptr)
            continue;
        const TunnelPath::Found found = tunnels_->find(burst.frames[first]);
        std::array<rte_mbuf*, kCryptoBurst> frames;
        std::array<std::uint32_t, kCryptoBurst> bytes;
        std::uint16_t count = 0;
        for (std::uint16_t i = first; i < burst.count; ++i) {
            if (burst.frames[i] == nullptr || (i != first && tunnels_->find(burst.frames[i]).sa != found.sa))
                continue;
            bytes[count] = burst.bytes[i];
            frames[count++] = std::exchange(burst.frames[i], nullptr);
        }
        if (found.sa == nullptr) {
            rte_pktmbuf_free_bulk(frames.data(), count);
            handoff_.vnic_gone += count;
            continue;
        }
        EspOutcomes outcomes;
        tunnels_->decrypt(found.tunnel, *found.sa, std::span(frames).first(count), outcomes);
        DirectionStats& in = tunnels_->stats[found.tunnel].in;
        for (std::uint16_t i = 0; i < count; ++i) {
            in.offered.add(1, bytes[i]);
            if (outcomes[i] == EspOutcome::kDone) {
                decrypted(frames[i], bytes[i], found.tunnel, now);
            } else {
                in.drop(reason_of(outcomes[i]), 1, bytes[i]);
                rte_pktmbuf_free(frames[i]);
            }
        }
    }
}

/// A frame of the other end's VM, in clear text. Only what lies behind the tunnel may speak through it.
void Worker::decrypted(rte_mbuf* frame, std::uint32_t bytes, TunnelId tunnel, Nanos now) {
    DirectionStats& in = tunnels_->stats[tunnel].in;
    FrameHead head = read_head(frame);
    const bool congested = frame->hash.usr != 0;
    const std::uint16_t vlan = strip_tag(frame, head);
    if (congested)
        (void)mark_congestion(frame);  // RFC 6040
    DropReason refused = DropReason::kCount;
    const bool group = (head.destination & kMacGroupBit) != 0;
    const Destination to = group ? kToAll : macs_.find(mac_key(head.destination, vlan));
    if (is_reserved_multicast(head.destination))
        refused = DropReason::kReservedMulticast;
    else if (!tunnels_->source_fits(tunnel, frame))
        refused = DropReason::kTunnelSource;
    else if (claims_feedback(frame) && !feedback_)
        refused = DropReason::kFeedbackUnexpected;
    else if (to == kToUplink)
        refused = DropReason::kHairpin;
    else if (to == kNowhere)
        refused = DropReason::kNoSuchMac;
    else if (!group && !directory_[to]->fixed.encrypted)
        refused = DropReason::kEncryptedUnexpected;
    if (refused != DropReason::kCount) {
        in.drop(refused, 1, bytes);
        rte_pktmbuf_free(frame);
        return;
    }
    if (claims_feedback(frame)) {
        in.delivered.add(1, bytes);
        feedback_->hear(frame, vlan, true, now);
        return;
    }
    if ((head.source & kMacGroupBit) == 0)
        macs_.learn(mac_key(head.source, vlan), kToUplink, now);
    if (!group) {
        from_tunnel_to(*directory_[to], frame, bytes, tunnel, now);
        return;
    }
    const auto takes = [=](const VnicPath& vnic) {
        return vnic.fixed.encrypted && takes_flood(vnic, vlan, group);
    };
    const unsigned copies = !wire_flood_.can_pay(1, now)
                                ? 0
                                : flood_to(all_, nullptr, frame, setup_.pool, takes,
                                           [&](VnicPath& vnic, rte_mbuf* copy) { deliver_copy(vnic, copy); });
    if (copies != 0) {
        wire_flood_.pay(1, now);
        in.delivered.add(1, bytes);
    } else {
        in.drop(wire_flood_.can_pay(1, now) ? DropReason::kNoSuchMac : DropReason::kFloodLimited, 1, bytes);
    }
    rte_pktmbuf_free(frame);
}

/// Metered as it was on the wire.
void Worker::from_tunnel_to(VnicPath& to, rte_mbuf* frame, std::uint32_t bytes, TunnelId tunnel, Nanos now) {
    DirectionStats& in = tunnels_->stats[tunnel].in;
    const std::uint16_t wire_frames = 1;
    Run run{&frame, &bytes, &wire_frames, 1, bytes, 1, frame->pkt_len, 0};
    if (to.fixed.owner != setup_.id) {
        if (hand_over(to, run, FrameOrigin::kWire) == 1)
            in.delivered.add(1, bytes);
        else
            in.drop(DropReason::kWorkerRingFull, 1, bytes);
        return;
    }
    in.delivered.add(1, bytes);
    if (feedback_)
        feedback_->meter(to, run, now);
    deliver_one(to, frame);
}

}  // namespace weir
