// worker_commands.cc - commands of the agent, a few at a time, in the worker's own housekeeping.
#include <algorithm>

#include "vswitch/datapath/worker.h"

namespace weir {
namespace {

/// Commands per housekeeping: bounds the time that the agent can take from the guests.
constexpr unsigned kCommandsPerTick = 16;

}  // namespace

void Worker::run_commands(Nanos now) {
    WorkerCommand command{};
    for (unsigned i = 0; i < kCommandsPerTick && control_.take(command); ++i) {
        run_command(command, now);
        control_.done();
    }
}

void Worker::run_command(const WorkerCommand& command, Nanos now) {
    using Type = WorkerCommand::Type;
    switch (command.type) {
        case Type::kAddVnic:
            add_vnic(*command.path, now);
            break;
        case Type::kChangeVnic:
            change_vnic(*forwarder_.vnic(command.vnic), *command.profile, now);
            break;
        case Type::kRemoveVnic:
            remove_vnic(*forwarder_.vnic(command.vnic), now);
            break;
        case Type::kHearMac:
            forwarder_.on_mac_update(command.news, now);
            break;
        case Type::kSnapshotVnic:
            forwarder_.read(command.vnic, *command.vnic_stats);
            break;
        case Type::kReadRequests:
            if (forwarder_.requests())
                forwarder_.requests()->read(command.vnic, now, *command.requests);
            break;
        case Type::kRulePeers:
            for (const PeerRule& rule : command.rules)
                forwarder_.uplink()->allocate(command.vnic, rule.address, rule.rate, now);
            break;
        case Type::kReadPeers:
            for (PeerReading& peer : command.peers)
                forwarder_.uplink()->read_peer(command.vnic, peer);
            break;
        case Type::kSendFrame:
            forwarder_.uplink()->send_control(command.frame, now);
            break;
        case Type::kReceiveSession:
            forwarder_.tunnels()->receive_with(command.tunnel, command.session);
            break;
        case Type::kSendSession:
            forwarder_.tunnels()->send_with(command.tunnel, command.session);
            break;
        case Type::kSnapshotWorker:
            command.snapshot->worker = stats;
            forwarder_.read(*command.snapshot);
            if (forwarder_.tunnels() && command.tunnels != nullptr)
                std::ranges::copy(forwarder_.tunnels()->stats, command.tunnels->begin());
            break;
    }
}

void Worker::add_vnic(VnicPath& path, Nanos now) {
    forwarder_.add(path, now);
    if (path.fixed.owner != id_)
        return;
    mine_.push_back(&path);
    bill_.share().add(path.fixed.id, path.profile.cycle_shares);
}

void Worker::change_vnic(VnicPath& path, const VnicProfile& profile, Nanos now) {
    path.change(profile, now);
    bill_.share().set_shares(path.fixed.id, profile.cycle_shares);
    forwarder_.change(path, now);
    if (path.parked) {  // the new limit may pay at once
        wheel_.remove(path.fixed.id);
        resume(path, now);
    }
}

void Worker::remove_vnic(VnicPath& path, Nanos now) {
    if (path.fixed.owner == id_) {
        std::erase(mine_, &path);
        path.release(now);
        bill_.share().remove(path.fixed.id);
        wheel_.remove(path.fixed.id);
    }
    forwarder_.remove(path, now);
}

}  // namespace weir
