// commands.h - answers of the switch to the operator: requests of weirctl, and commands of DPDK telemetry.
// Source: docs/design.md 5.3; docs/design.md 5.6.
// Threads: answer() on the agent; telemetry_answer() on DPDK's telemetry thread.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "common/stepped_clock.h"
#include "vswitch/agent/switch_control.h"

namespace weir {

/// Moves a stepped clock. @return its time then
using StepClock = std::function<Nanos(const ClockStep&)>;

/// Of a request.
struct CommandOrigin {
    std::string peer{};      ///< "uid 0, process 1234"; empty = not known
    bool may_change = true;  ///< false: it came by `control_read_socket`
};

/// Answers one request, such as {"schema":1,"command":"vnic.show","args":{"name":"vm1"}}. The commands are
/// `status`, `drops`, `flow.list`, `why`, `why.at`, `events`, `vnic.list`, `vnic.show`, `vnic.add`,
/// `vnic.set` and `vnic.remove`; each has a view of the same name in ctrl/cli, `capture.start`,
/// `capture.read` and `capture.stop`, and `clock.step`. Sizes are bounded before anything is parsed. A
/// request with a fault changes nothing. Never throws: faults are in the reply,
/// {"schema":1,"ok":false,"faults":[...]}.
/// Commands that change something, and their peers, are in the log.
/// @param step empty: time is real, and `clock.step` is refused
[[nodiscard]] std::string answer(SwitchControl& control, std::string_view request, const StepClock& step = {},
                                 const CommandOrigin& origin = {});

/// Help of each telemetry command by its path: /weir/status, /weir/vnics, /weir/vnic, /weir/drops.
[[nodiscard]] std::map<std::string, std::string> telemetry_commands();
/// Answers one of them: the reports of `status`, `vnic.show` and `drops`, with lists as objects by name or
/// id.
/// @param parameter of /weir/vnic: the vNIC's name @throws std::exception when the answer is an error
[[nodiscard]] nlohmann::json telemetry_answer(SwitchControl& control, const std::string& path,
                                              const std::string& parameter);

}  // namespace weir
