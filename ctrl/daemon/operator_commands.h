// operator_commands.h - what weirctl may ask of the controller: one JSON request, one JSON answer.
// Threads: the controller's.
#pragma once

#include <string>
#include <string_view>

#include "common/clock.h"
#include "ctrl/daemon/controller.h"
#include "ctrl/daemon/server.h"

namespace weir {

/// Never throws on input: {"schema":1,"ok":true,"data":...} or {"schema":1,"ok":false,"faults":[...]}.
[[nodiscard]] std::string answer_operator(Controller& controller, const ServerCounters& server,
                                          std::string_view request, Nanos now);

}  // namespace weir
