// switch_history.h - the histories of all vNICs by name, and the events that follow from them.
// Source: docs/design.md 7. Units: bytes as accounted, packets, ns. Threads: one (agent).
//
// A vNIC that is removed keeps its history for an hour, also when it is added again under its name.
//
//     SwitchHistory history(phase);
//     VnicTrack& track = history.begin("vm1", now);       // valid until end()
//     history.add(track, sample, at);                     // every millisecond
//     history.note_drops(track, stats, now);              // every second
//     history.end("vm1", now);
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>

#include "vswitch/agent/history/event_log.h"
#include "vswitch/agent/history/vnic_history.h"
#include "vswitch/base/stats.h"

namespace weir {

/// One vNIC's history, and the conditions of it that are events.
struct VnicTrack {
    VnicTrack(std::string vnic, Nanos phase) : name(std::move(vnic)), history(phase) {}

    /// Packets that were dropped for one reason.
    struct Drops {
        std::uint64_t before = 0;   ///< counter at the last look
        std::uint64_t packets = 0;  ///< of the episode
        Episode episode;
    };

    std::string name;
    VnicHistory history;
    Episode held;
    Nanos held_since = 0;
    std::array<Drops, kDropReasons> drops{};
    bool counts_drops = false;     ///< the counters of `drops` are of this vNIC
    std::optional<Nanos> removed;  ///< when
};

class SwitchHistory {
  public:
    /// A vNIC counts as held back in a second of which its ring was held back half or more.
    static constexpr unsigned kHeldPercent = 50;
    /// For this long, and of so many vNICs, the histories of removed ones are kept.
    static constexpr Nanos kKeptFor = 3'600 * kNanosPerSec;
    static constexpr std::size_t kKeptMax = 64;

    /// @param phase Unix time, ns, when the clock of the samples was 0
    explicit SwitchHistory(Nanos phase) : phase_(phase) {}

    /// The vNIC was added.
    VnicTrack& begin(const std::string& vnic, Nanos now);
    /// The vNIC was removed.
    void end(const std::string& vnic, Nanos now);
    void add(VnicTrack& track, const VnicSample& sample, Nanos at);
    /// @param stats later than those of the call before
    void note_drops(VnicTrack& track, const VnicStats& stats, Nanos now);

    /// nullptr: the switch has none of this name.
    [[nodiscard]] const VnicTrack* find(const std::string& vnic) const;

    EventLog events;

  private:
    void note_held(VnicTrack& track);
    void forget(Nanos now);

    Nanos phase_;
    std::map<std::string, VnicTrack> tracks_;
};

}  // namespace weir
