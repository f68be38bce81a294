// fault_report.h - faults as people and programs get to see them.
// Threads: any; never used on a poll thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "common/error.h"

namespace weir {

/// A list of objects with path, found, allowed and message: what every answer in JSON has under "faults".
[[nodiscard]] nlohmann::json faults_to_json(const Faults& faults);

/// A program that does not start because of a file of its operator: a line for each fault, and how many, to
/// stderr.
void complain(const Faults& faults, const std::string& file);

}  // namespace weir
