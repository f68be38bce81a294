// packet_pools.h - packet buffers in the memory of the NUMA node whose workers take them.
// Source: docs/algorithms.md 3.7; DPDK mempool guide. Units: buffers (mbufs).
// Threads: main, at start and end; const functions any.
//
// One pool for each node that has a worker. A buffer goes back to the pool that it is from, whichever worker
// frees it.
//
//   workers 0 and 2, on node 0 --> pool of node 0
//   workers 1 and 3, on node 1 --> pool of node 1
//
// Each pool has all buffers that the configuration asks for: every vNIC may move to any worker, and its quota
// has to hold there. So workers on two nodes take twice the memory of workers on one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/cores.h"
#include "common/types.h"

struct rte_mempool;

namespace weir {

class PacketPools {
  public:
    /// Makes one pool in the memory of the node; of any node where it is not known.
    /// @return nullptr, and rte_errno, when there is no memory
    using Make = std::function<rte_mempool*(const std::string& name, std::uint32_t buffers, NumaNode node)>;

    /// @param nodes of the workers, by worker
    /// @param buffers of each pool
    /// @throws HostError with one line that names the node and the remedy
    PacketPools(std::vector<NumaNode> nodes, std::uint32_t buffers, const Make& make = make_pool);

    /// The pool that the worker takes buffers of.
    [[nodiscard]] rte_mempool* of(WorkerId worker) const { return by_worker_[worker]; }
    /// The pools of all workers, by worker.
    [[nodiscard]] std::span<rte_mempool* const> by_worker() const { return by_worker_; }
    [[nodiscard]] NumaNode node(WorkerId worker) const { return nodes_[worker]; }
    /// Workers that are on another node than this one, as far as is known.
    [[nodiscard]] std::vector<WorkerId> far_from(NumaNode node) const;
    /// Of each pool: all vNICs' quotas together are at most this.
    [[nodiscard]] std::uint32_t buffers() const { return buffers_; }
    /// Of the pool that has the fewest: a worker cannot use another node's.
    [[nodiscard]] std::uint32_t free_buffers() const;

  private:
    struct Free {
        void operator()(rte_mempool* pool) const;
    };

    static rte_mempool* make_pool(const std::string& name, std::uint32_t buffers, NumaNode node);

    std::vector<NumaNode> nodes_;  // by worker
    std::uint32_t buffers_;
    std::vector<std::unique_ptr<rte_mempool, Free>> pools_;
    std::vector<rte_mempool*> by_worker_;
};

}  // namespace weir
