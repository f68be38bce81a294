// history_json.h - the past of a vNIC around one moment, and events, as JSON. docs/operations.md has the
// keys. Source: docs/design.md 5.3. Units: in the keys; times in Unix seconds. Threads: any (pure).
//
// The history has the times of a monotonic clock. They become Unix times with the distance between the two
// clocks at the moment of the answer, so that answers agree with a clock that was set meanwhile.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "vswitch/agent/switch_control.h"

namespace weir {

/// The time from..until on the history's clock.
struct AskedTime {
    Nanos from = 0;
    Nanos until = 0;
};

/// The second of the history that shares most time with the asked one, the seconds around it, its samples if
/// they are in the last ten seconds, and the bucket that held the vNIC back with the time since when.
/// @return null: the history has no such second
[[nodiscard]] nlohmann::json why_at_json(const VnicTrack& track, const AskedTime& asked,
                                         const SwitchControl::Moment& moment);
/// "2026-11-27 10:00:00 UTC to 2026-11-27 10:59:59 UTC"; "nothing yet".
[[nodiscard]] std::string range_text(const VnicHistory& history, const SwitchControl::Moment& moment);
/// {"events": [...], "last": number of the last event}
/// @param from Unix time, ns  @param vnic empty: of all and of the switch
[[nodiscard]] nlohmann::json events_json(const EventLog& events, std::uint64_t from, std::uint64_t after,
                                         const std::string& vnic, const SwitchControl::Moment& moment);

}  // namespace weir
