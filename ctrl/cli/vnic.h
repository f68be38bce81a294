// vnic.h - weirctl vnic list|show|set|add|remove: vNICs as text, and KEY=VALUE words as JSON.
// Threads: any (pure functions).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ctrl/cli/table.h"

namespace weir::cli {

[[nodiscard]] std::string vnic_list_text(const nlohmann::json& list, const Terminal& terminal);
/// @param accounting "wire" or "l2": what the counted bytes of a frame are
[[nodiscard]] std::string vnic_text(const nlohmann::json& vnic, const std::string& accounting,
                                    const Terminal& terminal);

/// `limit=2Gbit shares=200 limit_pps=none disk.limit=5ktokens` as an object: none is null, true and false and
/// whole numbers are themselves, any other value is a string, and `disk.limit` is a member of the appliance
/// `disk` in "appliances". @throws Failure (kExitBadInput) for a word without a key or "=", or a key given
/// twice
[[nodiscard]] nlohmann::json object_of_pairs(const std::vector<std::string>& pairs);

}  // namespace weir::cli
