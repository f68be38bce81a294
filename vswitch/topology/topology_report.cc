// topology_report.cc - snapshots of the workers' counters, for reports, guarantee periods and usage.
// Source: SoftBW 4.1; SoftBW 4.2; docs/algorithms.md 6.2.
// Units: bytes, bytes per second, Nanos.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <utility>

#include "common/error.h"
#include "common/units.h"
#include "vswitch/qos/guarantees/guarantee_meter.h"
#include "vswitch/topology/topology.h"

namespace weir {
namespace {

constexpr Nanos kGuaranteePeriod = kNanosPerSec;
/// Usage reports that wait for the controller's session: four periods of all vNICs. Then the oldest are lost.
constexpr std::size_t kUsageMax = 4 * limits::kVnicsMax;

LearnedReport learned_report(const LearnedAddress& learned, Nanos now) {
    constexpr std::array<const char*, 4> kFrom{"", "dhcp", "dhcpv6", "router"};
    const bool ends = learned.until != kNever;
    return {.address = learned.address.to_string(),
            .from = kFrom[static_cast<std::size_t>(learned.from)],
            .left = ends ? std::optional(learned.until - now) : std::nullopt};
}

/// "connected", "refused: REASON".
std::string state_text(const ControllerReport& controller) {
    for (const std::string& reason : {controller.refusal, controller.ignored, controller.fault})
        if (!reason.empty())
            return controller.state + ": " + reason;
    return controller.state;
}

}  // namespace

/// Posts all snapshots before it waits for the first, so that a report takes one or two iterations of a
/// worker. Workers write into members, which outlive a worker that answers late.
void Topology::take_snapshots() {
    std::vector<std::uint64_t> last(workers_.size());
    for (const auto& worker : workers_) {
        const WorkerId id = worker->id();
        last[id] = post(id, command::ReadWorker{&worker_snapshots_[id], &tunnels_->reading(id)});
    }
    run_on_owners([this](VnicId id, Vnic& vnic) {
        const std::uint64_t number = post_to_owner(vnic, command::ReadVnic{id, &vnic.snapshot});
        post_to_members(vnic, [](Member& member) {
            return command::ReadVnic{member.path->fixed.id, &member.snapshot};
        });
        if (vnic.config.appliances.empty())
            return number;
        return post_to_owner(vnic, command::ReadRequests{id, &vnic.requests});
    });
    for (const auto& worker : workers_)
        await(worker->id(), last[worker->id()]);
    for (const auto& vnic : vnics_)
        if (vnic)
            add_members(*vnic);
}

SwitchReport Topology::report() {
    const std::scoped_lock lock(mutex_);
    take_snapshots();
    SwitchReport report;
    report.config = &config_;
    report.uptime_ns = now();
    report.stepped = eal_.clock() != nullptr;
    report.tunnels = tunnels_->report(report.uptime_ns);
    report.tsc_hz = eal_.ticks_per_sec();
    report.buffers = eal_.pools().buffers();
    report.buffers_free = eal_.pools().free_buffers();
    for (WorkerId id = 0; id < workers_.size(); ++id)
        report.workers.push_back({id, config_.workers[id], eal_.pools().node(id), 0, worker_snapshots_[id]});
    for (VnicId id = 0; id < vnics_.size(); ++id) {
        if (!vnics_[id])
            continue;
        report.vnics.push_back(report_vnic(id));
        for (const WorkerId worker : report.vnics.back().workers)
            ++report.workers[worker].vnics;
    }
    if (uplink_) {
        report.uplink = UplinkReport{.driver = uplink_->driver(),
                                     .up = uplink_->link_up(),
                                     .link = {.fault = uplink_->link_fault(),
                                              .losses = uplink_->link_losses(),
                                              .send_errors = uplink_->send_errors()}};
        report.workers.front().snapshot.uplink.rx.add_missed(uplink_->missed());
    }
    report.controller = controller_;
    report.tenant_traffic = report_tenants();
    return report;
}

std::vector<TenantTrafficReport> Topology::report_tenants() const {
    std::vector<std::string> names = tenants_;
    names.resize(limits::kTenantsMax - 1);
    names.push_back(kOtherTenants);
    const auto in_use = [this](TenantSlot slot) {
        return slot < tenants_.size() || slot == limits::kTenantsMax - 1;
    };
    std::vector<TenantTrafficReport> pairs;
    for (TenantSlot from = 0; from < limits::kTenantsMax; ++from)
        for (TenantSlot to = 0; in_use(from) && to < limits::kTenantsMax; ++to) {
            std::uint64_t bytes = 0;
            for (const auto& worker : workers_)
                bytes += in_use(to) ? worker->tenant_traffic().bytes(from, to) : 0;
            if (bytes != 0)
                pairs.push_back({names[from], names[to], bytes});
        }
    return pairs;
}

VnicReport Topology::report_vnic(VnicId id) const {
    const Vnic& vnic = *vnics_[id];
    const VnicReading& stats = vnic.snapshot;
    HistogramSnapshot delay = vnic.path->queue_delay.snapshot();
    for (const Member& member : vnic.members)
        delay.add(member.path->queue_delay.snapshot());
    // Packets that passed at once are not in the histogram.
    delay.add_zeros(stats.admitted.packets - std::min(stats.admitted.packets, delay.count()));
    VnicReport report;
    report.id = id;
    report.worker = vnic.path->fixed.owner;
    for (std::size_t n = 0; n <= vnic.members.size(); ++n)
        report.workers.push_back(worker_of_member(report.worker, n));
    report.config = in_force(vnic.config);
    if (!config_.controller.connect.empty())
        report.promise = report_promise(vnic.config);
    report.up = vnic.port->up();
    report.steering = vnic.steering;
    report.features = vnic.port->features();
    report.ring_errors = vnic.port->ring_errors();
    report.straight = vnic.port->straight_frames();
    for (const Member& member : vnic.members) {
        report.ring_errors += member.path->fixed.port->ring_errors();
        report.straight += member.path->fixed.port->straight_frames();
    }
    if (vnic.vhost) {
        report.ring_fault = vnic.vhost->ring_fault();
        report.socket_fault = vhost_->socket_fault(vnic.config.socket);
        report.front_end_fault = vnic.vhost->front_end_fault();
    }
    report.refusal = vnic.refusal;
    report.stats = stats;
    if (vnic.device) {
        report.stats.from_vm.add_missed(vnic.device->missed());
        report.link = {.fault = vnic.device->link_fault(),
                       .losses = vnic.device->link_losses(),
                       .send_errors = vnic.device->send_errors()};
    }
    for (const LearnedAddress& learned : stats.learned)
        if (learned.from != LearnedAddress::From::kNone && learned.until > now())
            report.learned.push_back(learned_report(learned, now()));
    report.guarantee = {.kind = vnic.guarantee->kind(),
                        .rate_bps = vnic.guarantee->rate() * kBitsPerByte,
                        .left_bytes = vnic.guarantee->left(),
                        .time_left = vnic.guarantee->time_left()};
    for (const RequestPath::Reading& reading : vnic.requests)
        report.request_flows.push_back({reading.appliance, reading.stats});
    report.queue_delay_p50 = delay.percentile(0.50);
    report.queue_delay_p99 = delay.percentile(0.99);
    report.queue_delay_max = delay.max();
    return report;
}

/// Logs each fault of a ring or a front-end once, and of a vNIC at most one of each kind in 10 s, however
/// many its guest causes.
void Topology::name_faults(Nanos now) {
    constexpr Nanos kGap = 10 * kNanosPerSec;
    const auto name = [&](const Vnic& vnic, NamedFault& named, std::string fault, const char* what,
                          EventKind kind) {
        if (fault == named.text || (named.at != 0 && now - named.at < kGap))
            return;
        if (!fault.empty()) {
            spdlog::warn("vNIC {}: {}{}", vnic.config.name, what, fault);
            history_->events.add_of_vnic(now, vnic.config.name, kind, fault);
            named.at = now;
        }
        named.text = std::move(fault);
    };
    for (const auto& vnic : vnics_) {
        if (!vnic || !vnic->vhost)
            continue;
        name(*vnic, vnic->ring_fault, vnic->vhost->ring_fault(),
             "stopped until its driver sets it up again: ", EventKind::kRingStopped);
        name(*vnic, vnic->front_end_fault, vnic->vhost->front_end_fault(), "", EventKind::kFrontEndFault);
    }
}

void Topology::note_controller(const ControllerReport& controller) {
    const std::scoped_lock lock(mutex_);
    const std::string before = controller_ ? state_text(*controller_) : "";
    controller_ = controller;
    if (const std::string state = state_text(controller); state != before)
        history_->events.add_of("controller", now(), EventKind::kSession, state);
}

void Topology::record_usage(Vnic& vnic, const std::optional<GuaranteeMeter::Period>& period, bool ends) {
    if (period && !(vnic.billed && vnic.billed->extend(*period))) {
        close_usage(vnic);
        vnic.billed = period;
    }
    if (ends)
        close_usage(vnic);
}

void Topology::close_usage(Vnic& vnic) {
    const auto period = std::exchange(vnic.billed, std::nullopt);
    if (!period || !period->counts())
        return;
    if (usage_.size() == kUsageMax)
        usage_.pop_front();
    usage_.push_back({.vnic = vnic.config.name,
                      .usage = {.guarantee = period->kind,
                                .began = unix_origin_ + period->began,
                                .ended = unix_origin_ + period->ended,
                                .promised = period->promised,
                                .delivered = period->delivered}});
}

void Topology::set_billing_period(Nanos period) {
    const std::scoped_lock lock(mutex_);
    billing_period_ = period;
}

/// Billing periods end at whole multiples of their length since 1970, so that those of all vNICs end
/// together.
bool Topology::billing_period_ends(Nanos now) const {
    return billing_period_ <= kGuaranteePeriod ||
           (unix_origin_ + now) / billing_period_ != (unix_origin_ + guarantees_ended_) / billing_period_;
}

std::vector<UsageReport> Topology::take_usage() {
    const std::scoped_lock lock(mutex_);
    std::vector<UsageReport> taken(usage_.begin(), usage_.end());
    usage_.clear();
    return taken;
}

/// Gives guarantees their rates of the next second, and makes usage reports. While a worker does not answer,
/// the period continues; report() names the worker.
void Topology::end_guarantee_periods(Nanos now) {
    if (now - guarantees_ended_ < kGuaranteePeriod)
        return;
    const bool bill_ends = billing_period_ends(now);
    guarantees_ended_ = now;
    try {
        take_snapshots();
        write_learned();
        name_unknown_guests();
        note_drops(now);
        GuaranteeRound round(config_.uplink.capacity_bps() / kBitsPerByte);
        std::array<std::uint64_t, limits::kVnicsMax> rates_before{};
        for (VnicId id = 0; id < vnics_.size(); ++id) {
            if (!vnics_[id])
                continue;
            Vnic& vnic = *vnics_[id];
            rates_before[id] = vnic.guarantee->rate();
            const GuaranteeKind kind_before = vnic.guarantee->kind();
            const DirectionStats& from_vm = vnic.snapshot.from_vm;
            const auto period =
                vnic.guarantee->end_period(from_vm.delivered.bytes, now, from_vm.queued.packets != 0);
            record_usage(vnic, period, bill_ends || (period && period->kind != vnic.guarantee->kind()));
            if (kind_before == GuaranteeKind::kDynamic && vnic.guarantee->kind() != kind_before)
                history_->events.add_of_vnic(now, vnic.config.name, EventKind::kGuaranteeEnded);
            if (period)
                round.add(*vnic.guarantee, *period);
        }
        round.settle();
        for (VnicId id = 0; id < vnics_.size(); ++id)
            if (vnics_[id] && vnics_[id]->guarantee->rate() != rates_before[id])
                vnics_[id]->profile_due = true;
        post_due_profiles();
    } catch (const HostError&) {
    }
}

}  // namespace weir
