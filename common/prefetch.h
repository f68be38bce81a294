// prefetch.h - asks for a cache line that is going to be written.
// Source: Intel SDM volume 2. Threads: any.
#pragma once

namespace weir {

inline constexpr unsigned kCacheLineBytes = 64;

/// Asks for the line at `at` so that it can be written. Where another core may have a copy, this is the only
/// prefetch that helps: __builtin_prefetch(at, 1) becomes PREFETCHT0 unless the target is known to have
/// PREFETCHW, the line comes as a copy, and the store waits for the other core a second time.
inline void prefetch_for_write(const void* at) {
#if defined(__x86_64__)
    asm volatile("prefetchw %0"
                 :
                 : "m"(*static_cast<const char*>(at)));  // does nothing on processors without it
#else
    __builtin_prefetch(at, 1);
#endif
}

}  // namespace weir
