// burst_pool.h - a mempool that draws from another one what a burst of the largest frames takes, and no more.
// Source: DPDK mempool library guide (mempool handlers). Units: buffers (mbufs).
// Threads: built by the agent; then one worker only.
//
// The vhost library copies a chain of descriptors into as many buffers as it describes: 255 descriptors of
// 4 MiB are 1 GiB of valid guest memory, and one call copied until the shared pool was empty (8,191 buffers,
// 1.3 ms). The library draws from a BurstPool instead, which refuses what no frame can need; it then drops
// the chain and returns its buffers. Buffers belong to the pool behind and are freed to it.
//
// Example: before a burst of at most 32 frames the worker opens 32 x 33 = 1,056 buffers. 31 frames of 64 KiB
// take 31 x 33 = 1,023, and the chain behind them has 33 left: its 34th is refused.
#pragma once

#include <cstdint>

struct rte_mempool;

namespace weir {

class BurstPool {
  public:
    /// @param source a pool of packet buffers that outlives this
    /// @throws HostError when DPDK has no memory for it
    explicit BurstPool(rte_mempool* source);
    ~BurstPool();
    BurstPool(const BurstPool&) = delete;
    BurstPool& operator=(const BurstPool&) = delete;

    /// What the library allocates from.
    [[nodiscard]] rte_mempool* pool() const { return pool_; }
    /// Allows `buffers` until the next call.
    void open(std::uint32_t buffers) {
        allowed_.left = buffers;
        allowed_.refused = false;
    }
    /// Whether more was asked for since open().
    [[nodiscard]] bool refused() const { return allowed_.refused; }

    /// What the mempool's functions know.
    struct Allowed {
        rte_mempool* source;
        std::uint32_t left = 0;
        bool refused = false;
    };

  private:
    Allowed allowed_;
    rte_mempool* pool_;
};

}  // namespace weir
