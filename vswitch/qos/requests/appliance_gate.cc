// appliance_gate.cc - ApplianceGate: a link without a rate whose packets are requests, taken one at a time.
#include "vswitch/qos/requests/appliance_gate.h"

#include <array>

namespace weir {

ApplianceGate::ApplianceGate(const Setup& setup)
    : scheduler_(make_scheduler(*setup.scheduler, {.classes = setup.flows,
                                                   .queue_packets = kAnnounced,
                                                   .wheel = setup.wheel,
                                                   .quantum = 1U << kScaleBits})),
      announced_(setup.flows) {
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
    std::uint8_t& announced = announced_[flow];
    const PacketRef entry{&announced, now, scaled(tokens), 1, 0};
    if (announced == kAnnounced || !scheduler_->enqueue(flow, entry, now))
        return false;
    ++announced;
    return true;
}

void ApplianceGate::withdraw(Flow flow) {
    scheduler_->drain(flow, [](const PacketRef&) {});
    announced_[flow] = 0;
    if (chosen_ && chosen_->flow == flow)
        chosen_.reset();
}

std::optional<ApplianceGate::Grant> ApplianceGate::next(Nanos now) {
    if (!chosen_) {
        std::array<PacketRef, 1> first;
        if (scheduler_->dequeue_burst(now, first) == 0)
            return std::nullopt;
        const auto* const announced = static_cast<const std::uint8_t*>(first[0].packet);
        chosen_ = {static_cast<Flow>(announced - announced_.data()), first[0].bytes >> kScaleBits};
    }
    if (!fits(chosen_->tokens))
        return std::nullopt;
    const Grant grant = *chosen_;
    chosen_.reset();
    --announced_[grant.flow];
    outstanding_ += grant.tokens;
    return grant;
}

}  // namespace weir
