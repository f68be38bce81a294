// host.cc - Host: rings are polled in turn, a burst each, as the switch's worker does it.
#include "bench/sim/host.h"

namespace weir::sim {
namespace {

constexpr unsigned kBurst = 32;

}  // namespace

Host::Host(World& world, const Setup& setup)
    : world_(world), setup_(setup), guests_(world), up_(world.engine, guests_) {}

void Host::connect(Node& leaf) {
    const Port::Setup link{.rate = setup_.rate, .delay = setup_.delay, .watcher = this};
    nic_ = std::make_unique<Port>(world_.engine, world_.pool, link, leaf);
}

VnicId Host::add_vnic(const VnicProfile& profile) {
    profiles_.push_back(profile);
    vnics_.emplace_back();
    return static_cast<VnicId>(vnics_.size() - 1);
}

void Host::wait(VnicId id, Sender& sender) {
    if (sender.waiting_)
        return;
    sender.waiting_ = true;
    sender.next_ = nullptr;
    Vnic& vnic = vnics_[id];
    (vnic.first == nullptr ? vnic.first : vnic.last->next_) = &sender;
    vnic.last = &sender;
    ++waiters_;
}

void Host::send(VnicId id, Packet& packet) {
    Vnic& vnic = vnics_[id];
    packet.low_priority = profiles_[id].best_effort;
    if (vnic.ring.empty() && edge_->room(id)) {
        edge_->send(id, packet);
        return;
    }
    vnic.ring.push(packet);
    ++vnic.waiting;
    ++in_rings_;
}

void Host::pump() {
    if (pumping_ || in_rings_ + waiters_ == 0)
        return;
    pumping_ = true;
    for (bool moved = true; moved;) {
        moved = false;
        for (std::size_t id = 0; id < vnics_.size(); ++id)
            moved |= serve(static_cast<VnicId>(id));
    }
    pumping_ = false;
}

/// One burst of one ring.
bool Host::serve(VnicId id) {
    Vnic& vnic = vnics_[id];
    unsigned taken = 0;
    for (; taken < kBurst && !vnic.ring.empty() && edge_->room(id); ++taken) {
        --vnic.waiting;
        --in_rings_;
        edge_->send(id, vnic.ring.pop());
    }
    wake(vnic);
    return taken != 0;
}

void Host::wake(Vnic& vnic) {
    while (vnic.first != nullptr && vnic.waiting < setup_.ring) {
        Sender& sender = *vnic.first;
        vnic.first = sender.next_;
        sender.waiting_ = false;
        --waiters_;
        sender.resume();
    }
}

void Host::receive(Packet& packet) {
    const VnicId id = world_.endpoints[packet.to].vnic;
    if (packet.kind == PacketKind::kFeedback) {
        ++world_.feedback_received;
        edge_->on_feedback(id, packet);
        world_.pool.give_back(packet);
        return;
    }
    vnics_[id].received_bytes += packet.bytes;
    edge_->received(id, packet);
    if (setup_.stack_delay == 0)
        guests_.receive(packet);
    else
        up_.send(packet, world_.now() + setup_.stack_delay);
}

void Host::departed(const Packet&) {
    pump();
}

void Host::Guests::receive(Packet& packet) {
    ++world_.delivered;
    world_.flows[packet.flow]->deliver(packet);
    world_.pool.give_back(packet);
}

std::uint64_t Host::packets() const {
    return in_rings_ + edge_->packets() + nic_->packets() + up_.packets();
}

}  // namespace weir::sim
