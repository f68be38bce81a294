// topology_moves.cc - vNICs go to other workers while their guests send and receive.
// Source: docs/algorithms.md 3.16. Units: ns.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "common/error.h"
#include "vswitch/datapath/loop/vnic_move.h"
#include "vswitch/topology/topology.h"

namespace weir {
namespace {

/// How long the frames of a vNIC may take to leave its worker.
constexpr Nanos kLeaveMax = 500'000'000;

}  // namespace

void Topology::move(VnicId id, WorkerId to) {
    Vnic& vnic = *vnics_[id];
    const WorkerId from = vnic.path->fixed.owner;
    if (from == to)
        return;
    if (!vnic.config.appliances.empty())
        throw HostError(
            "vNIC " + vnic.config.name +
            " has appliances, whose requests are tracked on its worker; remove the vNIC and add it "
            "with \"worker\": " +
            std::to_string(to));
    await_owner(vnic);
    if (!give(vnic, to))
        throw HostError("vNIC " + vnic.config.name + " stays on worker " + std::to_string(from) +
                        ": its frames did not leave within " + std::to_string(kLeaveMax / 1'000'000) +
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
}

bool Topology::give(Vnic& vnic, WorkerId to) {
    VnicMove move{
        .path = *vnic.path,
        .to = to,
        .workers = workers_,
        .quiescence = quiescence_,
        .post = [this](WorkerId worker, const WorkerCommand& command) { return post(worker, command); },
        .await = [this](WorkerId worker, std::uint64_t number) { await(worker, number); },
        .now = [this] { return now(); },
        .serve = [this, &vnic, to] { serve(vnic, to); }};
    const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(kLeaveMax);
    while (!move.attempt()) {
        if (std::chrono::steady_clock::now() > until) {
            move.cancel();
            return false;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

/// The port's notifications and wakeups are of the worker that polls it.
void Topology::serve(Vnic& vnic, WorkerId owner) {
    if (vnic.config.device.empty())
        static_cast<VhostPort&>(*vnic.port).serve(*notifiers_[owner], wakeups_of(owner));
    else
        static_cast<NicPort&>(*vnic.port).serve(wakeups_of(owner));
}

}  // namespace weir
