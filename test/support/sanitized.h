// sanitized.h - whether this program was built with ASan or TSan, or runs under Valgrind: tests of
// many rounds then run fewer. Threads: any (constants).
#pragma once

#include <algorithm>
#include <cstdlib>

#ifndef __has_feature  // gcc has macros instead
#define __has_feature(feature) 0
#endif

namespace weir::testing {

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
inline constexpr bool kAddressSanitized = true;
#else
inline constexpr bool kAddressSanitized = false;
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
inline constexpr bool kThreadSanitized = true;
#else
inline constexpr bool kThreadSanitized = false;
#endif
inline constexpr bool kSanitized = kAddressSanitized || kThreadSanitized;

/// Rounds of a random test: `many`, or under Valgrind, where each takes 30 to 50 times as long, a twentieth
/// of them. Valgrind looks for reads of memory that was never written, and the first rounds have those too.
[[nodiscard]] inline unsigned rounds(unsigned many) {
    constexpr unsigned kPart = 20;
    return std::getenv("WEIR_VALGRIND") == nullptr ? many : std::max(many / kPart, 1U);
}

/// Valgrind runs one thread at a time, and one that waits in close() keeps all others from running.
[[nodiscard]] inline bool under_valgrind() {
    return std::getenv("WEIR_VALGRIND") != nullptr;
}

}  // namespace weir::testing
