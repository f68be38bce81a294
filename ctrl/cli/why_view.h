// why_view.h - what held a vNIC back between two readings of the switch: every bucket on its ways, the share
// of time, and who else used the same; and that in words. Pure: JSON in (the command socket's answers to
// `why`), JSON or text out; missing members print as "-". Threads: any.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "ctrl/cli/terminal.h"

namespace weir::cli {

/// seconds, accounting, isolation, vnic, state, offered_bps, delivered_bps, limit_bps, limit_pps, limiters
/// (destinations that have asked for a rate), destination_congested_per_second, held_back_by (the bucket that
/// blocked longest, or null), and buckets: bucket (limit, uplink, buffers; of an appliance: appliance,
/// uplink, downlink), appliance (or null), blocked_percent, unit, used, limit (null: none or unknown),
/// others: [{vnic, used}], most first.
[[nodiscard]] nlohmann::json why_sample(const nlohmann::json& before, const nlohmann::json& after);

[[nodiscard]] std::string why_text(const nlohmann::json& sample, const Terminal& terminal);

}  // namespace weir::cli
