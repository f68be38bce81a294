// burst_pool.cc - BurstPool as a mempool handler of DPDK.
#include "vswitch/ports/burst_pool.h"

#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <atomic>
#include <cerrno>
#include <string>

#include "common/error.h"

namespace weir {
namespace {

constexpr const char* kHandler = "weir_burst";

int dequeue(rte_mempool* pool, void** objects, unsigned count) {
    auto& allowed = *static_cast<BurstPool::Allowed*>(pool->pool_config);
    if (count > allowed.left) {
        allowed.refused = true;
        return -ENOBUFS;
    }
    const int result = rte_mempool_get_bulk(allowed.source, objects, count);
    if (result == 0)
        allowed.left -= count;
    return result;
}

/// An mbuf carries the pool that it is freed to, which is never this one.
int enqueue(rte_mempool*, void* const*, unsigned) {
    return -ENOTSUP;
}

int allocate(rte_mempool*) {
    return 0;
}

unsigned get_count(const rte_mempool* pool) {
    return static_cast<const BurstPool::Allowed*>(pool->pool_config)->left;
}

/// Registered once per process.
void register_handler() {
    static const int index = [] {
        rte_mempool_ops handler{};
        rte_strscpy(handler.name, kHandler, sizeof(handler.name));
        handler.alloc = allocate;
        handler.enqueue = enqueue;
        handler.dequeue = dequeue;
        handler.get_count = get_count;
        return rte_mempool_register_ops(&handler);
    }();
    if (index < 0)
        throw HostError("DPDK has no place for one more mempool handler (" +
                        std::string(rte_strerror(-index)) + "); load fewer of its drivers with --eal=-d");
}

}  // namespace

BurstPool::BurstPool(rte_mempool* source) : allowed_{.source = source} {
    static std::atomic<unsigned> made{0};
    register_handler();
    const std::string name = "weir_burst_" + std::to_string(made++);
    pool_ = rte_mempool_create_empty(name.c_str(), source->size, source->elt_size, 0,
                                     sizeof(rte_pktmbuf_pool_private), static_cast<int>(SOCKET_ID_ANY), 0);
    if (pool_ == nullptr || rte_mempool_set_ops_byname(pool_, kHandler, &allowed_) != 0)
        throw HostError("no memory for the pool " + name + " (" + rte_strerror(rte_errno) +
                        "); reserve more hugepages: echo 1024 > /proc/sys/vm/nr_hugepages");
    *static_cast<rte_pktmbuf_pool_private*>(rte_mempool_get_priv(pool_)) =
        *static_cast<rte_pktmbuf_pool_private*>(rte_mempool_get_priv(source));
}

BurstPool::~BurstPool() {
    rte_mempool_free(pool_);
}

}  // namespace weir
