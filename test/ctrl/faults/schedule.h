// schedule.h - which faults happen when: waves of them, each followed by quiet intervals.
// Units: intervals of the harness, from 0. Threads: tests only.
#pragma once

#include <cstdint>
#include <vector>

#include "test/ctrl/faults/plan.h"

namespace weir::faults {

enum class FaultKind : std::uint8_t {
    kLoss,             ///< of `amount` percent of all messages
    kRepeat,           ///< likewise
    kDelay,            ///< of up to `amount` ms
    kCutUp,            ///< no message of the host arrives at the controller
    kCutDown,          ///< none arrives at the host
    kCutBoth,          ///
    kKillSwitch,       ///< it is started again at the end
    kReconnect,        ///< the host's connection ends, and another one begins
    kKillController,   ///< it is started again at the end, with its store
    kLoseStore,        ///< likewise, with an empty store
    kFullStore,        ///
    kBrokenStore,      ///
    kControllerClock,  ///< the controller's Unix time is `amount` days wrong, also when it starts meanwhile
    kHostClock,        ///< the host's is, which counts when it starts: at the beginning and at the end
    kLiar,             ///< the host sends lies besides its own messages; its switch is replaced at the end
    kVnicLeaves,       ///< vNIC `amount` of the host is away
};
inline constexpr std::size_t kFaultKinds = 16;
[[nodiscard]] const char* name_of(FaultKind kind);

struct PlannedFault {
    FaultKind kind = FaultKind::kLoss;
    std::uint32_t from = 0;
    std::uint32_t to = 0;  ///< the first interval without it
    std::uint32_t host = kNone;
    std::int32_t amount = 0;
};

struct Schedule {
    std::vector<PlannedFault> faults;
    std::vector<std::uint32_t> settled;  ///< intervals at whose ends everything must be as without faults
};

/// Intervals without faults at the end of each wave.
inline constexpr std::uint32_t kQuiet = 12;

[[nodiscard]] Schedule draw_schedule(Random32& random, const Plan& plan, std::uint32_t intervals);

}  // namespace weir::faults
