// worker_commands.cc - Worker: what it does for each command of the agent.
// Source: docs/design.md 4, 6. Threads: the worker's.
#include <algorithm>

#include "vswitch/datapath/loop/worker.h"

namespace weir {
namespace {

/// One function for each kind of command, for std::visit().
template <class... Functions>
struct Overloads : Functions... {
    using Functions::operator()...;
};
template <class... Functions>
Overloads(Functions...) -> Overloads<Functions...>;

}  // namespace

bool Worker::run_commands(Nanos now) {
    // Commands per housekeeping; bounds the time that the agent can take from the guests.
    constexpr unsigned kCommandsPerTick = 16;
    const Overloads run{
        [&](const command::AddVnic& add) { add_vnic(*add.path, now); },
        [&](const command::ChangeVnic& change) { change_vnic(change.vnic, *change.profile, now); },
        [&](const command::RemoveVnic& remove) { remove_vnic(remove.vnic, now); },
        [&](const command::UpdateMac& learned) { forwarder_.on_mac_update(learned.update, now); },
        [&](const command::ReadVnic& read) { forwarder_.read(read.vnic, *read.stats); },
        [&](const command::ReadWorker& read) { read_worker(read); },
        [&](const command::ReadRequests& read) {
            if (forwarder_.requests())
                forwarder_.requests()->read(read.vnic, now, *read.readings);
        },
        [&](const command::AllocatePeers& allocate) {
            for (const PeerAllocation& peer : allocate.peers)
                forwarder_.uplink()->allocate(allocate.vnic, peer.address, peer.rate, now);
        },
        [&](const command::ReadPeers& read) {
            for (PeerReading& peer : read.peers)
                forwarder_.uplink()->read_peer(read.vnic, peer);
        },
        [&](const command::SendFrame& send) { forwarder_.uplink()->send_control(send.frame, now); },
        [&](const command::ReceiveSession& from) {
            forwarder_.tunnels()->receive_with(from.tunnel, from.session);
        },
        [&](const command::SendSession& with) {
            forwarder_.tunnels()->send_with(with.tunnel, with.session);
        }};
    WorkerCommand command;
    for (unsigned i = 0; i < kCommandsPerTick; ++i) {
        if (!control_.take(command))
            return false;
        std::visit(run, command);
        control_.done();
    }
    return true;
}

void Worker::add_vnic(VnicPath& path, Nanos now) {
    forwarder_.add(path, now);
    if (path.fixed.owner != id_)
        return;
    mine_.push_back(&path);
    list_promised(path);
    bill_.share().add(path.fixed.id, path.profile.cycle_shares);
    sum_claims();
}

/// Adds the vNIC to those that were promised packets, or removes it from them, as its profile has it.
void Worker::list_promised(VnicPath& path) {
    std::erase(promised_, &path);
    if (path.promised)
        promised_.push_back(&path);
    promised_next_ = 0;
}

void Worker::change_vnic(VnicId vnic, const VnicProfile& profile, Nanos now) {
    VnicPath& path = *forwarder_.vnic(vnic);
    path.change(profile, now);
    list_promised(path);
    bill_.share().set_shares(vnic, profile.cycle_shares);
    forwarder_.change(path, now);
    sum_claims();
    if (path.parked) {  // the new limit may pay at once
        wheel_.remove(vnic);
        resume(path, now);
    }
}

void Worker::remove_vnic(VnicId vnic, Nanos now) {
    VnicPath& path = *forwarder_.vnic(vnic);
    if (path.fixed.owner == id_) {
        std::erase(mine_, &path);
        std::erase(promised_, &path);
        promised_next_ = 0;
        path.release(now);
        bill_.share().remove(vnic);
        wheel_.remove(vnic);
        sum_claims();
    }
    forwarder_.remove(path, now);
}

void Worker::sum_claims() {
    claim_ = {};
    receive_claim_ = {};
    for (const VnicPath* vnic : mine_) {
        claim_.reservation += vnic->profile.uplink.reservation;
        claim_.shares += vnic->profile.uplink.shares;
        receive_claim_.reservation += vnic->profile.receive_reservation;
        receive_claim_.shares += vnic->profile.receive_shares;
    }
}

void Worker::read_worker(const command::ReadWorker& read) {
    read.snapshot->worker = stats;
    forwarder_.read(*read.snapshot);
    if (forwarder_.tunnels() && read.tunnels != nullptr)
        std::ranges::copy(forwarder_.tunnels()->stats, read.tunnels->begin());
}

}  // namespace weir
