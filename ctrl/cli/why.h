// why.h - weirctl why: the buckets that held a vNIC back between two readings of the switch.
// Units: named beside each bucket. Threads: any (pure functions).
//
// Each bucket on the path of the vNIC's frames and requests shows the share of time during which it could not
// pay, what was used of it and its limit. The bucket that blocked longest is the answer.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "ctrl/cli/table.h"

namespace weir::cli {

/// Two replies to `why` as seconds, accounting, isolation, vnic, state, offered_bps, delivered_bps,
/// limit_bps, limit_pps, limiters (destinations that advertise a rate), destination_congested_per_second, and
///   held_back_by: bucket, appliance and blocked_percent of the bucket that blocked longest; null when none
///   did; buckets[]: bucket ("limit", "uplink", "buffers", "encryption" of the vNIC; "appliance", "uplink",
///     "downlink", "cycles", "window" of an appliance), appliance (or null), blocked_percent, unit, used,
///     limit (null: none or unknown), others[]: vnic and used, the largest first.
[[nodiscard]] nlohmann::json why_sample(const nlohmann::json& before, const nlohmann::json& after);

/// The bucket that blocked longest, a table of all buckets, and a sentence on each that blocked.
[[nodiscard]] std::string why_text(const nlohmann::json& sample, const Terminal& terminal);

}  // namespace weir::cli
