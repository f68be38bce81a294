// packet_pools.cc - the pools are made, one for each node.
#include "vswitch/ports/packet_pools.h"

#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <algorithm>
#include <utility>

#include "common/error.h"

namespace weir {
namespace {

/// Without "node" it would be that of a part of the pool without a number, to which DPDK adds "_0".
std::string pool_name(NumaNode node) {
    return "weir_buffers" + (node ? "_node" + std::to_string(*node) : "");
}

HostError no_memory(std::uint32_t buffers, NumaNode node, const std::string& reason) {
    const std::string number = node ? std::to_string(*node) : "";
    return HostError(
        "no memory for " + std::to_string(buffers) + " packet buffers" +
        (node ? " on NUMA node " + number : "") + " (" + reason + "); reserve more hugepages: echo 1024 > " +
        (node ? "/sys/devices/system/node/node" + number + "/hugepages/hugepages-2048kB/nr_hugepages"
              : "/proc/sys/vm/nr_hugepages"));
}

}  // namespace

void PacketPools::Free::operator()(rte_mempool* pool) const {
    rte_mempool_free(pool);
}

rte_mempool* PacketPools::make_pool(const std::string& name, std::uint32_t buffers, NumaNode node) {
    constexpr unsigned kCache = 512;
    return rte_pktmbuf_pool_create(name.c_str(), buffers, kCache, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
                                   node ? static_cast<int>(*node) : SOCKET_ID_ANY);
}

PacketPools::PacketPools(std::vector<NumaNode> nodes, std::uint32_t buffers, const Make& make)
    : nodes_(std::move(nodes)), buffers_(buffers) {
    for (const NumaNode node : nodes_) {
        const auto first = std::ranges::find(nodes_, node) - nodes_.begin();
        if (static_cast<std::size_t>(first) < by_worker_.size()) {
            by_worker_.push_back(by_worker_[static_cast<std::size_t>(first)]);
            continue;
        }
        rte_mempool* pool = make(pool_name(node), buffers, node);
        if (pool == nullptr)
            throw no_memory(buffers, node, rte_strerror(rte_errno));
        pools_.emplace_back(pool);
        by_worker_.push_back(pool);
    }
}

std::vector<WorkerId> PacketPools::far_from(NumaNode node) const {
    std::vector<WorkerId> far;
    for (std::size_t worker = 0; worker < nodes_.size(); ++worker)
        if (node && nodes_[worker] && nodes_[worker] != node)
            far.push_back(static_cast<WorkerId>(worker));
    return far;
}

std::uint32_t PacketPools::free_buffers() const {
    std::uint32_t least = buffers_;
    for (const auto& pool : pools_)
        least = std::min(least, rte_mempool_avail_count(pool.get()));
    return least;
}

}  // namespace weir
