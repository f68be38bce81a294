// readings.cc - of every stage that is there.
#include "vswitch/datapath/loop/readings.h"

#include <algorithm>
#include <cassert>
#include <span>
#include <utility>

namespace weir {

void read(const Stages& stages, VnicId vnic, Nanos now, VnicReading& into) {
    const VnicPath& path = stages.vnics.at(vnic);
    static_cast<VnicStats&>(into) = path.stats;
    assert(balanced(into.from_vm) && balanced(into.to_vm));
    into.learned = path.guard.learned();
    const bool unlimited = path.limiter.profile(Limiter::kBytes).unlimited();
    into.limit_left = unlimited ? std::nullopt : std::optional(path.limiter.level(Limiter::kBytes, now));
    if (stages.uplink) {
        into.limiters = stages.uplink->egress().limits().advertised(vnic);
        into.cluster_bytes = stages.uplink->egress().limits().sent_bytes(vnic);
    }
    if (stages.feedback) {
        const EndpointReading reading = stages.feedback->read(vnic);
        into.received_rate = reading.received;
        into.receive_capacity = reading.capacity;
        into.advertised_rate = reading.advertised;
    }
}

namespace {

/// The age of the oldest packet that waits for the uplink or for the vNIC's limit.
Nanos oldest_wait(const Stages& stages, const VnicPath& path, Nanos now) {
    Nanos since = path.local.empty() ? now : path.local.front().enqueued;
    if (stages.uplink)
        since = std::min(since, stages.uplink->egress().backlog_since(path.fixed.id));
    return now - std::min(since, now);
}

}  // namespace

/// A few cache lines of each vNIC.
void read(const Stages& stages, VnicSamples& into, Nanos now) {
    into.at = now;
    for (VnicSample& sample : std::span(into.vnics).first(into.count)) {
        VnicPath& path = stages.vnics.at(sample.id);
        sample.sent_bytes = path.stats.from_vm.delivered.bytes;
        sample.received_bytes = path.stats.to_vm.delivered.bytes;
        sample.dropped = path.stats.from_vm.dropped.packets + path.stats.to_vm.dropped.packets;
        sample.held = path.stats.held_ns;
        if (path.held)
            sample.held[static_cast<std::size_t>(path.held_for)] += now - path.held_since;
        sample.queue_delay =
            std::max(std::exchange(path.longest_delay, Nanos{0}),
                     path.stats.from_vm.queued.packets == 0 ? 0 : oldest_wait(stages, path, now));
    }
}

void read(const Stages& stages, WorkerSnapshot& into) {
    into.handoff = stages.delivery.handoff;
    into.mac_entries = stages.vnics.macs().size();
    if (stages.uplink) {
        into.uplink = stages.uplink->stats;
        assert(balanced(into.uplink.rx) && balanced(into.uplink.tx));
        into.uplink_capacity = stages.uplink->egress().capacity();
    }
    if (stages.feedback) {
        into.feedback = stages.feedback->stats;
        into.feedback.limiters = stages.uplink->egress().limits().advertised();
    }
}

}  // namespace weir
