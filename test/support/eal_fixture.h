// eal_fixture.h - DPDK without hugepages, devices or rights, and one small pool of buffers.
// Units: buffers of 2 KiB. Threads: tests only; started at the first use, once per process.
#pragma once

struct rte_mempool;

namespace weir::testing {

inline constexpr unsigned kBuffers = 8191;

/// Starts EAL if it is not running. @return the pool; it has no per-thread cache, so its counts are exact
rte_mempool* buffer_pool();

/// Buffers in use at the moment.
[[nodiscard]] unsigned buffers_in_use();

}  // namespace weir::testing
