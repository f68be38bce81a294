// uplink_flows.cc - what goes to a destination with a limiter of its own.
#include <rte_mbuf.h>

#include "vswitch/datapath/frame.h"
#include "vswitch/datapath/uplink.h"

namespace weir {
namespace {

/// Flows looked at per call of sweep_limits().
constexpr unsigned kSweepBudget = 64;

}  // namespace

/// A run without super-frames of a vNIC that has such destinations. Link and class are asked once for all of
/// it, each destination's limiter by frame: who cannot pay waits, and is in nobody's way. Who waits for the
/// vNIC's own limit is in everybody's.
void Uplink::send_by_flow(VnicPath& from, const Run& run, Nanos now) {
    const VnicId id = from.fixed.id;
    if (!from.profile.isolated || run.bytes_total > from.profile.run_bytes_max || !nic_has_room(run.count) ||
        !scheduler_->can_bypass(id, run.bytes_total, now)) {
        for (std::uint16_t i = 0; i < run.count; ++i)
            send_one(from, run.frames[i], run.bytes[i], run.wire_frames[i], now);
        return;
    }
    stats.tx.offered.add(run.count, run.bytes_total);
    std::uint64_t address = 0;  // nobody's
    DestinationId flow = kNoDestination;
    bool open = true;
    std::uint32_t passed = 0;
    std::uint32_t passed_bytes = 0;
    for (std::uint16_t i = 0; i < run.count; ++i) {
        rte_mbuf* const frame = run.frames[i];
        const std::uint32_t bytes = run.bytes[i];
        if (const std::uint64_t to = read_head(frame).destination; to != address) {
            address = to;
            flow = flows_.find(id, to);
            if (flow != kNoDestination)
                flows_.touch(flow, now);
        }
        const bool pays = flow == kNoDestination || scheduler_->destination_pays(flow, bytes, now);
        open =
            open && !(pays && from.profile.limited && !from.limiter.admit({bytes, run.wire_frames[i]}, now));
        if (!pays || !open) {
            queue(from, flow, frame, {frame, now, bytes, run.wire_frames[i], frame->nb_segs}, now);
            continue;
        }
        if (flow != kNoDestination) {
            flows_.limiter(flow).pay(bytes, now);
            flows_.count(flow, bytes);
        }
        ++passed;
        passed_bytes += bytes;
        hand_over(frame, bytes);
    }
    scheduler_->bypass(id, passed_bytes, now);
    count_sent(from, passed, passed_bytes);
    stats.tx.queued.add(passed, passed_bytes);
}

/// Makes the scheduler ask the limiter as it is now.
DestinationLimits::Change Uplink::take_over(const DestinationLimits::Result& result, VnicId vnic,
                                            std::uint64_t address, Nanos now) {
    const auto [change, flow] = result;
    const auto belongs = [address](const PacketRef& ref) {
        return read_head(static_cast<rte_mbuf*>(ref.packet)).destination == address;
    };
    if (change == DestinationLimits::Change::kOpened &&
        !scheduler_->open_destination(flow, vnic, &flows_.limiter(flow), now, belongs)) {
        flows_.erase(flow);
        return DestinationLimits::Change::kFull;
    }
    if (change == DestinationLimits::Change::kChanged)
        scheduler_->rate_changed(flow, now);
    return change;
}

DestinationLimits::Change Uplink::on_feedback(VnicId vnic, std::uint64_t address, std::uint64_t rate,
                                              std::uint32_t sequence, Nanos now) {
    return take_over(flows_.on_feedback(vnic, address, rate, sequence, now), vnic, address, now);
}

bool Uplink::allocate(VnicId vnic, std::uint64_t address, std::optional<std::uint64_t> rate, Nanos now) {
    return take_over(flows_.allocate(vnic, address, rate, now), vnic, address, now) !=
           DestinationLimits::Change::kFull;
}

void Uplink::read_peer(VnicId vnic, PeerReading& peer) const {
    const DestinationId flow = flows_.find(vnic, peer.address);
    const bool ruled = flow != kNoDestination && flows_.is_allocated(flow);
    peer.bytes = ruled ? flows_.allocated_bytes(flow) : 0;
    peer.queued = ruled ? scheduler_->destination_backlog_bytes(flow) : 0;
}

void Uplink::sweep_limits(Nanos now) {
    const auto let_go = [&](DestinationId flow) {
        if (scheduler_->destination_backlog_packets(flow) != 0)
            return false;
        scheduler_->close_destination(flow, now, [](const PacketRef&) {});
        return true;
    };
    flows_.sweep(now, kSweepBudget, let_go, [&](DestinationId flow) { scheduler_->rate_changed(flow, now); });
}

}  // namespace weir
