// wait.h - waiting for other threads and processes, with one bound for all tests.
// Units: the bound is 60 s times WEIR_PATIENCE of the environment, which sanitizers, Valgrind and slow
// machines raise above 1. Threads: any.
#pragma once

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

namespace weir::testing {

/// The longest wait for any condition. A condition is noticed as soon as it is true, so that a test that
/// passes never waits so long.
/// @throws std::invalid_argument when WEIR_PATIENCE is no number above 0
inline std::chrono::milliseconds wait_bound() {
    static const std::chrono::milliseconds bound = [] {
        const char* const text = std::getenv("WEIR_PATIENCE");
        const double patience = text == nullptr ? 1 : std::strtod(text, nullptr);
        if (!(patience > 0 && patience < 1e6))
            throw std::invalid_argument(
                "WEIR_PATIENCE: found '" + std::string(text) +
                "', allowed: a number above 0; it multiplies the 60 s that a test waits");
        return std::chrono::milliseconds(static_cast<long>(60'000 * patience));
    }();
    return bound;
}

/// Calls `between` until `condition` holds. @return false when it did not within the bound
template <typename Condition, typename Between>
[[nodiscard]] bool until(Condition condition, Between between) {
    const auto end = std::chrono::steady_clock::now() + wait_bound();
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end)
            return false;
        between();
    }
    return true;
}

/// The same with a short sleep between two looks.
template <typename Condition>
[[nodiscard]] bool until(Condition condition) {
    return until(condition, [] { std::this_thread::sleep_for(std::chrono::microseconds(100)); });
}

}  // namespace weir::testing
