// stages.cc - Stages: construction, and vNICs that come, change and go.
#include "vswitch/datapath/loop/stages.h"

#include <rte_mbuf.h>

#include <algorithm>

namespace weir {
namespace {

std::optional<TunnelPath> make_tunnels(const Stages::Setup& setup, CaptureTap& tap) {
    if (setup.tunnels.empty())
        return std::nullopt;
    return std::optional<TunnelPath>(std::in_place, TunnelPath::Setup{.tunnels = setup.tunnels,
                                                                      .engines = setup.engines,
                                                                      .worker = setup.worker,
                                                                      .inboxes = setup.inboxes,
                                                                      .tap = tap});
}

/// With feedback or a controller there may be destination limits; without either the tables stay minimal.
DestinationLimits::Profile limits_of(const Stages::UplinkPart& part) {
    if (part.feedback != nullptr)
        return part.feedback->flows;
    DestinationLimits::Profile profile;
    profile.line_rate = std::max<std::uint64_t>(part.allocated_below, 2);
    profile.rate_min = std::min(profile.rate_min, profile.line_rate);
    return profile;
}

std::optional<Uplink> make_uplink(const Stages::Setup& setup, TimingWheel& wheel, const VnicDirectory& vnics,
                                  TunnelPath* tunnels, CycleBill& bill, CaptureTap& tap) {
    if (!setup.uplink)
        return std::nullopt;
    const Stages::UplinkPart& part = *setup.uplink;
    const bool limits_destinations = part.feedback != nullptr || part.allocated_below != 0;
    return std::optional<Uplink>(
        std::in_place,
        Uplink::Setup{.device = part.device,
                      .queue = setup.worker,
                      .pool = setup.pool,
                      .wakeups = setup.wakeups,
                      .directory = vnics.by_id(),
                      .overhead_bytes = setup.overhead_bytes,
                      .mtu = part.mtu,
                      .egress = {.scheduler = part.scheduler,
                                 .wheel = &wheel,
                                 .vnics = limits::kVnicsMax,
                                 .vnic_wheel_id = wheel_id::kClasses,
                                 .destinations = limits_destinations ? limits::kDestinationLimitsMax : 0,
                                 .destination_wheel_id = wheel_id::kDestinations,
                                 .limits = limits_of(part)},
                      .tap = tap,
                      .tunnels = tunnels,
                      .bill = &bill});
}

std::optional<RateFeedback> make_feedback(const Stages::Setup& setup, std::optional<Uplink>& uplink,
                                          VnicDirectory& vnics) {
    if (!uplink || setup.uplink->feedback == nullptr)
        return std::nullopt;
    return std::optional<RateFeedback>(
        std::in_place,
        RateFeedback::Setup{setup.worker, setup.pool, *uplink, vnics.macs(), vnics.by_id(), setup.inboxes},
        *setup.uplink->feedback);
}

std::optional<RequestPath> make_requests(const Stages::Setup& setup, TimingWheel& wheel, CaptureTap& tap) {
    if (setup.appliances == nullptr || setup.appliances->empty())
        return std::nullopt;
    return std::optional<RequestPath>(std::in_place,
                                      RequestPath::Setup{.appliances = *setup.appliances,
                                                         .pool = setup.pool,
                                                         .key = setup.connection_key,
                                                         .worker = setup.worker,
                                                         .shared = setup.inboxes.size() > 1,
                                                         .wheel = wheel,
                                                         .wheel_id = wheel_id::kRequests,
                                                         .overhead_bytes = setup.overhead_bytes,
                                                         .tap = tap});
}

template <class Stage>
Stage* pointer_to(std::optional<Stage>& stage) {
    return stage ? &*stage : nullptr;
}

}  // namespace

Stages::Stages(const Setup& setup, TimingWheel& wheel, CycleBill& bill)
    : vnics({.worker = setup.worker,
             .mac_aging = setup.mac_aging,
             .shared = setup.inboxes.size() > 1,
             .has_uplink = setup.uplink.has_value()}),
      tunnels(make_tunnels(setup, tap)),
      uplink(make_uplink(setup, wheel, vnics, pointer_to(tunnels), bill, tap)),
      feedback(make_feedback(setup, uplink, vnics)),
      requests(make_requests(setup, wheel, tap)),
      delivery({.worker = setup.worker,
                .pool = setup.pool,
                .inboxes = setup.inboxes,
                .bill = bill,
                .tap = tap,
                .directory = vnics.by_id(),
                .source_key = setup.source_key,
                .line_rate = feedback ? setup.uplink->feedback->receiver.line_rate : 0,
                .requests = pointer_to(requests)}),
      floods({.worker = setup.worker,
              .pool = setup.pool,
              .outside_pps = setup.flood_pps,
              .vnics = vnics,
              .tunnels = pointer_to(tunnels),
              .uplink = pointer_to(uplink),
              .delivery = delivery,
              .bill = bill,
              .tap = tap}),
      worker_(setup.worker) {
    if (uplink)
        uplink->egress().set_capacity(setup.uplink->out.allocation(worker_),
                                      setup.uplink->out.reservable(worker_), 0);
    if (feedback)
        feedback->set_capacity(setup.uplink->in.allocation(worker_));
}

void Stages::add(VnicPath& path, Nanos now) {
    vnics.add(path);
    floods.add(path);
    if (path.fixed.owner == worker_)
        own(path, now);
}

void Stages::own(VnicPath& path, Nanos now) {
    delivery.waiting().change(path, now);
    if (uplink)
        uplink->add(path, now);
    if (feedback)
        feedback->add(path);
    if (requests)
        requests->add(path, now);
}

void Stages::change(VnicPath& path, Nanos now) {
    delivery.waiting().change(path, now);
    if (uplink)
        uplink->change(path, now);
    if (feedback)
        feedback->change(path);
    if (requests)
        requests->change(path, now);
}

void Stages::remove(VnicPath& path, Nanos now) {
    floods.remove(path);
    delivery.waiting().remove(path);
    vnics.remove(path);
    if (path.fixed.owner == worker_)
        disown(path, now);
}

void Stages::disown(VnicPath& path, Nanos now) {
    if (feedback)
        feedback->remove(path);
    if (uplink)
        uplink->remove(path, now);
    const auto drop = [&](const PacketRef& ref) {
        path.stats.from_vm.queued.remove(1, ref.bytes);
        tap.drop(path.stats.from_vm, CapturePoint::from_vm(path.fixed.id), static_cast<rte_mbuf*>(ref.packet),
                 ref.bytes, DropReason::kVnicRemoved, now - ref.enqueued);
    };
    if (requests)
        requests->remove(path, now, drop);
    for (; !path.local.empty(); path.local.pop())
        drop(path.local.front());
}

void Stages::give(VnicPath& path, Nanos now) {
    delivery.waiting().forget(path.fixed.id);
    disown(path, now);
}

void Stages::take(VnicPath& path, Stages& from, Nanos now) {
    delivery.waiting().take_limit(path.fixed.id, from.delivery.waiting());
    if (feedback)
        feedback->advertise_behind(*from.feedback);
    own(path, now);
}

void Stages::housekeeping(Nanos now) {
    vnics.housekeeping(now);
    if (uplink)
        uplink->egress().sweep(now);
    if (requests)
        requests->housekeeping(now);
}

unsigned Stages::serve_waiting(Nanos now) {
    const unsigned moved = delivery.waiting().serve(now);
    if (feedback)
        for (const VnicId vnic : delivery.waiting().measured())
            feedback->change(vnics.at(vnic));
    delivery.waiting().forget_free();
    return moved;
}

}  // namespace weir
