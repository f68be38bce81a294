// flow_setup.h - the two halves of what a new flow sets off: in the switch, and with the controller.
// Threads: one.
#pragma once

#include <nlohmann/json.hpp>

namespace weir::bench {

/// A worker takes a feedback frame of a destination that never spoke before; and takes rates that the agent
/// brings. By how many limiters there are already.
[[nodiscard]] nlohmann::json measure_switch(unsigned times);

/// A request flow begins: demand said, received, solved, answered, heard, made a profile.
/// @param hosts with 12 vNICs each, of which all but the new one's flows are known
[[nodiscard]] nlohmann::json measure_control(unsigned hosts, unsigned times);

}  // namespace weir::bench
