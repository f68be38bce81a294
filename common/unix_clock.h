// unix_clock.h - Unix time, for people and for other programs. Units: ns. Threads: any.
//
// It may jump, and on a stepped clock it goes on: rates and intervals are measured by common/clock.h.
#pragma once

#include <chrono>
#include <cstdint>

namespace weir {

[[nodiscard]] inline std::uint64_t unix_clock_ns() {
    return static_cast<std::uint64_t>(
        std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count());
}

}  // namespace weir
