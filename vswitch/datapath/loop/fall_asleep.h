// fall_asleep.h - a worker falls asleep so that no frame waits for it: the order of the steps.
// Source: docs/algorithms.md 3.15. Units: none. Threads: owning worker.
//
// First other threads learn that the worker lies down, then guests are asked for kicks and devices for
// interrupts, and then the worker looks at all of it once more. A frame that came before its sender could
// know is found by the look; the sender of a later one wakes the worker.
//
// Example: a guest posts a frame and reads the wish for kicks just before it is written. The guest does not
// kick, and the look finds the frame.
#pragma once

#include "vswitch/ports/port.h"

namespace weir {

/// @tparam Sleeper lie_down(), ask_for_wakes() -> Port::Wake, finds_work() -> bool
/// @return how a frame wakes the worker; Port::Wake::kReady: there is work, and it must not sleep
template <class Sleeper>
[[nodiscard]] Port::Wake fall_asleep(Sleeper& sleeper) {
    sleeper.lie_down();
    const Port::Wake wake = sleeper.ask_for_wakes();
    if (wake != Port::Wake::kWill)
        return wake;  // a nap ends by itself
    return sleeper.finds_work() ? Port::Wake::kReady : wake;
}

}  // namespace weir
