// metrics_config.h - the section `metrics` of a configuration: where the program answers a monitoring system.
// Threads: any (values).
#pragma once

#include <string>

namespace weir {

struct MetricsConfig {
    std::string listen{};  ///< IP address and port; empty = nowhere
    bool operator==(const MetricsConfig&) const = default;
};

}  // namespace weir
