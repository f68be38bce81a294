// cycles.h - the processor's constant-rate counter, for benches that report cycles per packet. Threads: any.
#pragma once

#include <cstdint>

namespace weir::bench {

inline std::uint64_t cycles() {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    std::uint64_t ticks;
    asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#endif
}

}  // namespace weir::bench
