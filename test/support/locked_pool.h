// locked_pool.h - the name of a kind of buffer pool that TSan understands: a list behind a lock.
// Source: DPDK mempool library guide. Threads: any.
#pragma once

namespace weir::testing {

/// For rte_pktmbuf_pool_create_by_ops(). DPDK's own pools hand buffers from one thread to another in code
/// that is not instrumented, so that TSan takes each buffer's next use for a race.
inline constexpr const char* kLockedPool = "weir_locked";
/// Makes the kind known to DPDK; once, before the first such pool.
void register_locked_pool();

}  // namespace weir::testing
