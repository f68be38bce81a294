// flow.h - weirctl flow list: rates of requests to appliances between two readings, and the table of them.
// Units: tokens at an appliance, bytes on a link, TSC cycles of a worker. Threads: any (pure functions).
//
// A flow here is a service flow: the requests of one vNIC to one appliance.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "ctrl/cli/table.h"

namespace weir::cli {

/// The resources that one request pays, under the switch's names.
inline constexpr const char* kPathResources[] = {"appliance", "uplink", "downlink", "cycles"};
/// Also blocks requests: the appliance's bound on outstanding tokens.
inline constexpr const char* kWindow = "window";

/// Seconds between two replies, by their `uptime_s`; after a restart of the switch, seconds since its start.
[[nodiscard]] double seconds_between(const nlohmann::json& before, const nlohmann::json& after);

/// Two replies to `flow.list` as seconds, accounting, appliances and flows[]. A flow has
///   used_per_second, limit_per_second (null without), blocked_percent (of the time) by resource, the last
///   also
///     of the window; held_back_by: the one of these that blocked longest, or null;
///   requests_per_second, responses_per_second, failed_per_second, plain_bytes_per_second;
///   queued, held, outstanding, outstanding_tokens, connections, latency_ns as they are now;
///   total: counters since the start of the switch.
/// A flow that is new counts from zero.
[[nodiscard]] nlohmann::json flow_sample(const nlohmann::json& before, const nlohmann::json& after);

[[nodiscard]] std::string flow_text(const nlohmann::json& sample, const Terminal& terminal);

}  // namespace weir::cli
