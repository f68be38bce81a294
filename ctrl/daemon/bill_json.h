// bill_json.h - the bill, its state and its periods as JSON: data of the commands `bill` and `status`.
// Threads: any; bill_json() reads files and takes long.
#pragma once

#include <atomic>
#include <nlohmann/json_fwd.hpp>

#include "ctrl/daemon/usage_desk.h"
#include "ctrl/store/bill_writer.h"

namespace weir {

/// @param verify also checks all lines and sums  @param is_billing the cluster file has prices
/// @throws HostError
[[nodiscard]] nlohmann::json bill_json(BillReader& reader, const BillSpan& span, bool verify, bool is_billing,
                                       const std::atomic<bool>& stop);
[[nodiscard]] nlohmann::json bill_state_json(const BillWriter::State& state);
[[nodiscard]] nlohmann::json periods_json(const UsageCounters& counters);

}  // namespace weir
