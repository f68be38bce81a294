// top_view.h - rates between two snapshots of the switch's counters, and the live table made of them.
// Pure: JSON in, JSON or text out; missing members print as "-". Threads: any.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "ctrl/cli/terminal.h"

namespace weir::cli {

/// `status` and `vnic.list` taken at the same time.
struct Snapshot {
    nlohmann::json status;
    nlohmann::json vnics;
};

/// What happened between two snapshots that lie `seconds` apart, > 0: per vNIC offered_bps, delivered_bps,
/// received_bps, offered_pps, delivered_pps, reservation_bps, limit_bps, fulfillment (1 = the reservation, or
/// all that was wanted of it), held_back_percent, queue_delay_ns, cpu_percent, drops_per_second by reason;
/// per worker busy_percent, mean_burst, cycles_per_packet; the uplink's sent_bps. A counter that went back (a
/// restart) counts from zero. What cannot be computed is null.
[[nodiscard]] nlohmann::json top_sample(const Snapshot& before, const Snapshot& after, double seconds);

/// The sample as one screen.
[[nodiscard]] std::string top_text(const nlohmann::json& sample, const Terminal& terminal);

}  // namespace weir::cli
