// worker_commands.cc - Worker: carries out the agent's commands.
// Source: docs/design.md 4, 6. Threads: the worker's.
#include <algorithm>

#include "vswitch/datapath/loop/readings.h"
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
        [&](const command::PrepareMove& move) { *move.ready = prepare_to_give(*move.path); },
        [&](const command::CancelMove& move) { move.path->leaving = false; },
        [&](const command::Stand& stand) {
            stand.still->stand();
            if (stand.settles == id_)
                settle(now);
        },
        [&](const command::UpdateMac& learned) { stages_.vnics.on_update(learned.update, now); },
        [&](const command::ReadVnic& wanted) { read(stages_, wanted.vnic, now, *wanted.stats); },
        [&](const command::ReadWorker& wanted) { read_worker(wanted); },
        [&](const command::SampleVnics& wanted) { read(stages_, *wanted.samples, now); },
        [&](const command::ReadRequests& wanted) {
            if (stages_.requests)
                stages_.requests->read(wanted.vnic, now, *wanted.readings);
        },
        [&](const command::AllocatePeers& allocate) {
            for (const PeerAllocation& peer : allocate.peers)
                stages_.uplink->allocate(allocate.vnic, peer.address, peer.rate, now);
        },
        [&](const command::ReadPeers& wanted) {
            for (PeerReading& peer : wanted.peers)
                stages_.uplink->read_peer(wanted.vnic, peer);
        },
        [&](const command::TakeDestinations& wanted) {
            stages_.uplink->egress().take_destinations(*wanted.taken);
        },
        [&](const command::SendFrame& send) { stages_.uplink->send_control(send.frame, now); },
        [&](const command::ReceiveSession& from) {
            stages_.tunnels->receive_with(from.tunnel, from.session);
        },
        [&](const command::SendSession& with) { stages_.tunnels->send_with(with.tunnel, with.session); },
        [&](const command::StartCapture& start) {
            stages_.tap.add(*start.capture);
            mark_captured(*start.capture);
        },
        [&](const command::StopCapture& stop) {
            stages_.tap.remove(*stop.capture);
            mark_captured(*stop.capture);
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
    stages_.add(path, now);
    if (path.fixed.owner != id_)
        return;
    rings_.add(path);
    bill_.share().add(path.fixed.id, path.profile.cycle_shares);
    claim_shares();
}

void Worker::change_vnic(VnicId vnic, const VnicProfile& profile, Nanos now) {
    VnicPath& path = stages_.vnics.at(vnic);
    path.change(profile, now);
    rings_.change(path);
    bill_.share().set_shares(vnic, profile.cycle_shares);
    stages_.change(path, now);
    claim_shares();
    if (path.parked) {  // the new limit may pay at once
        wheel_.remove(vnic);
        resume(path, now);
    }
}

void Worker::remove_vnic(VnicId vnic, Nanos now) {
    VnicPath& path = stages_.vnics.at(vnic);
    if (path.fixed.owner == id_) {
        rings_.remove(path);
        path.release(now);
        bill_.share().remove(vnic);
        wheel_.remove(vnic);
        claim_shares();
    }
    stages_.remove(path, now);
}

/// The vNIC of a capture that began or ended; another worker's, or one that has gone, has nothing to mark.
void Worker::mark_captured(const Capture& capture) {
    VnicPath* const path = capture.of_uplink() ? nullptr : stages_.vnics.find(capture.vnic());
    if (path == nullptr || path->fixed.owner != id_)
        return;
    path->captured = stages_.tap.of_vnic(capture.vnic());
    stages_.delivery.waiting().refresh(*path);
}

void Worker::claim_shares() {
    if (negotiation_)
        negotiation_->claim(rings_.vnics());
}

void Worker::read_worker(const command::ReadWorker& wanted) {
    wanted.snapshot->worker = stats;
    read(stages_, *wanted.snapshot);
    if (stages_.tunnels && wanted.tunnels != nullptr)
        std::ranges::copy(stages_.tunnels->stats, wanted.tunnels->begin());
}

}  // namespace weir
