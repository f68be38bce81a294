// stall_score.h - for how long guests' memory has made workers wait, from samples, and which guest that ends.
// Source: docs/algorithms.md 3.20. Units: ns. Threads: one owner.
//
// A sample of a worker is one period in which it waited at a guest's rings: it slept in the kernel, or it did
// little but have pages cleared for it. So many of them within a second and the guest is barred: for a minute
// the first time, twice as long each time after, an hour at most. An hour without is a first time again.
//
// Example: a front-end of 3 GiB punches holes into its memory, and the worker sleeps for 284 ms. After 10 ms
// of it the guest is barred; the sleep itself nothing can end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>

#include "common/clock.h"

namespace weir {

/// @tparam Guest a key
template <class Guest>
class StallScore {
  public:
    enum class Kind : std::uint8_t {
        kSleeps,  ///< in the kernel, without being woken by anything but it
        kFaults,  ///< most of its time was the kernel's, for pages that were not there
    };
    static constexpr Nanos kWindow = kNanosPerSec;
    static constexpr Nanos kSleepMost = 10'000'000;
    static constexpr Nanos kFaultsMost = 200'000'000;
    static constexpr Nanos kFirstBar = 60 * kNanosPerSec;
    static constexpr Nanos kLastBar = 3600 * kNanosPerSec;

    struct Verdict {
        Nanos waited = 0;  ///< within the second
        Nanos bar = 0;     ///< for so long; 0: it is not barred
    };
    Verdict add(const Guest& guest, Kind kind, Nanos period, Nanos now) {
        State& state = states_[guest];
        if (now - state.began >= kWindow)
            state = {.began = now, .bar = state.bar, .barred_until = state.barred_until};
        Nanos& waited = kind == Kind::kSleeps ? state.slept : state.faulted;
        waited += period;
        if (now < state.barred_until || waited < (kind == Kind::kSleeps ? kSleepMost : kFaultsMost))
            return {waited, 0};
        const bool first = state.bar == 0 || now - state.barred_until >= kLastBar;
        state.bar = first ? kFirstBar : std::min(2 * state.bar, kLastBar);
        state.barred_until = now + state.bar;
        const Verdict verdict{waited, state.bar};
        waited = 0;
        return verdict;
    }
    void forget(const Guest& guest) { states_.erase(guest); }

  private:
    struct State {
        Nanos began = 0;  ///< of the second
        Nanos slept = 0;
        Nanos faulted = 0;
        Nanos bar = 0;  ///< the last one
        Nanos barred_until = 0;
    };
    std::map<Guest, State> states_;
};

}  // namespace weir
