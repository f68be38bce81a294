// views.h - parts of the controller's status and specification, as answers of their own.
// Source: docs/api.md. Threads: any (pure).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "common/error.h"

namespace weir {

/// @param status data of the command `status`
[[nodiscard]] nlohmann::json hosts_view(const nlohmann::json& status);
[[nodiscard]] nlohmann::json host_view(const nlohmann::json& status, const std::string& name, Faults& faults);
/// `links`: that of each host; `appliances`.
[[nodiscard]] nlohmann::json resources_view(const nlohmann::json& status);

/// @param specification the value of its text; the results are those of `weirctl tenant list` and `show`
[[nodiscard]] nlohmann::json tenants_view(const nlohmann::json& specification);
[[nodiscard]] nlohmann::json tenant_view(const nlohmann::json& specification, const std::string& name,
                                         Faults& faults);
/// Each vNIC as the specification has it, with its tenant. @param tenant empty: those of all
[[nodiscard]] nlohmann::json vnics_view(const nlohmann::json& specification, const std::string& tenant,
                                        Faults& faults);

}  // namespace weir
