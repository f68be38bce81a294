// doctor_checks.h - judges the facts of a host: what is well, what costs speed, what is missing, and what
// mends it. Pure. Threads: any.
#pragma once

#include <string>
#include <vector>

#include "ctrl/cli/doctor_facts.h"
#include "ctrl/cli/terminal.h"
#include "vswitch/config/config.h"

namespace weir::cli {

enum class Health {
    kOk,
    kWarning,  ///< works, but slower or less safely
    kMissing,  ///< the switch or its guests will not start
};

struct Finding {
    std::string check;  ///< "hugepages", "worker core 3", ...
    Health health = Health::kOk;
    std::string found;
    std::string mend;  ///< a command, empty when all is well
};

[[nodiscard]] std::vector<Finding> check_host(const HostFacts& facts, const SwitchConfig& config);

[[nodiscard]] std::string findings_text(const std::vector<Finding>& findings, const Terminal& terminal);
[[nodiscard]] nlohmann::json findings_json(const std::vector<Finding>& findings);

}  // namespace weir::cli
