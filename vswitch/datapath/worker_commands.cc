// commands.cc - what the agent asked for, a few at a time, in the worker's own turn.
#include <rte_mbuf.h>

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
            change_vnic(*directory_[command.vnic], *command.profile, now);
            break;
        case Type::kRemoveVnic:
            remove_vnic(command.vnic, now);
            break;
        case Type::kHearMac:
            hear_mac(command.news, now);
            break;
        case Type::kSnapshotVnic:
            *command.vnic_stats = directory_[command.vnic]->stats;
            if (uplink_)
                command.vnic_stats->limiters = uplink_->limiters(command.vnic);
            if (feedback_) {
                const EndpointReading reading = feedback_->read(command.vnic);
                command.vnic_stats->received_rate = reading.received;
                command.vnic_stats->receive_capacity = reading.capacity;
                command.vnic_stats->advertised_rate = reading.advertised;
            }
            break;
        case Type::kReadRequests:
            if (requests_)
                requests_->read(command.vnic, now, *command.requests);
            break;
        case Type::kRulePeers:
            for (const PeerRule& rule : command.rules)
                uplink_->allocate(command.vnic, rule.address, rule.rate, now);
            break;
        case Type::kReadPeers:
            for (PeerReading& peer : command.peers)
                uplink_->read_peer(command.vnic, peer);
            break;
        case Type::kSendFrame:
            uplink_->send_control(command.frame, now);
            break;
        case Type::kReceiveSession:
            tunnels_->receive_with(command.tunnel, command.session);
            break;
        case Type::kSendSession:
            tunnels_->send_with(command.tunnel, command.session);
            break;
        case Type::kSnapshotWorker:
            command.snapshot->worker = stats;
            if (tunnels_ && command.tunnels != nullptr)
                std::ranges::copy(tunnels_->stats, command.tunnels->begin());
            command.snapshot->worker.iterations = iterations_;
            command.snapshot->handoff = handoff_;
            command.snapshot->mac_entries = macs_.size();
            if (uplink_) {
                command.snapshot->uplink = uplink_->stats;
                command.snapshot->uplink_capacity = uplink_->capacity();
            }
            if (feedback_) {
                command.snapshot->feedback = feedback_->stats;
                command.snapshot->feedback.limiters = uplink_->limiters();
            }
            break;
    }
}

void Worker::add_vnic(VnicPath& path, Nanos now) {
    const VnicFixed& fixed = path.fixed;
    directory_[fixed.id] = &path;
    all_.push_back(&path);
    if (fixed.mac != 0)
        macs_.set_static(mac_key(fixed.mac, fixed.vlan), fixed.id);
    update_unknown();
    if (fixed.owner != setup_.id)
        return;
    mine_.push_back(&path);
    bill_.share().add(fixed.id, path.profile.cycle_shares);
    if (uplink_)
        uplink_->add(path, now);
    if (feedback_)
        feedback_->add(path);
    if (requests_)
        requests_->add(path, now);
}

void Worker::change_vnic(VnicPath& path, const VnicProfile& profile, Nanos now) {
    path.change(profile, now);
    bill_.share().set_shares(path.fixed.id, profile.cycle_shares);
    if (uplink_)
        uplink_->change(path, now);
    if (feedback_)
        feedback_->change(path);
    if (requests_)
        requests_->change(path, now);
    if (path.parked) {  // the new limit may pay at once
        wheel_.remove(path.fixed.id);
        resume(path, now);
    }
}

/// The news may have travelled longer than the vNIC lived.
void Worker::hear_mac(const MacNews& news, Nanos now) {
    if (news.destination == kToUplink || directory_[news.destination] != nullptr)
        macs_.hear(news, now);
}

void Worker::remove_vnic(VnicId id, Nanos now) {
    VnicPath& path = *directory_[id];
    directory_[id] = nullptr;
    std::erase(all_, &path);
    macs_.remove(mac_key(path.fixed.mac, path.fixed.vlan));
    macs_.forget(id);
    update_unknown();
    if (path.fixed.owner != setup_.id)
        return;
    std::erase(mine_, &path);
    path.release(now);
    bill_.share().remove(id);
    wheel_.remove(id);
    if (feedback_)
        feedback_->remove(path);
    if (uplink_)
        uplink_->remove(path, now);
    const auto drop = [&path](const PacketRef& ref) {
        path.stats.from_vm.queued.remove(1, ref.bytes);
        path.stats.from_vm.drop(DropReason::kVnicRemoved, 1, ref.bytes);
        rte_pktmbuf_free(static_cast<rte_mbuf*>(ref.packet));
    };
    if (requests_)
        requests_->remove(path, now, drop);
    for (; !path.local.empty(); path.local.pop())
        drop(path.local.front());
}

/// With an uplink, and no port here behind which unknown addresses may live, an unknown address is out there:
/// such frames need no flooding and no bound.
void Worker::update_unknown() {
    const bool learning_ports = std::any_of(all_.begin(), all_.end(),
                                            [](const VnicPath* path) { return !path->fixed.anti_spoofing; });
    unknown_ = uplink_ && !learning_ports ? kToUplink : kToAll;
}

}  // namespace weir
