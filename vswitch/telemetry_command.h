// telemetry_command.h - a question that DPDK's telemetry socket may be asked, and who answers it.
// Threads: built by main; the answers run on DPDK's telemetry thread.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace weir {

struct TelemetryCommand {
    std::string help;  ///< one line, naming the parameter
    /// The answer to one request: an object of numbers, texts and objects. May throw: the reader then gets an
    /// error.
    std::function<nlohmann::json(const std::string& parameter)> answer;
};

/// By path, such as "/weir/status".
using TelemetryCommands = std::map<std::string, TelemetryCommand>;

}  // namespace weir
