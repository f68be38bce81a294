// world_faults.cc - beginning and ending the faults of the schedule, and the behavior of lines meanwhile.
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "test/ctrl/faults/world.h"

namespace weir::faults {
namespace {

bool is_of_host(FaultKind kind) {
    switch (kind) {
        case FaultKind::kLoss:
        case FaultKind::kRepeat:
        case FaultKind::kDelay:
        case FaultKind::kKillController:
        case FaultKind::kLoseStore:
        case FaultKind::kFullStore:
        case FaultKind::kBrokenStore:
        case FaultKind::kControllerClock:
            return false;
        default:
            return true;
    }
}

}  // namespace

bool World::is_active(FaultKind kind, std::uint32_t host) const {
    return std::ranges::any_of(schedule_.faults, [&](const PlannedFault& fault) {
        return fault.kind == kind && (host == kNone || fault.host == host) && next_interval_ >= fault.from &&
               next_interval_ < fault.to;
    });
}

/// The largest amount of the active faults of this kind, by size; 0: none is active.
std::int64_t World::amount_of(FaultKind kind, std::uint32_t host) const {
    std::int64_t most = 0;
    for (const PlannedFault& fault : schedule_.faults)
        if (fault.kind == kind && (host == kNone || fault.host == host) && next_interval_ >= fault.from &&
            next_interval_ < fault.to && std::abs(fault.amount) > std::abs(most))
            most = fault.amount;
    return most;
}

LineFaults World::faults_of(std::uint32_t host, bool is_up) const {
    constexpr Nanos kMilli = 1'000'000;
    return {.loss = static_cast<unsigned>(amount_of(FaultKind::kLoss)),
            .repeat = static_cast<unsigned>(amount_of(FaultKind::kRepeat)),
            .delay = static_cast<Nanos>(amount_of(FaultKind::kDelay)) * kMilli,
            .is_cut = is_active(FaultKind::kCutBoth, host) ||
                      is_active(is_up ? FaultKind::kCutUp : FaultKind::kCutDown, host)};
}

void World::begin(const PlannedFault& fault) {
    switch (fault.kind) {
        case FaultKind::kKillSwitch:
        case FaultKind::kHostClock:
            if (hosts_[fault.host].is_running())
                hosts_[fault.host].kill();
            break;
        case FaultKind::kKillController:
            end_controller();
            break;
        case FaultKind::kLoseStore:
            end_controller();
            ++stores_;
            for (Host& host : hosts_)
                host.make_uncertain();
            break;
        case FaultKind::kLiar:
            has_lied_[fault.host] = 1;
            break;
        case FaultKind::kVnicLeaves:
            hosts_[fault.host].set_present(static_cast<std::uint32_t>(fault.amount), false);
            break;
        default:
            break;
    }
}

void World::end(const PlannedFault& fault) {
    switch (fault.kind) {
        case FaultKind::kHostClock:  // starts with the right time
        case FaultKind::kLiar:
            if (hosts_[fault.host].is_running())
                hosts_[fault.host].kill();
            break;
        case FaultKind::kReconnect:
            ++connections_[fault.host];
            up_[fault.host].clear();
            down_[fault.host].clear();
            break;
        case FaultKind::kVnicLeaves:
            hosts_[fault.host].set_present(static_cast<std::uint32_t>(fault.amount), true);
            break;
        default:
            break;
    }
}

void World::apply_faults() {
    for (const PlannedFault& fault : schedule_.faults) {
        if (fault.to == next_interval_)
            end(fault);
        if (fault.from == next_interval_)
            begin(fault);
    }
    // The controller reads its clock when an interval ends: the first one of a right clock counts too.
    const bool is_wrong_now = is_active(FaultKind::kControllerClock);
    const bool is_time_wrong = std::exchange(was_time_wrong_, is_wrong_now) || is_wrong_now;
    for (std::uint32_t host = 0; host < hosts_.size(); ++host) {
        hosts_[host].set_certain(!is_time_wrong && !is_active(FaultKind::kLiar, host));
        if (hosts_[host].is_running() || is_active(FaultKind::kKillSwitch, host))
            continue;
        start_switch(host);
        ++connections_[host];
        up_[host].clear();
        down_[host].clear();
    }
    set_disk_fault(is_active(FaultKind::kFullStore)     ? DiskFault::kFull
                   : is_active(FaultKind::kBrokenStore) ? DiskFault::kBroken
                                                        : DiskFault::kSound);
    if (controller_ == nullptr && !is_active(FaultKind::kKillController) && !is_active(FaultKind::kLoseStore))
        start_controller();
    draw_demands();
}

/// Demands change now and then, but for the last intervals before all is judged.
void World::draw_demands() {
    constexpr std::uint32_t kStay = 10;
    const bool is_judged_soon = std::ranges::any_of(schedule_.settled, [this](std::uint32_t at) {
        return next_interval_ + kStay > at && next_interval_ <= at;
    });
    if (is_judged_soon)
        return;
    for (Host& host : hosts_)
        for (HostFlow& flow : host.flows())
            if (one_in(random_, 6))
                flow.asks = one_in(random_, 3)
                                ? 0
                                : flow.planned->most * static_cast<double>(draw(random_, 1, 100)) / 100;
}

std::string World::describe() const {
    std::string out;
    for (const PlannedFault& fault : schedule_.faults) {
        out +=
            "  " + std::to_string(fault.from) + ".." + std::to_string(fault.to) + ' ' + name_of(fault.kind);
        if (is_of_host(fault.kind))
            out += " of " + hosts_[fault.host].name();
        if (fault.amount != 0)
            out += ' ' + std::to_string(fault.amount);
        out += '\n';
    }
    return out;
}

}  // namespace weir::faults
