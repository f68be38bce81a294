// pool_host.cc - PoolHost: from reservations, limits and shares to the gate's profiles, and requests that the
// gate releases.
#include "bench/sim/pools/pool_host.h"

#include <algorithm>
#include <cmath>

namespace weir::sim {
namespace {

constexpr double kBurstPart = 0.05;  // of a second of the reservation
constexpr double kReservedBurstLeast = 2;

std::uint64_t whole(double value) {
    return std::isfinite(value) ? static_cast<std::uint64_t>(std::llround(value)) : UINT64_MAX;
}

}  // namespace

PoolHost::PoolHost(Engine& engine, const SchedulerEntry& scheduler, std::uint32_t vms)
    : engine_(engine), wheel_(vms + 1), gate_({.scheduler = &scheduler, .flows = vms, .wheel = &wheel_}) {}

void PoolHost::add(PoolVm& vm) {
    gate_.open(static_cast<ApplianceGate::Flow>(vms_.size()), {}, engine_.now());
    vms_.push_back(&vm);
}

void PoolHost::set_window(std::uint64_t tokens) {
    gate_.set_window(tokens);
    pump();
}

void PoolHost::set_promise(std::size_t vm, double reservation, double limit, double shares) {
    const GateProfile profile{.reservation = whole(reservation),
                              .burst = whole(std::max(kReservedBurstLeast, reservation * kBurstPart)),
                              .shares = static_cast<std::uint32_t>(std::clamp(shares, 1.0, 10'000.0))};
    gate_.change(static_cast<ApplianceGate::Flow>(vm), profile, engine_.now());
    vms_[vm]->set_limit(whole(limit));
}

void PoolHost::pump() {
    for (bool more = true; more;) {
        for (std::size_t i = 0; i < vms_.size(); ++i)
            vms_[i]->offer(gate_, static_cast<ApplianceGate::Flow>(i));
        const auto grant = gate_.next(engine_.now());
        more = grant.has_value();
        if (more)
            vms_[grant->flow]->send();
    }
}

void PoolHost::finish(std::uint32_t tokens) {
    gate_.finish(tokens);
    pump();
}

}  // namespace weir::sim
