// locked_pool.cc - the operations of such a pool.
#include "test/support/locked_pool.h"

#include <rte_mempool.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <vector>

namespace weir::testing {
namespace {

struct LockedList {
    std::mutex lock;
    std::vector<void*> free;
};

LockedList& list_of(const rte_mempool* pool) {
    return *static_cast<LockedList*>(pool->pool_data);
}

int allocate(rte_mempool* pool) {
    pool->pool_data = new LockedList;
    return 0;
}

void release(rte_mempool* pool) {
    delete static_cast<LockedList*>(pool->pool_data);
}

int put(rte_mempool* pool, void* const* objects, unsigned count) {
    LockedList& list = list_of(pool);
    const std::lock_guard guard(list.lock);
    list.free.insert(list.free.end(), objects, objects + count);
    return 0;
}

int get(rte_mempool* pool, void** objects, unsigned count) {
    LockedList& list = list_of(pool);
    const std::lock_guard guard(list.lock);
    if (list.free.size() < count)
        return -ENOBUFS;
    std::copy(list.free.end() - count, list.free.end(), objects);
    list.free.resize(list.free.size() - count);
    return 0;
}

unsigned available(const rte_mempool* pool) {
    LockedList& list = list_of(pool);
    const std::lock_guard guard(list.lock);
    return static_cast<unsigned>(list.free.size());
}

}  // namespace

void register_locked_pool() {
    rte_mempool_ops operations{};
    std::strncpy(operations.name, kLockedPool, sizeof(operations.name) - 1);
    operations.alloc = allocate;
    operations.free = release;
    operations.enqueue = put;
    operations.dequeue = get;
    operations.get_count = available;
    if (rte_mempool_register_ops(&operations) < 0)
        throw std::runtime_error("no room for another kind of pool");
}

}  // namespace weir::testing
