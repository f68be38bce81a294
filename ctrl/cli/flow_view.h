// flow_view.h - what vNICs ask of appliances, between two readings of the switch: rates against limits, what
// held them back; and the table made of that. Pure: JSON in (the command socket's `data`), JSON or text out;
// missing members print as "-". Threads: any.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "ctrl/cli/terminal.h"

namespace weir::cli {

/// The resources on a request's path, as the switch names them.
inline constexpr const char* kPathResources[] = {"appliance", "uplink", "downlink", "cycles"};
/// What holds requests back besides these: others are at the appliance, up to its window.
inline constexpr const char* kWindow = "window";

/// Seconds between two answers that have `uptime_s`; a switch that restarted counts from its start.
[[nodiscard]] double seconds_between(const nlohmann::json& before, const nlohmann::json& after);

/// One flow between two readings that lie `seconds` apart: per resource used_per_second, limit_per_second
/// (null: none), queued and blocked_percent; held_back_by (the resource that blocked it longest, "window", or
/// null); requests_per_second, responses_per_second, failed_per_second; held, outstanding,
/// outstanding_tokens, connections, latency_ns. Tokens at the appliance, bytes on the links, cycles of the
/// worker.
[[nodiscard]] nlohmann::json flow_rates(const nlohmann::json& before, const nlohmann::json& after,
                                        double seconds);
/// Two answers to flow.list: seconds, accounting, appliances, and flows as above. What has no "before" counts
/// from zero.
[[nodiscard]] nlohmann::json flow_sample(const nlohmann::json& before, const nlohmann::json& after);

[[nodiscard]] std::string flow_text(const nlohmann::json& sample, const Terminal& terminal);

/// What a flow uses of a resource in its own unit: "783 tokens/s", "40 kbit/s", "12 Mcycles/s"
[[nodiscard]] std::string used_text(const std::string& resource, double per_second);
/// "783 of 800 tokens/s", "32 of 40 kbit/s"; without a limit what is used alone
[[nodiscard]] std::string used_of_text(const nlohmann::json& flow, const std::string& resource);

}  // namespace weir::cli
