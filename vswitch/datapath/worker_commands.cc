// worker_commands.cc - Worker: what it does for each command of the agent.
// Source: docs/design.md 4, 6. Threads: the worker's.
#include <algorithm>

#include "vswitch/datapath/worker.h"

namespace weir {
namespace {

/// Commands per housekeeping; bounds the time that the agent can take from the guests.
constexpr unsigned kCommandsPerTick = 16;

}  // namespace

void Worker::run_commands(Nanos now) {
    WorkerCommand command;
    for (unsigned i = 0; i < kCommandsPerTick && control_.take(command); ++i) {
        std::visit([&](const auto& posted) { run(posted, now); }, command);
        control_.done();
    }
}

void Worker::run(const command::AddVnic& command, Nanos now) {
    VnicPath& path = *command.path;
    forwarder_.add(path, now);
    if (path.fixed.owner != id_)
        return;
    mine_.push_back(&path);
    bill_.share().add(path.fixed.id, path.profile.cycle_shares);
}

void Worker::run(const command::ChangeVnic& command, Nanos now) {
    VnicPath& path = *forwarder_.vnic(command.vnic);
    path.change(*command.profile, now);
    bill_.share().set_shares(path.fixed.id, command.profile->cycle_shares);
    forwarder_.change(path, now);
    if (path.parked) {  // the new limit may pay at once
        wheel_.remove(path.fixed.id);
        resume(path, now);
    }
}

void Worker::run(const command::RemoveVnic& command, Nanos now) {
    VnicPath& path = *forwarder_.vnic(command.vnic);
    if (path.fixed.owner == id_) {
        std::erase(mine_, &path);
        path.release(now);
        bill_.share().remove(path.fixed.id);
        wheel_.remove(path.fixed.id);
    }
    forwarder_.remove(path, now);
}

void Worker::run(const command::UpdateMac& command, Nanos now) {
    forwarder_.on_mac_update(command.update, now);
}

void Worker::run(const command::ReadVnic& command, Nanos) {
    forwarder_.read(command.vnic, *command.stats);
}

void Worker::run(const command::ReadWorker& command, Nanos) {
    command.snapshot->worker = stats;
    forwarder_.read(*command.snapshot);
    if (forwarder_.tunnels() && command.tunnels != nullptr)
        std::ranges::copy(forwarder_.tunnels()->stats, command.tunnels->begin());
}

void Worker::run(const command::ReadRequests& command, Nanos now) {
    if (forwarder_.requests())
        forwarder_.requests()->read(command.vnic, now, *command.readings);
}

void Worker::run(const command::AllocatePeers& command, Nanos now) {
    for (const PeerAllocation& peer : command.peers)
        forwarder_.uplink()->allocate(command.vnic, peer.address, peer.rate, now);
}

void Worker::run(const command::ReadPeers& command, Nanos) {
    for (PeerReading& peer : command.peers)
        forwarder_.uplink()->read_peer(command.vnic, peer);
}

void Worker::run(const command::SendFrame& command, Nanos now) {
    forwarder_.uplink()->send_control(command.frame, now);
}

void Worker::run(const command::ReceiveSession& command, Nanos) {
    forwarder_.tunnels()->receive_with(command.tunnel, command.session);
}

void Worker::run(const command::SendSession& command, Nanos) {
    forwarder_.tunnels()->send_with(command.tunnel, command.session);
}

}  // namespace weir
