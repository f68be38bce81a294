// interval.h - the time between two readings, as a command's option. Threads: any.
#pragma once

#include <chrono>
#include <string>

namespace weir::cli {

/// "1s", 50ms to 3600s. @throws Failure naming --interval
[[nodiscard]] std::chrono::nanoseconds interval_of(const std::string& text);

}  // namespace weir::cli
