// topology_moves.cc - vNICs go to other workers while their guests send and receive.
// Source: docs/algorithms.md 3.16. Units: ns.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/error.h"
#include "vswitch/datapath/loop/vnic_move.h"
#include "vswitch/qos/balancer.h"
#include "vswitch/topology/topology.h"

namespace weir {
namespace {

/// The balancer does not wait for a vNIC that is behind: another time will do.
constexpr Nanos kLeaveMaxUnasked = 20'000'000;
constexpr Nanos kBalancePeriod = kNanosPerSec;

}  // namespace

void Topology::move(VnicId id, WorkerId to, Nanos patience) {
    Vnic& vnic = *vnics_[id];
    const WorkerId from = vnic.path->fixed.owner;
    if (from == to)
        return;
    if (vnic.config.spread)
        throw HostError("vNIC " + vnic.config.name +
                        " is spread over workers and does not move; remove the vNIC and "
                        "add it without \"spread\", or with \"worker\": " +
                        std::to_string(to) + ", the first of them");
    if (!vnic.config.appliances.empty())
        throw HostError(
            "vNIC " + vnic.config.name +
            " has appliances, whose requests are tracked on its worker; remove the vNIC and add it "
            "with \"worker\": " +
            std::to_string(to));
    await_owner(vnic);
    const std::optional<Nanos> rested = give(vnic, to, patience);
    if (!rested)
        throw HostError("vNIC " + vnic.config.name + " stays on worker " + std::to_string(from) +
                        ": its frames did not leave within " + std::to_string(patience / 1'000'000) +
                        " ms, as it, or its guest, is behind; try again");
    std::erase(samplings_[from]->vnics, id);
    samplings_[to]->vnics.push_back(id);
    vnic.last_command = 0;
    if (steering_) {
        steering_->remove(id);
        vnic.steering = steering_->add(id, vnic.config, to);
    }
    vnic.rates.peers.clear();  // the new worker has none yet
    await(to, post_peer_rates(id, rates_of(vnic.config.name).peers));
    spdlog::info("vNIC {} moved from worker {} to {}", vnic.config.name, from, to);
    history_->events.add_of_vnic(now(), vnic.config.name, EventKind::kMoved,
                                 "worker " + std::to_string(from) + " to " + std::to_string(to) +
                                     "; no worker rested for more than " + std::to_string(*rested / 1000) +
                                     " us");
}

/// @return a bound on the time for which the workers stood still; none: the vNIC stays
std::optional<Nanos> Topology::give(Vnic& vnic, WorkerId to, Nanos patience) {
    VnicMove move{
        .path = *vnic.path,
        .to = to,
        .workers = workers_,
        .quiescence = quiescence_,
        .post = [this](WorkerId worker, const WorkerCommand& command) { return post(worker, command); },
        .await = [this](WorkerId worker, std::uint64_t number) { await(worker, number); },
        .now = [this] { return now(); },
        .serve = [this, &vnic, to] { serve(vnic, to); }};
    const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(patience);
    const auto attempt = [&] {
        try {
            return move.attempt();
        } catch (const HostError&) {
            if (vnic.path->fixed.owner != to)
                throw;
            return true;  // it has moved, and a worker is late
        }
    };
    while (!attempt()) {
        if (std::chrono::steady_clock::now() > until) {
            move.cancel();
            return std::nullopt;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return move.rested;
}

/// Once a second: at most one vNIC goes to a worker with more cycles, of those that no one has given a
/// worker.
void Topology::balance(Nanos now) {
    if (!config_.balance || workers_.size() < 2 || now - balanced_.at < kBalancePeriod)
        return;
    take_snapshots();
    const auto cycles = static_cast<double>(eal_.cycles(now - std::exchange(balanced_.at, now)));
    std::vector<double> workers;
    balanced_.workers.resize(workers_.size());
    for (const auto& worker : workers_) {
        const std::uint64_t busy = worker_snapshots_[worker->id()].worker.busy_cycles;
        workers.push_back(static_cast<double>(busy - std::exchange(balanced_.workers[worker->id()], busy)) /
                          cycles);
    }
    std::vector<VnicLoad> vnics;
    for (VnicId id = 0; id < vnics_.size(); ++id) {
        if (!vnics_[id])
            continue;
        Vnic& vnic = *vnics_[id];
        const std::uint64_t busy =
            vnic.snapshot.cycles - std::exchange(vnic.cycles_balanced, vnic.snapshot.cycles);
        if (!vnic.config.worker && !vnic.config.spread && vnic.config.appliances.empty())
            vnics.push_back({id, vnic.path->fixed.owner, static_cast<double>(busy) / cycles});
    }
    const auto chosen = choose_move(workers, vnics);
    if (!chosen)
        return;
    try {
        move(chosen->vnic, chosen->to, kLeaveMaxUnasked);
    } catch (const HostError& error) {
        spdlog::debug("balance: {}", error.what());
    }
}

VhostPort::Server Topology::server_of(WorkerId worker) {
    return {.notifier = notifiers_[worker].get(),
            .access = &quiescence_.access(worker),
            .wakeups = wakeups_of(worker),
            .pool = eal_.pools().of(worker),
            .relay = &relay_};
}

/// The port's notifications, wakeups and buffers are of the worker that polls it. A device keeps the pool
/// that its queue was set up with.
void Topology::serve(Vnic& vnic, WorkerId owner) {
    if (vnic.vhost)
        vnic.vhost->serve(server_of(owner));
    else
        vnic.queue->serve(wakeups_of(owner));
}

}  // namespace weir
