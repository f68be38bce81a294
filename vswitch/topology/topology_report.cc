// topology_report.cc - snapshots of the workers' counters, and the report that is made of them.
#include <rte_mempool.h>

#include <algorithm>

#include "common/units.h"
#include "vswitch/topology/topology.h"

namespace weir {
namespace {

GuaranteeReport guarantee_report(const GuaranteeMeter& meter) {
    return {.kind = meter.kind(),
            .rate_bps = meter.rate() * kBitsPerByte,
            .left_bytes = meter.left(),
            .time_left = meter.time_left()};
}

}  // namespace

/// All snapshots are posted before the first is waited for, so that a report takes one or two iterations of
/// a worker. Workers write into members: one that answers late must still find them.
void Topology::take_snapshots() {
    std::vector<std::uint64_t> last(workers_.size());
    for (const auto& worker : workers_) {
        const WorkerId id = worker->id();
        last[id] = post(id, command::ReadWorker{&worker_snapshots_[id], &tunnels_->reading(id)});
    }
    run_on_owners([this](VnicId id, Vnic& vnic) {
        const WorkerId owner = vnic.path->fixed.owner;
        const std::uint64_t number = post(owner, command::ReadVnic{id, &vnic.snapshot});
        if (vnic.config.appliances.empty())
            return number;
        return post(owner, command::ReadRequests{id, &vnic.requests});
    });
    for (const auto& worker : workers_)
        await(worker->id(), last[worker->id()]);
}

SwitchReport Topology::report() {
    const std::scoped_lock lock(mutex_);
    take_snapshots();
    SwitchReport report;
    report.config = &config_;
    report.uptime_ns = now();
    report.tunnels = tunnels_->report(report.uptime_ns);
    report.tsc_hz = eal_.ticks_per_sec();
    report.buffers = eal_.buffers();
    report.buffers_free = rte_mempool_avail_count(eal_.pool());
    for (WorkerId id = 0; id < workers_.size(); ++id)
        report.workers.push_back({id, config_.workers[id], 0, worker_snapshots_[id]});
    for (VnicId id = 0; id < vnics_.size(); ++id) {
        if (!vnics_[id])
            continue;
        report.vnics.push_back(report_vnic(id));
        ++report.workers[report.vnics.back().worker].vnics;
    }
    if (uplink_)
        report.uplink = UplinkReport{uplink_->driver(), uplink_->link_up()};
    report.controller = controller_;
    return report;
}

VnicReport Topology::report_vnic(VnicId id) const {
    const Vnic& vnic = *vnics_[id];
    const VnicStats& stats = vnic.snapshot;
    HistogramSnapshot delay = vnic.path->queue_delay.snapshot();
    // Packets that passed at once are not in the histogram.
    delay.add_zeros(stats.admitted.packets - std::min(stats.admitted.packets, delay.count()));
    VnicReport report;
    report.id = id;
    report.worker = vnic.path->fixed.owner;
    report.config = vnic.config;
    report.up = vnic.port->up();
    report.steering = vnic.steering;
    report.features = vnic.port->features();
    report.ring_errors = vnic.port->ring_errors();
    report.stats = stats;
    report.guarantee = guarantee_report(*vnic.guarantee);
    for (const RequestPath::Reading& reading : vnic.requests)
        report.request_flows.push_back({reading.appliance, reading.stats});
    report.queue_delay_p50 = delay.percentile(0.50);
    report.queue_delay_p99 = delay.percentile(0.99);
    report.queue_delay_max = delay.max();
    return report;
}

void Topology::note_controller(const ControllerReport& controller) {
    const std::scoped_lock lock(mutex_);
    controller_ = controller;
}

}  // namespace weir
