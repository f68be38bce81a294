// schedule.cc - waves of 8 to 30 intervals with one to four faults each.
#include "test/ctrl/faults/schedule.h"

#include <algorithm>
#include <array>

namespace weir::faults {
namespace {

constexpr std::int32_t kYear = 365;

PlannedFault draw_fault(Random32& random, const Plan& plan, std::uint32_t from, std::uint32_t end) {
    PlannedFault fault;
    fault.kind = static_cast<FaultKind>(random() % kFaultKinds);
    fault.from = draw(random, from, end - 2);
    fault.to = draw(random, fault.from + 1, end);
    fault.host = random() % static_cast<std::uint32_t>(plan.config.hosts.size());
    switch (fault.kind) {
        case FaultKind::kLoss:
        case FaultKind::kRepeat:
            fault.amount = static_cast<std::int32_t>(draw(random, 5, 60));
            break;
        case FaultKind::kDelay:
            fault.amount = static_cast<std::int32_t>(draw(random, 100, 1'900));
            break;
        case FaultKind::kControllerClock:
        case FaultKind::kHostClock:
            fault.amount = one_in(random, 2) ? kYear : -kYear;
            break;
        case FaultKind::kKillController:
        case FaultKind::kKillSwitch:
        case FaultKind::kLoseStore:
            fault.to = std::min(end, fault.from + draw(random, 1, 6));
            break;
        case FaultKind::kVnicLeaves:
            fault.amount = static_cast<std::int32_t>(random() % plan.vnics.size());
            fault.host = plan.vnics[static_cast<std::size_t>(fault.amount)].home;
            break;
        default:
            break;
    }
    return fault;
}

/// A store that is lost beside a mistake of the controller's clock leaves switches with a larger epoch: an
/// operator mends that (`--epoch-above`). A seed has one of both.
void keep_stores_of_wrong_clocks(Schedule& schedule) {
    const bool was_wrong = std::ranges::any_of(
        schedule.faults, [](const PlannedFault& fault) { return fault.kind == FaultKind::kControllerClock; });
    for (PlannedFault& fault : schedule.faults)
        if (fault.kind == FaultKind::kLoseStore && was_wrong)
            fault.kind = FaultKind::kKillController;
}

}  // namespace

const char* name_of(FaultKind kind) {
    constexpr std::array<const char*, kFaultKinds> kNames{"loss",
                                                          "repeat",
                                                          "delay",
                                                          "cut up",
                                                          "cut down",
                                                          "cut both ways",
                                                          "kill switch",
                                                          "reconnect",
                                                          "kill controller",
                                                          "lose store",
                                                          "full store",
                                                          "broken store",
                                                          "controller's clock",
                                                          "host's clock",
                                                          "liar",
                                                          "vNIC leaves"};
    return kNames[static_cast<std::size_t>(kind)];
}

Schedule draw_schedule(Random32& random, const Plan& plan, std::uint32_t intervals) {
    constexpr std::uint32_t kBegin = 6;  // everything starts, and settles
    Schedule schedule;
    std::uint32_t at = kBegin;
    while (at + kQuiet + 8 <= intervals) {
        const std::uint32_t room = intervals - at - kQuiet;
        std::uint32_t length = std::min(draw(random, 8, 30), room);
        if (room - length < kQuiet + 8)
            length = room;
        const std::uint32_t faults = draw(random, 1, 4);
        for (std::uint32_t i = 0; i < faults; ++i)
            schedule.faults.push_back(draw_fault(random, plan, at, at + length));
        at += length + kQuiet;
        schedule.settled.push_back(at - 1);
    }
    keep_stores_of_wrong_clocks(schedule);
    return schedule;
}

}  // namespace weir::faults
