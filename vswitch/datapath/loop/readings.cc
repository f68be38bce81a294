// readings.cc - of every stage that is there.
#include "vswitch/datapath/loop/readings.h"

#include <cassert>

namespace weir {

void read(const Stages& stages, VnicId vnic, Nanos now, VnicReading& into) {
    const VnicPath& path = stages.vnics.at(vnic);
    static_cast<VnicStats&>(into) = path.stats;
    assert(balanced(into.from_vm) && balanced(into.to_vm));
    into.learned = path.guard.learned();
    into.limit_left = path.limiter.bucket(0).level(now);
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
