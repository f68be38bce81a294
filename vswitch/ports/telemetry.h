// telemetry.h - the switch's commands on DPDK's telemetry socket.
// Source: DPDK telemetry guide. Threads: built by main; answers run on DPDK's telemetry thread.
//
// dpdk-telemetry.py sends a path and a parameter, such as /weir/vnic,vm1. The answer is made as JSON and
// copied into DPDK's containers: objects become dictionaries, characters that DPDK allows in no name become
// _.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace weir {

class TelemetryEndpoint {
  public:
    /// Makes the answer to one request: an object of numbers, texts and objects. When it throws, DPDK answers
    /// with an error.
    using Answer = std::function<nlohmann::json(const std::string& path, const std::string& parameter)>;

    /// Registers the commands. One per process: DPDK cannot remove them, so the destructor only makes them
    /// fail.
    /// @param commands one line of help for each path
    TelemetryEndpoint(const std::map<std::string, std::string>& commands, Answer answer);
    ~TelemetryEndpoint();
    TelemetryEndpoint(const TelemetryEndpoint&) = delete;
    TelemetryEndpoint& operator=(const TelemetryEndpoint&) = delete;
};

}  // namespace weir
