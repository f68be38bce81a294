// sanitized.h - whether this program was built with ASan or TSan, or runs under Valgrind: what runs many
// rounds then runs fewer. Threads: any (constants).
#pragma once

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

/// Valgrind runs one thread at a time, and one that waits in close() keeps all others from running.
[[nodiscard]] inline bool under_valgrind() {
    return std::getenv("WEIR_VALGRIND") != nullptr;
}

}  // namespace weir::testing
