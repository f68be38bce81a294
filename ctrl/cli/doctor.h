// doctor.h - weirctl doctor: whether a host has what the switch needs, and the command that provides it.
// Threads: any (pure functions).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ctrl/cli/host_facts.h"
#include "ctrl/cli/table.h"
#include "vswitch/config/config.h"

namespace weir::cli {

enum class Health {
    kOk,
    kWarning,  ///< the switch runs, but more slowly or less safely
    kMissing,  ///< the switch or its guests cannot start
};

struct Finding {
    std::string check;  ///< "hugepages", "worker core 3", ...
    Health health = Health::kOk;
    std::string found;
    std::string mend;  ///< the command or change that mends it; empty with kOk
};

/// For a host without a configuration file: one without workers and uplink, whose checks are left out.
[[nodiscard]] SwitchConfig no_configuration();

/// One finding per check, in the order in which an operator sets up a host.
[[nodiscard]] std::vector<Finding> check_host(const HostFacts& facts, const SwitchConfig& config);

[[nodiscard]] std::string findings_text(const std::vector<Finding>& findings, const Terminal& terminal);
[[nodiscard]] nlohmann::json findings_json(const std::vector<Finding>& findings);

}  // namespace weir::cli
