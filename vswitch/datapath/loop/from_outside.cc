// from_outside.cc - FromOutside: classified, metered by the owner of the vNIC, delivered.
#include "vswitch/datapath/loop/from_outside.h"

#include <rte_mbuf.h>

#include <array>

#include "vswitch/datapath/frame/frame.h"
#include "vswitch/datapath/frame/offload.h"
#include "vswitch/datapath/loop/classifier.h"

namespace weir {

unsigned FromOutside::poll_wire(Nanos now, WorkerStats& stats) {
    std::array<rte_mbuf*, limits::kBurst> frames;
    Uplink& uplink = *stages_.uplink;
    const std::uint16_t count = uplink.rx_burst(frames.data(), limits::kBurst);
    if (count == 0)
        return 0;
    if (stages_.tap.of_uplink()) [[unlikely]]
        stages_.tap.passed(CapturePoint::from_wire(), frames.data(), count, 0, CaptureVerdict::kReceived);
    const Passage passage(stages_.delivery, bill_, {.now = now}, Passage::Payer::kReceivers);
    Batch batch;
    std::array<std::uint16_t, limits::kBurst> vlans;
    FeedbackBurst feedback;
    EspBurst esp;
    classify_from_wire({stages_.vnics.macs(), stages_.vnics.by_id(), overhead_bytes_, uplink.stats.rx,
                        stages_.tap, stages_.feedback ? &feedback : nullptr,
                        stages_.tunnels ? &*stages_.tunnels : nullptr, &esp, stages_.vnics.learns_wire()},
                       frames.data(), count, now, batch, vlans.data());
    for (std::uint16_t i = 0; i < feedback.count; ++i)
        stages_.feedback->on_feedback(feedback.frames[i], feedback.vlans[i], false, now);
    from_wire(passage, batch, vlans.data());
    if (esp.count != 0) {
        ClearBurst clear;
        stages_.tunnels->receive(esp, uplink.stats.rx, clear);
        from_tunnels(passage, clear);
    }
    stats.packets += count;
    ++stats.bursts;
    return count;
}

void FromOutside::from_wire(const Passage& passage, Batch& batch, std::uint16_t* vlans) {
    const bool whole = stages_.delivery.gather(batch, vlans);
    for (std::uint16_t first = 0; first < batch.count;) {
        const Run run = run_at(batch, first);
        if (batch.to[first] == kToAll) {
            for (std::uint16_t i = 0; i < run.count; ++i)
                stages_.floods.from_outside(passage, stages_.uplink->stats.rx, run.frames[i], run.bytes[i],
                                            vlans[first + i], false);
        } else {
            from_wire_to(passage, meter_of(stages_.vnics.at(batch.to[first])), run, whole);
        }
        first = static_cast<std::uint16_t>(first + run.count);
    }
}

/// The member that takes the frames of the wire: with feedback the home, as a vNIC has one meter.
VnicPath& FromOutside::meter_of(VnicPath& to) const {
    return to.fixed.is_home() || !stages_.feedback ? to : stages_.vnics.at(to.fixed.home);
}

/// The owner meters the run with the VLAN tags that its frames had on the wire, and delivers it without them.
void FromOutside::from_wire_to(const Passage& passage, VnicPath& to, const Run& run, bool whole) {
    DirectionStats& rx = stages_.uplink->stats.rx;
    if (to.fixed.encrypted) [[unlikely]] {
        for (std::uint16_t i = 0; i < run.count; ++i)
            stages_.tap.drop(rx, CapturePoint::from_wire(to.fixed.id), run.frames[i], run.bytes[i],
                             DropReason::kClearText);
        return;
    }
    if (to.fixed.owner != worker_) {
        account(rx, run, stages_.delivery.hand_over(to, run, FrameOrigin::kWire));
        return;
    }
    if (stages_.feedback)
        stages_.feedback->meter(to, run, passage.now());
    Run untagged = run;
    untagged.bytes_total -= static_cast<std::uint32_t>(run.count) * to.fixed.tag_bytes;
    rx.delivered.add(run.count, run.bytes_total);
    stages_.delivery.deliver(passage.origin(), to, untagged, whole);
    if (whole)
        bill_.charge(to);
}

unsigned FromOutside::poll_inbox(Nanos now) {
    std::array<rte_mbuf*, limits::kBurst> frames;
    std::span<rte_mbuf*> piece;
    if (pieces_.empty()) {
        piece = std::span(frames).first(inboxes_[worker_]->take(frames.data(), limits::kBurst));
        if (piece.empty())
            return 0;
        if (Intake::needed_for(piece)) [[unlikely]]
            pieces_.fill(piece);
    }
    if (!pieces_.empty()) [[unlikely]]
        piece = pieces_.next(UINT32_MAX, limits::kBurst, true);
    const Passage passage(stages_.delivery, bill_, {.inbox = true, .now = now}, Passage::Payer::kReceivers);
    EspBurst esp;
    for (rte_mbuf* frame : piece) {
        if (FrameWord::of(frame).origin == FrameOrigin::kTunnel)
            esp.add(frame, frame->pkt_len + overhead_bytes_);
        else
            from_worker(passage, frame);
    }
    if (esp.count != 0) {
        ClearBurst clear;
        stages_.delivery.handoff.vnic_gone += stages_.tunnels->decrypt(esp, clear);
        from_tunnels(passage, clear);
    }
    return static_cast<unsigned>(piece.size());
}

/// Applies a feedback frame, and delivers any other. A frame of the wire is metered first: its vNIC's owner
/// does that, not the worker that received the frame.
void FromOutside::from_worker(const Passage& passage, rte_mbuf* frame) {
    const FrameOrigin origin = FrameWord::of(frame).origin;
    VnicPath* const to = stages_.vnics.addressee(frame);
    if (to != nullptr && stages_.feedback && origin == FrameOrigin::kFeedback) {
        stages_.feedback->on_passed_feedback(frame, *to, passage.now());
        return;
    }
    if (to != nullptr && !to->fixed.is_home() && to->fixed.owner != worker_) {
        send_for_member(stages_.vnics.at(to->fixed.home), frame, passage.now());
        return;
    }
    if (to != nullptr && stages_.feedback && origin == FrameOrigin::kWire) {
        OneFrame one(frame, frame->pkt_len + to->fixed.overhead_bytes + to->fixed.tag_bytes);
        stages_.feedback->meter(*to, one.run(), passage.now());
    }
    if (to == nullptr)
        rte_pktmbuf_free(frame);
    stages_.delivery.handoff.vnic_gone += to == nullptr || !passage.deliver(*to, frame);
}

/// A member's frame to a destination that has its limiter here (Delivery::hand_home()).
void FromOutside::send_for_member(VnicPath& home, rte_mbuf* frame, Nanos now) {
    OneFrame one(frame, offload::accounted_bytes(frame, offload::wire_frames(frame),
                                                 home.fixed.overhead_bytes + home.fixed.tag_bytes));
    home.stats.from_vm.offered.add(1, one.bytes);
    stages_.uplink->send(home, one.run(), now);
    bill_.charge(home);
}

void FromOutside::from_tunnels(const Passage& passage, const ClearBurst& burst) {
    for (std::uint16_t i = 0; i < burst.count; ++i)
        from_tunnel(passage, burst.frames[i], burst.bytes[i], burst.tunnels[i]);
}

/// @param bytes of the ESP frame: the frame is metered as it was on the wire
void FromOutside::from_tunnel(const Passage& passage, rte_mbuf* frame, std::uint32_t bytes, TunnelId tunnel) {
    DirectionStats& in = stages_.tunnels->stats[tunnel].in;
    const TunnelFrame found =
        classify_from_tunnel({stages_.vnics.macs(), stages_.vnics.by_id(), *stages_.tunnels,
                              stages_.feedback.has_value(), stages_.vnics.learns_wire()},
                             frame, tunnel, passage.now());
    if (found.refused != DropReason::kCount) {
        stages_.tap.drop(in, CapturePoint::from_wire(), frame, bytes, found.refused);
    } else if (found.is_feedback) {
        in.delivered.add(1, bytes);
        stages_.feedback->on_feedback(frame, found.vlan, true, passage.now());
    } else if (found.to == kToAll) {
        stages_.floods.from_outside(passage, in, frame, bytes, found.vlan, true);
    } else {
        from_tunnel_to(passage, meter_of(stages_.vnics.at(found.to)), in, frame, bytes);
    }
}

void FromOutside::from_tunnel_to(const Passage& passage, VnicPath& to, DirectionStats& in, rte_mbuf* frame,
                                 std::uint32_t bytes) {
    OneFrame one(frame, bytes);
    const Run run = one.run();
    if (to.fixed.owner != worker_) {
        account(in, run, stages_.delivery.hand_over(to, run, FrameOrigin::kWire));
        return;
    }
    in.delivered.add(1, bytes);
    if (stages_.feedback)
        stages_.feedback->meter(to, run, passage.now());
    passage.deliver(to, frame);
}

void FromOutside::pass_frames(const VnicPath& path) {
    std::array<rte_mbuf*, limits::kInboxFrames> frames;
    Inbox& inbox = *inboxes_[worker_];
    const std::uint16_t count = inbox.take(frames.data(), limits::kInboxFrames);
    for (rte_mbuf* frame : std::span(frames).first(count)) {
        const FrameWord word = FrameWord::of(frame);
        if (word.destination != path.fixed.id || word.generation != path.fixed.generation) {
            (void)inbox.post(&frame, 1);  // it has just left its place
            continue;
        }
        OneFrame one(frame, frame->pkt_len + overhead_bytes_);
        stages_.delivery.handoff.vnic_gone +=
            stages_.delivery.hand_over(path, one.run(), word.origin, source_of(frame)) == 0;
    }
}

}  // namespace weir
