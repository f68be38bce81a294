// top.h - weirctl top: rates between two readings of the switch's counters, and the live table of them.
// Threads: any (pure functions).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "ctrl/cli/table.h"

namespace weir::cli {

/// Replies to `status` and `vnic.list`, read one after the other.
struct Snapshot {
    nlohmann::json status;
    nlohmann::json vnics;
};

/// Rates between two snapshots that are `seconds` apart (> 0).
///   vnics[]: offered_bps, delivered_bps (from the VM), received_bps (to the VM), offered_pps, delivered_pps,
///     reservation_bps, limit_bps, limit_pps, fulfillment (0 to 1), held_back_percent (of the time),
///     queue_delay_ns, cpu_percent (of one core), drops_per_second by reason;
///   workers[]: busy_percent, mean_burst, cycles_per_packet;
///   uplink: sent_bps, received_bps, capacity_bps.
/// A value that cannot be computed is null.
[[nodiscard]] nlohmann::json top_sample(const Snapshot& before, const Snapshot& after, double seconds);

/// The sample as one screen; vNICs that do not fit the terminal's rows are counted in the last line.
[[nodiscard]] std::string top_text(const nlohmann::json& sample, const Terminal& terminal);

}  // namespace weir::cli
