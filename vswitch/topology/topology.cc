// topology.cc - construction and destruction, commands to the workers, the agent's tick.
#include "vswitch/topology/topology.h"

#include <rte_launch.h>
#include <spdlog/spdlog.h>

#include <ctime>
#include <optional>

#include "common/error.h"
#include "common/ip_address.h"
#include "common/random_key.h"
#include "common/units.h"
#include "common/unix_clock.h"
#include "cost_functions/protocols/registry.h"

namespace weir {
namespace {

/// A worker that takes longer for a command is stuck: another program uses its core.
constexpr Nanos kCommandTimeMax = 5 * kNanosPerSec;
constexpr Nanos kLinkPollPeriod = 100'000'000;
/// Time that VMs' rings may take before the wire is polled again: a burst in 10 us is 3.2 million frames per
/// second.
constexpr Nanos kOutsideEvery = 10'000;
/// A round over the rings that has lasted this long continues in the next turn. The longest poll is 100 us,
/// so that a turn is shorter than 200 us.
constexpr Nanos kRoundMax = 50'000;

/// @param Thread WorkerThread or SteppedWorker
template <class Thread>
void launch(Thread& thread, std::size_t worker, unsigned core) {
    const auto run = [](void* argument) {
        static_cast<Thread*>(argument)->run();
        return 0;
    };
    if (rte_eal_remote_launch(run, &thread, Eal::lcore_of(static_cast<unsigned>(worker))) != 0)
        throw HostError("worker " + std::to_string(worker) + " does not start on core " +
                        std::to_string(core));
}

/// The configuration's appliances as the data path needs them.
std::vector<Appliance> make_appliances(const SwitchConfig& config, const std::vector<ApplianceCosts>& costs) {
    std::vector<Appliance> appliances;
    for (const ApplianceConfig& each : config.appliances) {
        const IpAddress address = IpAddress::parse(each.address).value();
        const ApplianceCosts& cost = costs[appliances.size()];
        Appliance& appliance = appliances.emplace_back();
        appliance.ip6 = address.v6;
        appliance.address = address.bytes;
        appliance.port = each.port;
        appliance.protocol = protocol_index(each.protocol).value();
        appliance.cost = cost.table;
        appliance.program = cost.program;
        appliance.cycles = cost.cycles;
        if (!each.window_tokens)
            continue;
        appliance.window = *each.window_tokens;
        appliance.scheduler = each.scheduler;
        appliance.window_share = std::make_shared<LinkShare>(config.workers.size(), *each.window_tokens);
    }
    return appliances;
}

}  // namespace

Topology::Topology(Eal& eal, const SwitchConfig& config, const ConfigFiles& files)
    : eal_(eal),
      config_(config),
      quiescence_(static_cast<unsigned>(config.workers.size())),
      appliances_(make_appliances(config, files.appliances)),
      learned_file_(config.control_socket + ".learned") {
    config_.vnics.clear();
    homes_.fill(kNoVnic);
    config_.buffers = eal.pools().buffers();
    unix_origin_ = unix_clock_ns() - now();
    if (eal_.clock() != nullptr)  // so that seconds of history are whole ones of a clock that stands still
        unix_origin_ -= unix_origin_ % kNanosPerSec;
    history_.emplace(unix_origin_);
    build_uplink();
    build_workers(files);
    for (std::size_t i = 0; i < workers_.size(); ++i)
        samplings_.push_back(std::make_unique<Sampling>());
    worker_snapshots_.resize(workers_.size());
    vhost_ = std::make_unique<VhostDriver>(quiescence_);
    read_learned();
    try {
        start_workers();
        for (const VnicConfig& vnic : config.vnics)
            add(vnic);
        name_lost_places();
        history_->events.add_of("switch", now(), EventKind::kStarted,
                                std::to_string(config.vnics.size()) + " vNIC(s)");
    } catch (...) {  // the destructor does not run, and the workers use members
        stop_workers();
        throw;
    }
}

/// Once: all vNICs have them in one folder.
void Topology::name_lost_places() const {
    for (const auto& vnic : vnics_)
        if (vnic && vnic->vhost && !vnic->vhost->places_fault().empty()) {
            spdlog::warn(
                "guests with packed rings stay down when this process ends, until their driver is reloaded: "
                "{}",
                vnic->vhost->places_fault());
            return;
        }
}

Topology::~Topology() {
    try {
        take_snapshots();
        write_learned();
    } catch (const HostError&) {  // the file stays as it was written last
    }
    stop_workers();
    vhost_.reset();
    steering_.reset();
    workers_.clear();
}

void Topology::build_uplink() {
    if (config_.uplink.device.empty())
        return;
    const NicSettings settings{.device = config_.uplink.device,
                               .queues = static_cast<std::uint16_t>(config_.workers.size()),
                               .descriptors = static_cast<std::uint16_t>(config_.uplink.descriptors),
                               .mtu = config_.uplink.mtu,
                               .owner = "uplink",
                               .interrupts = config_.poll == PollMode::kAdaptive};
    uplink_ = std::make_unique<NicDevice>(settings, eal_.pools().by_worker());
    name_far_workers();
    steering_ =
        std::make_unique<FlowSteering>(uplink_->port_id(), config_.uplink.flow_offload == FlowOffload::kAuto);
}

/// Frames of such a worker cross between the nodes, whichever pool it has.
void Topology::name_far_workers() const {
    std::string far;
    for (const WorkerId worker : eal_.pools().far_from(uplink_->numa_node()))
        far += (far.empty() ? "" : ", ") + std::to_string(worker);
    if (!far.empty())
        spdlog::warn(
            "uplink: its device is on NUMA node {}, and worker(s) {} on another one: the cores of the "
            "node are in /sys/devices/system/node/node{}/cpulist",
            *uplink_->numa_node(), far, *uplink_->numa_node());
}

void Topology::build_workers(const ConfigFiles& files) {
    const auto count = static_cast<WorkerId>(config_.workers.size());
    for (WorkerId id = 0; id < count; ++id) {
        inboxes_.push_back(std::make_unique<Inbox>(id, wakeups_of(id)));
        notifiers_.push_back(std::make_unique<Notifier>());
    }
    const std::uint64_t capacity = config_.uplink.capacity_bps() / kBitsPerByte;
    out_share_ = std::make_unique<LinkShare>(count, capacity);
    in_share_ = std::make_unique<LinkShare>(count, capacity);
    std::optional<FeedbackProfile> feedback;
    if (config_.feedback.is_on())
        feedback = make_feedback_profile(config_, files.feedback_key, random_key<SenderKey>(),
                                         static_cast<std::uint64_t>(std::time(nullptr)));
    const ConnectionKey key = random_key<ConnectionKey>();
    const SourceKey source_key = random_key<SourceKey>();
    const std::uint32_t overhead = config_.accounting == Accounting::kWire ? limits::kWireOverheadBytes : 0;
    tunnels_ = std::make_unique<Tunnels>(config_, files.tunnels, eal_.pools(), uplink_ ? uplink_->mac() : 0,
                                         workers_);
    for (WorkerId id = 0; id < count; ++id) {
        Stages::Setup stages{.worker = id,
                             .pool = eal_.pools().of(id),
                             .wakeups = wakeups_of(id),
                             .inboxes = inboxes_,
                             .overhead_bytes = overhead,
                             .flood_pps = config_.flood_limit_pps,
                             .mac_aging = config_.mac_aging,
                             .uplink = std::nullopt,
                             .appliances = &appliances_,
                             .connection_key = key,
                             .source_key = source_key,
                             .tunnels = tunnels_->ends(),
                             .engines = tunnels_->engines(id)};
        if (uplink_)
            stages.uplink.emplace(Stages::UplinkPart{
                .device = *uplink_,
                .scheduler = config_.uplink.scheduler,
                .mtu = config_.uplink.mtu,
                .out = *out_share_,
                .in = *in_share_,
                .feedback = feedback ? &*feedback : nullptr,
                .allocated_below = config_.controller.connect.empty() ? 0 : config_.uplink.rate_bps / 8});
        workers_.push_back(std::make_unique<Worker>(Worker::Setup{
            .stages = std::move(stages),
            .quiescence = quiescence_,
            .coalesce_cycles = eal_.cycles(config_.poll_coalesce),
            .turn = {.outside_every = eal_.cycles(kOutsideEvery), .length_max = eal_.cycles(kRoundMax)},
            .counter = eal_.clock() == nullptr ? nullptr : &eal_.clock()->cycles()}));
    }
}

/// Null for a worker that never sleeps: the senders of its frames are spared a fence.
Wakeups* Topology::wakeups_of(WorkerId worker) {
    return config_.poll == PollMode::kAdaptive ? &quiescence_.wakeups(worker) : nullptr;
}

void Topology::start_workers() {
    for (std::size_t i = 0; i < workers_.size(); ++i) {
        if (eal_.clock() != nullptr) {
            stepped_.push_back(std::make_unique<SteppedWorker>(*workers_[i], quiescence_, *eal_.clock()));
            launch(*stepped_.back(), i, config_.workers[i]);
            continue;
        }
        threads_.push_back(std::make_unique<WorkerThread>(*workers_[i], quiescence_, eal_.ticks(),
                                                          config_.poll, config_.poll_sleep_max));
        launch(*threads_.back(), i, config_.workers[i]);
    }
}

/// Returns when no worker polls any more.
void Topology::stop_workers() {
    for (auto& thread : threads_)
        thread->stop();
    for (auto& thread : stepped_)
        thread->stop();
    rte_eal_mp_wait_lcore();
}

std::uint64_t Topology::post(WorkerId worker, const WorkerCommand& command) {
    WorkerControl& control = workers_[worker]->control();
    std::uint64_t number = control.post(command);
    if (number == 0) {  // the ring is full: let the worker catch up
        await(worker, control.posted());
        number = control.post(command);
    }
    return number;
}

void Topology::await(WorkerId worker, std::uint64_t number) {
    if (!workers_[worker]->control().wait(number, kCommandTimeMax))
        throw HostError("worker " + std::to_string(worker) + " (core " +
                        std::to_string(config_.workers[worker]) +
                        ") does not answer; is its core taken by another program?");
}

std::uint64_t Topology::post_to_owner(Vnic& vnic, const WorkerCommand& command) {
    return vnic.last_command = post(vnic.path->fixed.owner, command);
}

void Topology::await_owner(const Vnic& vnic) {
    await(vnic.path->fixed.owner, vnic.last_command);
    await_members(vnic);
}

void Topology::run_on_all(const WorkerCommand& command) {
    for (const auto& worker : workers_)
        await(worker->id(), post(worker->id(), command));
}

void Topology::run_on_owners(const std::function<std::uint64_t(VnicId, Vnic&)>& post_commands) {
    std::vector<std::uint64_t> last(workers_.size());
    for (VnicId id = 0; id < vnics_.size(); ++id)
        if (vnics_[id])
            if (const std::uint64_t number = post_commands(id, *vnics_[id]); number != 0)
                last[vnics_[id]->path->fixed.owner] = number;
    for (WorkerId id = 0; id < workers_.size(); ++id)
        if (last[id] != 0)
            await(id, last[id]);
}

/// One worker after the other, so that frames change workers in the same order every time. The first one
/// moves the clock; alone, it makes all poll turns at once.
void Topology::turns(std::uint64_t count, Nanos span) {
    const std::uint64_t at_once = stepped_.size() == 1 ? count : 1;
    for (std::uint64_t made = 0; made < count; made += at_once)
        for (const auto& worker : stepped_)
            worker->turns(at_once, worker == stepped_.front() ? span : 0);
}

void Topology::tick() {
    const std::scoped_lock lock(mutex_);
    mac_relay_.run(workers_);
    const Nanos now = this->now();
    tunnels_->tick(now,
                   [this](WorkerId worker, const WorkerCommand& command) { return post(worker, command); });
    end_guarantee_periods(now);
    vhost_->look_at_sockets();
    tick_captures(now);
    note_states(now);
    balance(now);
    if (now - link_polled_ < kLinkPollPeriod)
        return;
    link_polled_ = now;
    name_faults(now);
    watch_links(now);
}

void Topology::watch_links(Nanos now) {
    if (uplink_)
        watch_link(*uplink_, nullptr, uplink_named_, now);
    for (const auto& vnic : vnics_)
        if (vnic && vnic->device)
            watch_link(*vnic->device, vnic.get(), vnic->link_named, now);
}

/// Opens the device anew when its interface is back. The log has each change, but at most one in 10 s: the
/// other end of a veth may be a tenant's.
void Topology::watch_link(NicDevice& device, const Vnic* vnic, NamedFault& named, Nanos now) {
    constexpr Nanos kGap = 10 * kNanosPerSec;
    if (device.poll_link()) {
        quiescence_.wait();
        device.reopen();
    }
    const std::string& fault = device.link_fault();
    if (fault == named.text || (named.at != 0 && now - named.at < kGap))
        return;
    const std::string owner = vnic == nullptr ? "uplink" : "vNIC " + vnic->config.name;
    if (fault.empty())
        spdlog::info("{}: its device has a link again", owner);
    else
        spdlog::warn("{}: down: {}", owner, fault);
    const EventKind kind = fault.empty() ? EventKind::kLinkBack : EventKind::kLinkLost;
    if (vnic == nullptr)
        history_->events.add_of("uplink", now, kind, fault);
    else
        history_->events.add_of_vnic(now, vnic->config.name, kind, fault);
    named = {fault, now};
}

}  // namespace weir
