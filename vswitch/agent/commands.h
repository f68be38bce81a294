// commands.h - one request of the operator's socket in, one reply out; all-or-nothing.
// Source: design section 5 (weirctl). Threads: agent.
#pragma once

#include <string>
#include <string_view>

#include "vswitch/agent/switch_control.h"

namespace weir {

/// Answers a request (JSON text); never throws: whatever is wrong with it is in the reply.
[[nodiscard]] std::string answer(SwitchControl& control, std::string_view request);

}  // namespace weir
