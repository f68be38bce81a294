// forwarder_setup.cc - Forwarder's construction, its vNICs and its readings.
#include <rte_mbuf.h>

#include <algorithm>

#include "vswitch/datapath/loop/forwarder.h"
#include "vswitch/qos/buckets/rate_profile.h"

namespace weir {
namespace {

std::optional<TunnelPath> make_tunnels(const Forwarder::Setup& setup) {
    if (setup.tunnels.empty())
        return std::nullopt;
    return std::optional<TunnelPath>(std::in_place, TunnelPath::Setup{.tunnels = setup.tunnels,
                                                                      .engines = setup.engines,
                                                                      .worker = setup.worker,
                                                                      .inboxes = setup.inboxes});
}

/// With feedback or a controller there may be destination limits; without either the tables stay minimal.
DestinationLimits::Profile limits_of(const Forwarder::UplinkPart& part) {
    if (part.feedback != nullptr)
        return part.feedback->flows;
    DestinationLimits::Profile profile;
    profile.line_rate = std::max<std::uint64_t>(part.allocated_below, 2);
    profile.rate_min = std::min(profile.rate_min, profile.line_rate);
    return profile;
}

std::optional<Uplink> make_uplink(const Forwarder::Setup& setup, TimingWheel& wheel,
                                  VnicPath* const* directory, TunnelPath* tunnels, CycleBill& bill) {
    if (!setup.uplink)
        return std::nullopt;
    const Forwarder::UplinkPart& part = *setup.uplink;
    const bool limits_destinations = part.feedback != nullptr || part.allocated_below != 0;
    return std::optional<Uplink>(
        std::in_place,
        Uplink::Setup{.device = part.device,
                      .queue = setup.worker,
                      .pool = setup.pool,
                      .directory = directory,
                      .overhead_bytes = setup.overhead_bytes,
                      .mtu = part.mtu,
                      .egress = {.scheduler = part.scheduler,
                                 .wheel = &wheel,
                                 .vnics = limits::kVnicsMax,
                                 .vnic_wheel_id = Forwarder::kClassIds,
                                 .destinations = limits_destinations ? limits::kDestinationLimitsMax : 0,
                                 .destination_wheel_id = Forwarder::kDestinationIds,
                                 .limits = limits_of(part)},
                      .tunnels = tunnels,
                      .bill = &bill});
}

std::optional<RateFeedback> make_feedback(const Forwarder::Setup& setup, std::optional<Uplink>& uplink,
                                          MacTable& macs, VnicPath* const* directory) {
    if (!uplink || setup.uplink->feedback == nullptr)
        return std::nullopt;
    return std::optional<RateFeedback>(
        std::in_place, RateFeedback::Setup{setup.worker, setup.pool, *uplink, macs, directory, setup.inboxes},
        *setup.uplink->feedback);
}

std::optional<RequestPath> make_requests(const Forwarder::Setup& setup, TimingWheel& wheel) {
    if (setup.appliances == nullptr || setup.appliances->empty())
        return std::nullopt;
    return std::optional<RequestPath>(std::in_place,
                                      RequestPath::Setup{.appliances = *setup.appliances,
                                                         .pool = setup.pool,
                                                         .key = setup.connection_key,
                                                         .worker = setup.worker,
                                                         .shared = setup.inboxes.size() > 1,
                                                         .wheel = wheel,
                                                         .wheel_id = Forwarder::kRequestIds,
                                                         .overhead_bytes = setup.overhead_bytes});
}

}  // namespace

Forwarder::Forwarder(const Setup& setup, TimingWheel& wheel, CycleBill& bill)
    : worker_(setup.worker),
      pool_(setup.pool),
      inboxes_(setup.inboxes),
      overhead_bytes_(setup.overhead_bytes),
      wheel_(wheel),
      bill_(bill),
      wire_flood_(make_profile(setup.flood_pps, kFloodBurst)),
      macs_(setup.worker, setup.mac_aging, setup.inboxes.size() > 1 ? &mac_updates_ : nullptr),
      tunnels_(make_tunnels(setup)),
      uplink_(make_uplink(setup, wheel, directory_.data(), tunnels_ ? &*tunnels_ : nullptr, bill)),
      feedback_(make_feedback(setup, uplink_, macs_, directory_.data())),
      requests_(make_requests(setup, wheel)),
      delivery_({.worker = setup.worker,
                 .pool = setup.pool,
                 .inboxes = setup.inboxes,
                 .bill = bill,
                 .directory = directory_.data(),
                 .source_key = setup.source_key,
                 .line_rate = feedback_ ? setup.uplink->feedback->receiver.line_rate : 0,
                 .requests = requests_ ? &*requests_ : nullptr}) {
    if (uplink_)
        uplink_->set_capacity(setup.uplink->out.allocation(worker_), setup.uplink->out.reservable(worker_),
                              0);
    if (feedback_)
        feedback_->set_capacity(setup.uplink->in.allocation(worker_));
    update_unknown();
}

void Forwarder::add(VnicPath& path, Nanos now) {
    const VnicFixed& fixed = path.fixed;
    directory_[fixed.id] = &path;
    ids_end_ = std::max<VnicId>(ids_end_, static_cast<VnicId>(fixed.id + 1));
    members_.add(fixed.id, fixed.vlan, !fixed.anti_spoofing);
    learning_ports_ += !fixed.anti_spoofing;
    if (fixed.mac != 0)
        macs_.set_static(mac_key(fixed.mac, fixed.vlan), fixed.id);
    update_unknown();
    if (fixed.owner != worker_)
        return;
    delivery_.change(path, now);
    if (uplink_)
        uplink_->add(path, now);
    if (feedback_)
        feedback_->add(path);
    if (requests_)
        requests_->add(path, now);
}

void Forwarder::change(VnicPath& path, Nanos now) {
    delivery_.change(path, now);
    if (uplink_)
        uplink_->change(path, now);
    if (feedback_)
        feedback_->change(path);
    if (requests_)
        requests_->change(path, now);
}

void Forwarder::remove(VnicPath& path, Nanos now) {
    const VnicFixed& fixed = path.fixed;
    remove_from_floods(path);
    delivery_.remove(path);
    directory_[fixed.id] = nullptr;
    learning_ports_ -= !fixed.anti_spoofing;
    vnics_away_ -= away_[fixed.id];
    away_[fixed.id] = false;
    macs_.remove(mac_key(fixed.mac, fixed.vlan));
    macs_.forget(fixed.id);
    update_unknown();
    if (fixed.owner != worker_)
        return;
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

void Forwarder::on_mac_update(const MacUpdate& update, Nanos now) {
    const VnicPath* const at = update.destination == kToUplink ? nullptr : directory_[update.destination];
    if (update.destination == kToUplink || (at != nullptr && at->fixed.generation == update.generation))
        macs_.on_update(update, now);
}

/// With an uplink, and without a port here behind which unknown addresses may live, an unknown address is
/// behind the uplink: such frames are neither flooded nor bounded.
void Forwarder::update_unknown() {
    unknown_ = uplink_ && learning_ports_ == 0 ? kToUplink : kToAll;
}

/// A VM that is not connected may have moved to another host, or behind another port: frames to it then go
/// where any unknown address is. Where such frames would go nowhere, the vNIC keeps its address, and counts
/// them.
void Forwarder::look_for_vms() {
    constexpr unsigned kLooks = 16;
    const bool elsewhere = uplink_ || learning_ports_ != 0;
    for (unsigned i = 0; i < std::min<unsigned>(kLooks, ids_end_); ++i) {
        next_looked_at_ = static_cast<VnicId>(next_looked_at_ + 1 < ids_end_ ? next_looked_at_ + 1 : 0);
        VnicPath* const path = directory_[next_looked_at_];
        if (path == nullptr || path->fixed.mac == 0)
            continue;
        const bool away = elsewhere && !path->fixed.port->up();
        if (away != away_[path->fixed.id])
            set_away(*path, away);
    }
}

void Forwarder::set_away(VnicPath& path, bool away) {
    const VnicFixed& fixed = path.fixed;
    away_[fixed.id] = away;
    if (away)
        ++vnics_away_;
    else
        --vnics_away_;
    const MacKey key = mac_key(fixed.mac, fixed.vlan);
    if (away)
        macs_.give_away(key);
    else
        macs_.set_static(key, fixed.id);
}

void Forwarder::housekeeping(Nanos now) {
    macs_.age(now);
    look_for_vms();
    if (uplink_)
        uplink_->sweep_limits(now);
    if (requests_)
        requests_->housekeeping(now);
}

void Forwarder::read(VnicId vnic, VnicStats& into) const {
    into = directory_[vnic]->stats;
    into.learned = directory_[vnic]->guard.learned();
    if (uplink_)
        into.limiters = uplink_->limiters(vnic);
    if (feedback_) {
        const EndpointReading reading = feedback_->read(vnic);
        into.received_rate = reading.received;
        into.receive_capacity = reading.capacity;
        into.advertised_rate = reading.advertised;
    }
}

void Forwarder::read(WorkerSnapshot& into) const {
    into.handoff = delivery_.handoff;
    into.mac_entries = macs_.size();
    if (uplink_) {
        into.uplink = uplink_->stats;
        into.uplink_capacity = uplink_->capacity();
    }
    if (feedback_) {
        into.feedback = feedback_->stats;
        into.feedback.limiters = uplink_->limiters();
    }
}

}  // namespace weir
