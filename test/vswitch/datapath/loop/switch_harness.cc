// switch_harness.cc - adds, changes and removes vNICs as the topology does, with fakes and without threads.
#include "test/vswitch/datapath/loop/switch_harness.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <thread>

#include "test/support/wait.h"
#include "vswitch/datapath/loop/vnic_move.h"

namespace weir::testing {
namespace {

/// Rings are polled at every turn.
constexpr std::uint64_t kCoalesceCycles = 0;
/// Until a thread that gets no core counts as stuck.
constexpr Nanos kThreadPatience = 300 * kNanosPerSec;

}  // namespace

rte_mbuf* frame(std::uint64_t to, std::uint64_t from, std::uint32_t number, std::size_t bytes) {
    return to_mbuf(buffer_pool(), numbered(to, from, bytes, number));
}

VnicConfig vm(unsigned n) {
    VnicConfig config;
    config.name = "vm" + std::to_string(n);
    config.mac = MacAddress{mac(n)};
    return config;
}

SwitchHarness::SwitchHarness(const SwitchConfig& config, RingNic* nic, std::vector<Appliance> appliances,
                             const TunnelPart& tunnels, const PollTurn::Profile& turn)
    : config_(config),
      appliances_(std::move(appliances)),
      quiescence_((buffer_pool(), static_cast<unsigned>(config.workers.size()))),
      out_share_(config.workers.size(), config.uplink.capacity_bps() / 8),
      in_share_(config.workers.size(), config.uplink.capacity_bps() / 8) {
    const FeedbackProfile feedback = make_feedback_profile(config, FeedbackKey{}, kSenderKey, 0);
    const auto count = static_cast<WorkerId>(config.workers.size());
    for (WorkerId id = 0; id < count; ++id)
        inboxes_.push_back(std::make_unique<Inbox>(id));
    const std::uint32_t overhead = config.accounting == Accounting::kWire ? limits::kWireOverheadBytes : 0;
    for (WorkerId id = 0; id < count; ++id) {
        Stages::Setup stages{.worker = id,
                             .pool = buffer_pool(),
                             .inboxes = inboxes_,
                             .overhead_bytes = overhead,
                             .flood_pps = config.flood_limit_pps,
                             .mac_aging = config.mac_aging,
                             .uplink = std::nullopt,
                             .appliances = &appliances_,
                             .connection_key = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
                             .source_key = kSourceKey,
                             .tunnels = tunnels.ends,
                             .engines = tunnels.engines};
        if (nic != nullptr)
            stages.uplink.emplace(
                Stages::UplinkPart{.device = nic->device(),
                                   .scheduler = config.uplink.scheduler,
                                   .mtu = config.uplink.mtu,
                                   .out = out_share_,
                                   .in = in_share_,
                                   .feedback = config.feedback.enabled ? &feedback : nullptr});
        workers_.push_back(
            std::make_unique<Worker>(Worker::Setup{stages, quiescence_, kCoalesceCycles, turn, &cycles}));
        quiescence_.online(id);
    }
}

SwitchHarness::~SwitchHarness() {
    for (std::size_t at = vnics_.size(); at != 0; --at)  // members before their homes
        if (const auto id = static_cast<VnicId>(at - 1); has(id))
            remove(id);
}

VnicId SwitchHarness::add(const VnicConfig& config, const std::function<void(FakePort&)>& prepare) {
    vnics_.emplace_back();
    const auto id = static_cast<VnicId>(vnics_.size() - 1);
    add_again(id, config, prepare);
    return id;
}

void SwitchHarness::add_again(VnicId id, const VnicConfig& config,
                              const std::function<void(FakePort&)>& prepare) {
    vnics_[id].port = std::make_unique<FakePort>();
    if (prepare)
        prepare(*vnics_[id].port);
    add_path(id, config, *vnics_[id].port);
}

VnicId SwitchHarness::add(const VnicConfig& config, Port& port) {
    vnics_.emplace_back();
    const auto id = static_cast<VnicId>(vnics_.size() - 1);
    add_path(id, config, port);
    return id;
}

void SwitchHarness::add_path(VnicId id, const VnicConfig& config, Port& port) {
    Vnic& vnic = vnics_[id];
    VnicFixed fixed = make_fixed(id, config.worker.value_or(0), &port, config, config_, vnic.generation);
    fixed.tenant = static_cast<TenantSlot>(config.tenant.empty() ? 0 : config.tenant[0] - 'A' + 1);
    vnic.path =
        std::make_unique<VnicPath>(fixed, make_vnic_profile(config, config_), config_.flood_limit_pps, now);
    post_to_all(command::AddVnic{vnic.path.get()});
}

std::vector<VnicId> SwitchHarness::add_spread(const VnicConfig& config,
                                              const std::function<void(FakePort&, std::size_t)>& prepare) {
    const std::size_t count = workers_.size();
    std::vector<VnicId> members;
    for (std::size_t i = 0; i < count; ++i) {
        members.push_back(static_cast<VnicId>(vnics_.size()));
        Vnic& vnic = vnics_.emplace_back();
        vnic.port = std::make_unique<FakePort>();
        if (prepare)
            prepare(*vnic.port, i);
    }
    auto spread = std::make_unique<Spread>(members, config_.uplink.capacity_bps() / 8);
    const VnicProfile profile = make_member_profile(make_vnic_profile(config, config_), count);
    const VnicFixed home =
        make_fixed(members[0], config.worker.value_or(0), vnics_[members[0]].port.get(), config, config_);
    for (std::size_t i = 0; i < count; ++i) {
        Vnic& vnic = vnics_[members[i]];
        const auto owner = static_cast<WorkerId>((home.owner + i) % count);
        const VnicFixed fixed =
            i == 0 ? home : make_member(home, members[i], owner, vnic.port.get(), vnic.generation);
        vnic.path = std::make_unique<VnicPath>(fixed, profile, config_.flood_limit_pps, now, spread.get(), i);
        post_to_all(command::AddVnic{vnic.path.get()});
    }
    vnics_[members[0]].spread = std::move(spread);
    for (unsigned turns = 0; !threaded && turns < limits::kHousekeepingIterations; ++turns)
        turn();  // the workers look for rings
    return members;
}

void SwitchHarness::remove_spread(const std::vector<VnicId>& members) {
    for (std::size_t i = members.size(); i != 0; --i)
        post_to_all(command::RemoveVnic{members[i - 1]});
    if (threaded)
        quiescence_.wait();
    for (std::size_t i = members.size(); i != 0; --i)
        vnics_[members[i - 1]] = {};
}

void SwitchHarness::change_spread(const std::vector<VnicId>& members, const VnicConfig& config) {
    const VnicProfile profile = make_member_profile(make_vnic_profile(config, config_), members.size());
    for (const VnicId id : members)
        post(path(id).fixed.owner, command::ChangeVnic{id, &profile});
}

void SwitchHarness::change(VnicId id, const VnicConfig& config) {
    const VnicProfile profile = make_vnic_profile(config, config_);
    post(path(id).fixed.owner, command::ChangeVnic{id, &profile});
}

void SwitchHarness::remove(VnicId id) {
    post_to_all(command::RemoveVnic{id});
    if (threaded)
        quiescence_.wait();
    const auto next = static_cast<VnicGeneration>(vnics_[id].generation + 1);
    vnics_[id] = {};
    vnics_[id].generation = next;
}

bool SwitchHarness::move(VnicId id, WorkerId to) {
    constexpr unsigned kTurnsMax = 100'000;
    if (!threaded) {
        Worker& from = *workers_[path(id).fixed.owner];
        bool ready = false;
        post(from.id(), command::PrepareMove{&path(id), &ready});
        for (unsigned turns = 0; !from.may_give(path(id), *workers_[to]); ++turns)
            if (turns == kTurnsMax)
                return false;
            else
                turn();
        from.give(path(id), *workers_[to], now);
        return true;
    }
    VnicMove order{
        .path = path(id),
        .to = to,
        .workers = workers_,
        .quiescence = quiescence_,
        .post = [this](WorkerId worker,
                       const WorkerCommand& command) { return workers_[worker]->control().post(command); },
        .await =
            [this](WorkerId worker, std::uint64_t number) {
                if (number == 0 || !workers_[worker]->control().wait(number, kThreadPatience))
                    throw std::runtime_error("a worker does not answer");
            },
        .now = [this] { return now; },
        .serve = [] {}};
    return until([&] { return order.attempt(); }, [] { std::this_thread::yield(); });
}

void SwitchHarness::post(WorkerId worker, const WorkerCommand& command) {
    WorkerControl& control = workers_[worker]->control();
    const std::uint64_t number = control.post(command);
    for (std::uint64_t turns = 0; !threaded && turns < limits::kHousekeepingIterations; ++turns) {
        if (prompt)
            workers_[worker]->housekeeping_next();
        workers_[worker]->run_once(now);
        if (prompt && control.wait(number, 0))
            break;
    }
    if (number == 0 || !control.wait(number, threaded ? kThreadPatience : 0))
        throw std::runtime_error("a worker did not do a command within one housekeeping period");
}

void SwitchHarness::post_to_all(const WorkerCommand& command) {
    for (const auto& worker : workers_)
        post(worker->id(), command);
}

VnicReading SwitchHarness::snapshot(VnicId id) {
    VnicReading stats;
    post(path(id).fixed.owner, command::ReadVnic{id, &stats});
    return stats;
}

WorkerSnapshot SwitchHarness::snapshot_worker(WorkerId id) {
    WorkerSnapshot snapshot;
    post(id, command::ReadWorker{&snapshot});
    return snapshot;
}

unsigned SwitchHarness::turn() {
    unsigned moved = 0;
    for (const auto& worker : workers_)
        moved += worker->run_once(now);
    return moved;
}

/// A vNIC in debt for the cycles that it used is passed over for a few turns.
void SwitchHarness::settle() {
    constexpr unsigned kIdleTurns = 32;
    for (unsigned idle = 0; idle < kIdleTurns;)
        idle = turn() == 0 ? idle + 1 : 0;
}

void SwitchHarness::run(Nanos duration, Nanos step) {
    for (const Nanos end = now + duration; now < end; now += step)
        turn();
}

}  // namespace weir::testing
