// vnic_view.h - one vNIC or all of them as text, and the operator's key=value pairs as JSON.
// Pure: JSON in (the command socket's `data`), text out; missing members print as "-". Threads: any.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ctrl/cli/terminal.h"

namespace weir::cli {

[[nodiscard]] std::string vnic_list_text(const nlohmann::json& list, const Terminal& terminal);
[[nodiscard]] std::string vnic_text(const nlohmann::json& vnic, const std::string& accounting,
                                    const Terminal& terminal);

/// `limit=2Gbit shares=200 mac=... limit_pps=none` as an object: none is null, true and false and whole
/// numbers are themselves, all else is a string. @throws Failure (2) for a pair without a key or "=", or a
/// key given twice
[[nodiscard]] nlohmann::json object_of_pairs(const std::vector<std::string>& pairs);

}  // namespace weir::cli
