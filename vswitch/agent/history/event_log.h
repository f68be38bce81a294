// event_log.h - the last events of the switch: vNICs, links, the controller, drops, held-back time.
// Source: docs/design.md 7. Units: ns. Threads: one (agent).
//
// 1,024 events at most, and of one vNIC or other part 128, so that a guest that comes and goes all the time
// displaces its own events only. Texts are cut, so that the memory is bounded: some 400 KiB.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.h"

namespace weir {

enum class EventKind : std::uint8_t {
    kStarted,
    kAdded,
    kChanged,
    kRemoved,
    kMoved,
    kUp,
    kDown,
    kRingStopped,
    kFrontEndFault,
    kLinkLost,
    kLinkBack,
    kRefused,
    kServed,
    kGuaranteeEnded,
    kHeldBack,
    kHeldBackEnded,
    kDrops,
    kDropsEnded,
    kSession,
    kCount
};
/// In reports; never changes.
[[nodiscard]] const char* name_of(EventKind kind);

struct SwitchEvent {
    std::uint64_t number = 0;  ///< 1 is the first since the start
    Nanos at = 0;
    EventKind kind = EventKind::kStarted;
    std::string vnic;  ///< empty: of the switch itself
    const char* part;  ///< "vnic", "uplink", "controller" or "switch"
    std::string detail;
};

class EventLog {
  public:
    static constexpr std::size_t kEventsMax = 1'024;
    static constexpr std::size_t kEventsOfOneMax = 128;
    static constexpr std::size_t kDetailMax = 240;

    void add_of_vnic(Nanos at, const std::string& vnic, EventKind kind, const std::string& detail = "");
    /// @param part "uplink", "controller" or "switch"
    void add_of(const char* part, Nanos at, EventKind kind, const std::string& detail = "");

    /// Those with a higher number that began at `from` or later, in the order of their times.
    [[nodiscard]] std::vector<SwitchEvent> since(Nanos from, std::uint64_t number = 0) const;
    /// Of the last event; 0: there was none.
    [[nodiscard]] std::uint64_t last_number() const { return last_number_; }

  private:
    void add(SwitchEvent event);

    std::deque<SwitchEvent> events_;
    std::uint64_t last_number_ = 0;
};

/// A condition that comes and goes, as two events: it has ended when it did not hold for 10 s. So a condition
/// that holds every other second is one event and not many.
class Episode {
  public:
    static constexpr Nanos kQuiet = 10 * kNanosPerSec;
    enum class Change : std::uint8_t { kNone, kBegan, kEnded };

    /// @param until end of the time of which `holds` is known; later than before
    Change note(bool holds, Nanos until) {
        if (holds) {
            last_ = until;
            return std::exchange(is_on_, true) ? Change::kNone : Change::kBegan;
        }
        return is_on_ && until - last_ >= kQuiet ? end() : Change::kNone;
    }
    Change end() { return std::exchange(is_on_, false) ? Change::kEnded : Change::kNone; }
    /// When it held last.
    [[nodiscard]] Nanos last() const { return last_; }

  private:
    bool is_on_ = false;
    Nanos last_ = 0;
};

}  // namespace weir
