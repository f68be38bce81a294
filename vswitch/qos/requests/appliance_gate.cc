// appliance_gate.cc - ApplianceGate: a link without a rate whose packets are requests, taken one at a time.
#include "vswitch/qos/requests/appliance_gate.h"

#include <array>

namespace weir {

ApplianceGate::ApplianceGate(const Setup& setup)
    : scheduler_(make_scheduler(*setup.scheduler, {.classes = setup.flows,
                                                   .queue_packets = kAnnounced,
                                                   .wheel = setup.wheel,
                                                   .quantum = 1U << kScaleBits})),
      waiting_(setup.flows) {
    scheduler_->set_capacity(UINT64_MAX, 0);
}

ClassProfile ApplianceGate::to_class(const GateProfile& profile) {
    constexpr std::uint64_t kMost = UINT64_MAX >> kScaleBits;
    return {.reservation = std::min(profile.reservation, kMost) << kScaleBits,
            .reservation_burst = std::min(profile.burst, kMost) << kScaleBits,
            .shares = profile.shares};
}

void ApplianceGate::open(Flow flow, const GateProfile& profile, Nanos now) {
    scheduler_->add(flow, to_class(profile), nullptr, now);
}

void ApplianceGate::change(Flow flow, const GateProfile& profile, Nanos now) {
    scheduler_->change(flow, to_class(profile), now);
}

void ApplianceGate::close(Flow flow, Nanos now) {
    withdraw(flow);
    scheduler_->remove(flow, now);
}

bool ApplianceGate::announce(Flow flow, std::uint32_t tokens, Nanos now) {
    Waiting& waiting = waiting_[flow];
    if (waiting.announced == kAnnounced)
        return false;
    const PacketRef entry{&waiting, now, scaled(tokens), 1, 0};
    if (!scheduler_->enqueue(flow, entry, now))
        return false;
    waiting = {static_cast<std::uint8_t>(waiting.announced + 1), tokens};
    return true;
}

void ApplianceGate::withdraw(Flow flow) {
    scheduler_->drain(flow, [](const PacketRef&) {});
    waiting_[flow].announced = 0;
    if (chosen_ && chosen_->flow == flow)
        chosen_.reset();
}

std::optional<ApplianceGate::Grant> ApplianceGate::next(Nanos now) {
    if (!chosen_) {
        std::array<PacketRef, 1> first;
        if (scheduler_->dequeue_burst(now, first) == 0)
            return std::nullopt;
        auto* waiting = static_cast<Waiting*>(first[0].packet);
        chosen_ = {static_cast<Flow>(waiting - waiting_.data()), first[0].bytes >> kScaleBits};
    }
    if (!fits(chosen_->tokens))
        return std::nullopt;
    const Grant grant = *chosen_;
    chosen_.reset();
    --waiting_[grant.flow].announced;
    outstanding_ += grant.tokens;
    return grant;
}

}  // namespace weir
