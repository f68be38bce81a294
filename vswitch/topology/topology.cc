// topology.cc - building, changing and taking apart.
#include "vswitch/topology/topology.h"

#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_mempool.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <optional>
#include <random>

#include "common/error.h"
#include "common/units.h"
#include "vswitch/config/scheduler_words.h"
#include "vswitch/topology/appliances.h"
#include "vswitch/topology/feedback_key.h"
#include "vswitch/topology/topology_guarantees.h"

namespace weir {
namespace {

/// A worker that does not do a command within this is stuck: its core was taken away.
constexpr Nanos kPatience = 5 * kNanosPerSec;
constexpr Nanos kLinkPollPeriod = 100'000'000;

int turn_worker(void* thread) {
    static_cast<WorkerThread*>(thread)->run();
    return 0;
}

/// A secret of this run of the switch.
ConnectionKey random_key() {
    std::random_device device;
    ConnectionKey key{};
    for (std::uint64_t& word : key)
        word = std::uint64_t{device()} << 32 | device();
    return key;
}

}  // namespace

Topology::Topology(Eal& eal, const SwitchConfig& config, const std::vector<ApplianceCosts>& costs,
                   const std::vector<TunnelParts>& tunnels)
    : eal_(eal),
      config_(config),
      quiescence_(static_cast<unsigned>(config.workers.size())),
      appliances_(make_appliances(config, costs)) {
    config_.vnics.clear();
    unix_origin_ =
        static_cast<std::uint64_t>(
            std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count()) -
        eal_.ticks().to_nanos(rte_rdtsc());
    build_uplink();
    build_workers(tunnels);
    worker_snapshots_.resize(workers_.size());
    vhost_ = std::make_unique<VhostDriver>(quiescence_);
    try {
        start_workers();
        for (const VnicConfig& vnic : config.vnics)
            add(vnic);
    } catch (...) {  // no destructor runs for what was not finished, and the workers look at its members
        stop_workers();
        throw;
    }
}

Topology::~Topology() {
    stop_workers();
    vhost_.reset();
    steering_.reset();
    workers_.clear();
}

void Topology::build_uplink() {
    if (config_.uplink.device.empty())
        return;
    NicSettings settings;
    settings.device = config_.uplink.device;
    settings.queues = static_cast<std::uint16_t>(config_.workers.size());
    settings.descriptors = static_cast<std::uint16_t>(config_.uplink.descriptors);
    settings.mtu = config_.uplink.mtu;
    settings.owner = "uplink";
    uplink_ = std::make_unique<NicDevice>(settings, eal_.pool());
    steering_ =
        std::make_unique<FlowSteering>(uplink_->port_id(), config_.uplink.flow_offload == FlowOffload::kAuto);
}

void Topology::build_workers(const std::vector<TunnelParts>& tunnels) {
    const auto count = static_cast<WorkerId>(config_.workers.size());
    for (WorkerId id = 0; id < count; ++id)
        inboxes_.push_back(std::make_unique<Inbox>(id));
    const std::uint64_t capacity = config_.uplink.capacity_bps() / kBitsPerByte;
    out_share_ = std::make_unique<LinkShare>(count, capacity);
    in_share_ = std::make_unique<LinkShare>(count, capacity);
    std::optional<FeedbackProfile> feedback;
    if (config_.feedback.enabled)
        feedback = make_feedback_profile(config_, load_feedback_key(config_.feedback.key_file),
                                         static_cast<std::uint64_t>(std::time(nullptr)));
    const ConnectionKey key = random_key();
    const std::uint32_t overhead = config_.accounting == Accounting::kWire ? limits::kWireOverheadBytes : 0;
    for (WorkerId id = 0; id < count; ++id) {
        workers_.push_back(
            std::make_unique<Worker>(Worker::Setup{.id = id,
                                                   .pool = eal_.pool(),
                                                   .quiescence = quiescence_,
                                                   .inboxes = inboxes_,
                                                   .overhead_bytes = overhead,
                                                   .flood_pps = config_.flood_limit_pps,
                                                   .mac_ageing = config_.mac_ageing,
                                                   .coalesce_cycles = eal_.cycles(config_.poll_coalesce)}));
        workers_.back()->set_appliances(appliances_, key);
        if (uplink_)
            workers_.back()->set_uplink(
                {.device = *uplink_,
                 .scheduler = scheduler_name(config_.uplink.scheduler),
                 .mtu = config_.uplink.mtu,
                 .out = *out_share_,
                 .in = *in_share_,
                 .feedback = feedback ? &*feedback : nullptr,
                 .ruled_below = config_.controller.connect.empty() ? 0 : config_.uplink.rate_bps / 8});
    }
    tunnels_ =
        std::make_unique<Tunnels>(config_, tunnels, eal_.pool(), uplink_ ? uplink_->mac() : 0, workers_);
    for (const auto& worker : workers_)
        tunnels_->attach(*worker);
}

void Topology::start_workers() {
    for (std::size_t i = 0; i < workers_.size(); ++i) {
        threads_.push_back(std::make_unique<WorkerThread>(*workers_[i], quiescence_, eal_.ticks(),
                                                          config_.poll, config_.poll_sleep_max));
        const unsigned lcore = Eal::lcore_of(static_cast<unsigned>(i));
        if (rte_eal_remote_launch(turn_worker, threads_.back().get(), lcore) != 0)
            throw HostError("worker " + std::to_string(i) + " does not start on core " +
                            std::to_string(config_.workers[i]));
    }
}

/// When it returns nobody polls, so nothing has to be handed over any more.
void Topology::stop_workers() {
    for (auto& thread : threads_)
        thread->stop();
    rte_eal_mp_wait_lcore();
}

std::unique_ptr<Topology::Vnic> Topology::make_vnic(const VnicConfig& config, VnicId id, WorkerId owner) {
    auto vnic = std::make_unique<Vnic>();
    vnic->config = config;
    vnic->requests.reserve(limits::kAppliancesPerVnic);  // the worker fills it and does not allocate
    if (config.device.empty()) {
        vnic->port = std::make_unique<VhostPort>(eal_.pool(), config.queues);
    } else {
        NicSettings settings;
        settings.device = config.device;
        settings.mtu = config.mtu != 0 ? config.mtu : config_.uplink.mtu;
        settings.descriptors = static_cast<std::uint16_t>(config_.uplink.descriptors);
        settings.owner = "vNIC " + config.name;
        vnic->device = std::make_unique<NicDevice>(settings, eal_.pool());
        vnic->port = std::make_unique<NicPort>(*vnic->device, std::uint16_t{0});
    }
    const Nanos now = eal_.ticks().to_nanos(rte_rdtsc());
    vnic->rates.requests = rates_of(config.name).requests;
    vnic->guarantee.emplace(promise_of(config), 0, now);
    vnic->path = std::make_unique<VnicPath>(make_fixed(id, owner, vnic->port.get(), config, config_),
                                            profile_of(config, *vnic), config_.flood_limit_pps, now);
    return vnic;
}

WorkerId Topology::pick_worker(const VnicConfig& config) const {
    if (config.worker)
        return *config.worker;
    std::vector<unsigned> load(workers_.size());
    for (const auto& vnic : vnics_)
        if (vnic)
            ++load[vnic->path->fixed.owner];
    return static_cast<WorkerId>(std::min_element(load.begin(), load.end()) - load.begin());
}

/// Every worker knows the vNIC before its rings can appear.
void Topology::add(const VnicConfig& config) {
    const auto free = std::find(vnics_.begin(), vnics_.end(), nullptr);
    if (free == vnics_.end())
        throw HostError("there are " + std::to_string(limits::kVnicsMax) + " vNICs, which is the most");
    const auto id = static_cast<VnicId>(free - vnics_.begin());
    const WorkerId owner = pick_worker(config);
    *free = make_vnic(config, id, owner);
    Vnic& vnic = **free;
    WorkerCommand command{WorkerCommand::Type::kAddVnic};
    command.vnic = id;
    command.path = vnic.path.get();
    tell_all(command);
    try {
        if (config.device.empty())
            vhost_->add(config, static_cast<VhostPort&>(*vnic.port));
    } catch (...) {
        remove(id);
        throw;
    }
    vnic.steering = steering_ ? steering_->add(id, config, owner) : Steering{false, "there is no uplink"};
}

void Topology::remove(VnicId id) {
    Vnic& vnic = *vnics_[id];
    if (vnic.config.device.empty())
        vhost_->remove(vnic.config.socket);
    if (steering_)
        steering_->remove(id);
    WorkerCommand command{WorkerCommand::Type::kRemoveVnic};
    command.vnic = id;
    tell_all(command);
    vnics_[id].reset();
}

/// Sends without waiting for the answer. @return the command's number
std::uint64_t Topology::post(WorkerId worker, const WorkerCommand& command) {
    WorkerControl& control = workers_[worker]->control();
    std::uint64_t number = control.send(command);
    if (number == 0) {  // the ring is full: let the worker catch up
        await(worker, control.sent());
        number = control.send(command);
    }
    return number;
}

void Topology::await(WorkerId worker, std::uint64_t number) {
    if (!workers_[worker]->control().wait(number, kPatience))
        throw HostError("worker " + std::to_string(worker) + " (core " +
                        std::to_string(config_.workers[worker]) +
                        ") does not answer; is its core taken by another program?");
}

void Topology::tell(WorkerId worker, const WorkerCommand& command) {
    await(worker, post(worker, command));
}

void Topology::tell_all(const WorkerCommand& command) {
    for (const auto& worker : workers_)
        tell(worker->id(), command);
}

void Topology::tell_owners(const std::function<std::uint64_t(VnicId, Vnic&)>& send) {
    std::vector<std::uint64_t> last(workers_.size());
    for (VnicId id = 0; id < vnics_.size(); ++id)
        if (vnics_[id])
            if (const std::uint64_t number = send(id, *vnics_[id]); number != 0)
                last[vnics_[id]->path->fixed.owner] = number;
    for (WorkerId id = 0; id < workers_.size(); ++id)
        if (last[id] != 0)
            await(id, last[id]);
}

VnicId Topology::find(const std::string& name) const {
    for (VnicId id = 0; id < vnics_.size(); ++id)
        if (vnics_[id] && vnics_[id]->config.name == name)
            return id;
    throw HostError("there is no vNIC " + name);
}

SwitchConfig Topology::config() const {
    const std::scoped_lock lock(mutex_);
    SwitchConfig whole = config_;
    for (const auto& vnic : vnics_)
        if (vnic)
            whole.vnics.push_back(vnic->config);
    return whole;
}

void Topology::add_vnic(const VnicConfig& vnic) {
    const std::scoped_lock lock(mutex_);
    add(vnic);
    spdlog::info("vNIC {} added", vnic.name);
}

void Topology::change_vnic(const VnicConfig& changed) {
    const std::scoped_lock lock(mutex_);
    const VnicId id = find(changed.name);
    Vnic& vnic = *vnics_[id];
    take_snapshots();
    note_usage(vnic,
               vnic.guarantee->change(promise_of(changed), vnic.snapshot.from_vm.delivered.bytes,
                                      eal_.ticks().to_nanos(rte_rdtsc())),
               true);
    await(vnic.path->fixed.owner, post_profile(id, changed));
    vnic.config = changed;
    spdlog::info("vNIC {} changed", changed.name);
}

void Topology::remove_vnic(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    const VnicId id = find(name);
    take_snapshots();
    Vnic& vnic = *vnics_[id];
    note_usage(
        vnic,
        vnic.guarantee->end_period(vnic.snapshot.from_vm.delivered.bytes, eal_.ticks().to_nanos(rte_rdtsc())),
        true);
    remove(id);
    spdlog::info("vNIC {} removed", name);
}

/// What one worker learned on the wire the others hear; a full ring only delays them.
void Topology::relay_news() {
    for (const auto& from : workers_) {
        for (MacNews news{}; from->news().pop(news);) {
            WorkerCommand command{WorkerCommand::Type::kHearMac};
            command.news = news;
            for (const auto& to : workers_)
                if (to != from)
                    (void)to->control().send(command);
        }
    }
}

void Topology::tick() {
    const std::scoped_lock lock(mutex_);
    relay_news();
    const Nanos now = eal_.ticks().to_nanos(rte_rdtsc());
    tunnels_->tick(now,
                   [this](WorkerId worker, const WorkerCommand& command) { return post(worker, command); });
    turn_guarantees(now);
    if (now - link_polled_ < kLinkPollPeriod)
        return;
    link_polled_ = now;
    if (uplink_)
        uplink_->poll_link();
    for (const auto& vnic : vnics_)
        if (vnic && vnic->device)
            vnic->device->poll_link();
}

VnicReport Topology::report_vnic(VnicId id) const {
    const Vnic& vnic = *vnics_[id];
    const VnicStats& stats = vnic.snapshot;
    HistogramSnapshot delay = vnic.path->queue_delay.snapshot();
    delay.add_zeros(stats.admitted.packets -
                    std::min(stats.admitted.packets, delay.count()));  // they never waited
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

/// All snapshots are asked for at once, and then waited for, so that a report costs a worker's tick or two.
/// They are written into members: a worker that answers too late must find them still there.
void Topology::take_snapshots() {
    std::vector<std::uint64_t> last(workers_.size());
    for (const auto& worker : workers_) {
        WorkerCommand command{WorkerCommand::Type::kSnapshotWorker};
        command.snapshot = &worker_snapshots_[worker->id()];
        command.tunnels = &tunnels_->reading(worker->id());
        last[worker->id()] = post(worker->id(), command);
    }
    tell_owners([this](VnicId id, Vnic& vnic) {
        const WorkerId owner = vnic.path->fixed.owner;
        WorkerCommand command{WorkerCommand::Type::kSnapshotVnic};
        command.vnic = id;
        command.vnic_stats = &vnic.snapshot;
        const std::uint64_t number = post(owner, command);
        if (vnic.config.appliances.empty())
            return number;
        command.type = WorkerCommand::Type::kReadRequests;
        command.requests = &vnic.requests;
        return post(owner, command);
    });
    for (const auto& worker : workers_)
        await(worker->id(), last[worker->id()]);
}

SwitchReport Topology::report() {
    const std::scoped_lock lock(mutex_);
    take_snapshots();
    SwitchReport report;
    report.config = &config_;
    report.uptime_ns = eal_.ticks().to_nanos(rte_rdtsc());
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

}  // namespace weir
