// sanitized.h - whether this program was built with ASan or TSan: what runs many rounds then runs fewer.
// Threads: any (constants).
#pragma once

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

}  // namespace weir::testing
