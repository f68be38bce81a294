// from_vms.cc - FromVms: runs of one destination, the vNICs' own limits, requests.
#include "vswitch/datapath/loop/from_vms.h"

#include <rte_mbuf.h>

#include <algorithm>

#include "vswitch/datapath/frame/frame.h"
#include "vswitch/datapath/frame/offload.h"
#include "vswitch/datapath/loop/classifier.h"
#include "vswitch/ports/virtio/left_payload.h"

namespace weir {
namespace {

bool is_longer_super_frame(const rte_mbuf* frame, std::uint32_t bytes) {
    return (frame->ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0 && frame->pkt_len > bytes;
}

}  // namespace

void FromVms::forward(VnicPath& from, rte_mbuf** frames, std::uint16_t count, Nanos now) {
    const Passage passage(stages_.delivery, bill_, {.vm = &from, .now = now}, Passage::Payer::kCaller);
    stages_.vnics.note_sender(from);
    const std::uint32_t most = from.profile.super_frame_max;
    if (most == UINT32_MAX || std::none_of(frames, frames + count, [most](const rte_mbuf* frame) {
            return is_longer_super_frame(frame, most);
        })) [[likely]]
        forward_classified(passage, from, frames, count);
    else
        forward_split(passage, from, {frames, count});
}

/// Super-frames longer than the vNIC's limiter can take at once are split first.
[[gnu::noinline]] void FromVms::forward_split(const Passage& passage, VnicPath& from,
                                              std::span<rte_mbuf*> frames) {
    const std::uint32_t most = from.profile.super_frame_max;
    const std::uint64_t offered_before = from.stats.from_vm.offered.bytes;
    for (rte_mbuf* frame : frames) {
        offload::Segments segments;
        const bool splits = is_longer_super_frame(frame, most) && offload::valid(frame);
        std::uint16_t made = splits ? offload::split(frame, pool_, segments, most) : 0;
        if (made == 0) {
            segments[0] = frame;
            made = 1;
        }
        for (std::uint16_t at = 0; at < made; at = static_cast<std::uint16_t>(at + limits::kBurst))
            forward_classified(
                passage, from, segments.data() + at,
                static_cast<std::uint16_t>(RTE_MIN(static_cast<unsigned>(made - at), limits::kBurst)));
    }
    // Frames in the ring are as long as these were, not as their segments are.
    from.note_frame_bytes(
        static_cast<std::uint32_t>((from.stats.from_vm.offered.bytes - offered_before) / frames.size()),
        passage.now());
}

void FromVms::forward_classified(const Passage& passage, VnicPath& from, rte_mbuf** frames,
                                 std::uint16_t count) {
    const Nanos now = passage.now();
    Batch batch;
    classify_from_vm(from, stages_.vnics.macs(), stages_.vnics.unknown(), stages_.tap, frames, count,
                     stages_.feedback.has_value(), now, batch);
    if (from.profile.tracked && stages_.requests) [[unlikely]] {
        for (std::uint16_t i = 0; i < batch.count; ++i)
            stages_.vnics.note_destination(batch.frames[i], batch.to[i]);
        stages_.requests->from_vm(from, batch, now);
    }
    if (batch.count == 0)
        return;
    from.note_frame_bytes(batch.bytes_total / batch.count, now);
    if (batch.same_destination) [[likely]] {
        from.note_destination(batch.to[0], now);
        route(passage, from, whole_run(batch), batch.to[0], true);
        return;
    }
    from.backpressure.changed = now;
    const bool whole = stages_.delivery.gather(batch);
    for (std::uint16_t first = 0; first < batch.count;) {
        const Run run = run_at(batch, first);
        route(passage, from, run, batch.to[first], whole);
        first = static_cast<std::uint16_t>(first + run.count);
    }
}

bool FromVms::next_goes_elsewhere(const VnicPath& vnic) {
    const std::optional<std::uint64_t> destination = vnic.intake.empty()
                                                         ? vnic.fixed.port->peek_destination()
                                                         : read_head(vnic.intake.front()).destination;
    if (!destination || (*destination & kMacGroupBit) != 0)
        return true;
    const Destination found = stages_.vnics.macs().find(mac_key(*destination, vnic.fixed.vlan));
    if (found < limits::kVnicsMax && stages_.vnics.at(found).fixed.port->rings() > 1)
        return true;  // perhaps to another ring
    return (found == kNowhere ? stages_.vnics.unknown() : found) != vnic.pressure.last;
}

/// Frames to this destination may go straight from ring to ring, as far as is known before they are paid for.
bool FromVms::goes_straight(Destination to) {
    if (to >= limits::kVnicsMax || !stages_.floods.idle())
        return false;
    const VnicPath& path = stages_.vnics.at(to);
    return path.fixed.port->takes_left_payloads() && !path.profile.observed && stages_.delivery.is_mine(path);
}

void FromVms::route(const Passage& passage, VnicPath& from, const Run& run, Destination to, bool whole) {
    if (from.fixed.port->owes_chains() && !goes_straight(to))
        fetch_payloads({run.frames, run.count});
    if (to == kToAll)
        stages_.floods.from_vm(passage, from, run);
    else if (!stages_.floods.idle() && stages_.floods.reach(from, to)) [[unlikely]]
        route_behind_floods(passage, from, run, to);
    else
        route_known(passage, from, run, to, whole);
}

void FromVms::route_known(const Passage& passage, VnicPath& from, const Run& run, Destination to,
                          bool whole) {
    if (to != kToUplink)
        to_vm(passage, from, run, stages_.vnics.at(to), whole);
    else if (stages_.floods.copies_for_tunnels(from)) [[unlikely]]
        to_tunnels(passage, from, run);
    else
        to_uplink(passage, from, run);
}

void FromVms::to_uplink(const Passage& passage, VnicPath& from, const Run& run) {
    if (from.fixed.is_home() || !stages_.uplink->egress().limits().has_any(from.fixed.id)) [[likely]]
        stages_.uplink->send(from, run, passage.now());
    else
        send_at_home(passage, from, run);
}

/// Destinations of a vNIC that is spread have their limiters at its home: a member's frames to them leave
/// there, and count as the home's.
[[gnu::noinline]] void FromVms::send_at_home(const Passage& passage, VnicPath& from, const Run& run) {
    DirectionStats& stats = from.stats.from_vm;
    const VnicPath& home = stages_.vnics.at(from.fixed.home);
    for (std::uint16_t i = 0; i < run.count; ++i) {
        OneFrame one(run.frames[i], run.bytes[i]);
        const std::uint64_t address = read_head(run.frames[i]).destination;
        if (stages_.uplink->egress().find_limit(from.fixed.id, address, passage.now()) == kNoDestination)
            stages_.uplink->send(from, one.run(), passage.now());
        else if (stages_.delivery.hand_home(from, home, one.run()) != 0)
            stats.offered.remove(1, run.bytes[i]);
        else
            stats.drop(DropReason::kWorkerRingFull, 1, run.bytes[i]);
    }
}

/// Some frames to one host are for all hosts by their IP addresses. They are copied for every tunnel, so they
/// are floods: bounded, and copied in turn.
[[gnu::noinline]] void FromVms::to_tunnels(const Passage& passage, VnicPath& from, const Run& run) {
    for (std::uint16_t i = 0; i < run.count; ++i) {
        OneFrame one(run.frames[i], run.bytes[i]);
        if (stages_.tunnels->route(run.frames[i]) == kAllTunnels)
            stages_.floods.from_vm_routed(passage, from, one.run(), kToUplink, true);
        else
            to_uplink(passage, from, one.run());
    }
}

[[gnu::noinline]] void FromVms::route_behind_floods(const Passage& passage, VnicPath& from, const Run& run,
                                                    Destination to) {
    for (std::uint16_t i = 0; i < run.count; ++i) {
        OneFrame one(run.frames[i], run.bytes[i]);
        if (!stages_.floods.take_behind(passage, from, one.run(), to))
            route_known(passage, from, one.run(), to, false);
    }
}

/// To a VM on this host: delivered when the sender's limit pays for the whole run, else queued for the limit.
void FromVms::to_vm(const Passage& passage, VnicPath& from, const Run& run, VnicPath& to, bool whole) {
    const Nanos now = passage.now();
    DirectionStats& stats = from.stats.from_vm;
    const bool pays =
        !from.profile.limited ||
        ((!from.backlogged() || from.local.empty()) && run.bytes_total <= from.profile.run_bytes_max &&
         from.limiter.admit({run.bytes_total, run.wire_frames_total}, now));
    if (pays) [[likely]] {
        from.stats.admitted.add(run.count, run.bytes_total);
        if (from.captured) [[unlikely]]
            stages_.tap.passed(CapturePoint::from_vm(from.fixed.id), run.frames, run.count);
        const std::uint64_t before = stats.delivered.bytes;
        account(stats, run, stages_.delivery.deliver(passage.origin(), to, run, whole));
        stages_.tenants.add(from.fixed.tenant, to.fixed.tenant, stats.delivered.bytes - before);
        return;
    }
    for (std::uint16_t i = 0; i < run.count; ++i) {
        rte_mbuf* frame = run.frames[i];
        fetch_payload(frame);
        set_destination(frame, to.fixed);
        const PacketRef ref{frame, now, run.bytes[i], run.wire_frames[i], buffers_of(frame)};
        if (!from.local.push(ref)) {
            stages_.tap.drop(stats, CapturePoint::from_vm(from.fixed.id), frame, ref.bytes,
                             DropReason::kQueueFull);
            continue;
        }
        from.queued_buffers += ref.buffers;
        stats.queued.add(1, ref.bytes);
    }
    if (!from.parked)
        release(from, now);
}

void FromVms::park(VnicPath& vnic, const Limiter::Costs& costs, Nanos now) {
    vnic.hold(HoldReason::kLimit, now);
    if (vnic.parked)
        return;
    vnic.parked = true;
    if (const Nanos at = vnic.limiter.ready_at(costs, now); at != kNever)
        wheel_.insert(vnic.fixed.id, at, now);
}

void FromVms::release(VnicPath& from, Nanos now) {
    if (from.local.empty())
        return;
    const Passage passage(stages_.delivery, bill_, {.vm = &from, .now = now}, Passage::Payer::kSender);
    DirectionStats& stats = from.stats.from_vm;
    while (!from.local.empty()) {
        const PacketRef ref = from.local.front();
        const Limiter::Costs costs{ref.bytes, ref.frames};
        if (!from.limiter.admit(costs, now)) {
            park(from, costs, now);
            break;
        }
        from.local.pop();
        from.queued_buffers -= ref.buffers;
        stats.queued.remove(1, ref.bytes);
        from.stats.admitted.add(1, ref.bytes);
        from.note_delay(now - ref.enqueued);
        release_one(passage, from, ref);
    }
}

/// A frame that the vNIC's own limit has paid: its receiver may have gone meanwhile.
void FromVms::release_one(const Passage& passage, VnicPath& from, const PacketRef& ref) {
    auto* frame = static_cast<rte_mbuf*>(ref.packet);
    DirectionStats& stats = from.stats.from_vm;
    const CapturePoint point = CapturePoint::from_vm(from.fixed.id);
    const Nanos delay = passage.now() - ref.enqueued;
    VnicPath* const to = stages_.vnics.addressee(frame);
    if (to == nullptr) {
        stages_.tap.drop(stats, point, frame, ref.bytes, DropReason::kVnicRemoved, delay);
        return;
    }
    if (from.captured) [[unlikely]]
        stages_.tap.passed(point, &frame, 1, delay);
    if (!passage.deliver(*to, frame)) {
        stats.drop(DropReason::kWorkerRingFull, 1, ref.bytes);
        return;
    }
    stats.delivered.add(1, ref.bytes);
    stages_.tenants.add(from.fixed.tenant, to->fixed.tenant, ref.bytes);
}

unsigned FromVms::serve_requests(Nanos now) {
    stages_.requests->reopen_windows(now, [&](VnicId vnic, rte_mbuf* update) {
        const Passage passage(stages_.delivery, bill_, {.now = now}, Passage::Payer::kCaller);
        VnicPath& to = stages_.vnics.at(vnic);
        OneFrame one(update, update->pkt_len + to.fixed.overhead_bytes);
        stages_.delivery.stage(passage.origin(), to, one.run());
    });
    return stages_.requests->serve_windows(
        now, [&](VnicId vnic, const PacketRef& ref) { release_request(stages_.vnics.at(vnic), ref, now); });
}

void FromVms::wake_request(std::uint32_t flow, Nanos now) {
    stages_.requests->wake(flow, now, [&](VnicId vnic, const PacketRef& ref) {
        release_request(stages_.vnics.at(vnic), ref, now);
    });
}

/// A request that waited for its tokens is routed as if it came out of the VM's ring now.
void FromVms::release_request(VnicPath& from, const PacketRef& ref, Nanos now) {
    auto* frame = static_cast<rte_mbuf*>(ref.packet);
    from.queued_buffers -= ref.buffers;
    from.stats.from_vm.queued.remove(1, ref.bytes);
    from.note_delay(now - ref.enqueued);
    const Destination to = FrameWord::of(frame).destination;
    if (to < limits::kVnicsMax && stages_.vnics.addressee(frame) == nullptr) {
        stages_.tap.drop(from.stats.from_vm, CapturePoint::from_vm(from.fixed.id), frame, ref.bytes,
                         DropReason::kVnicRemoved, now - ref.enqueued);
        return;
    }
    const Passage passage(stages_.delivery, bill_, {.vm = &from, .now = now}, Passage::Payer::kSender);
    OneFrame one(frame, ref.bytes);
    route(passage, from, one.run(), to, false);
}

}  // namespace weir
