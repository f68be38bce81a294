// eal_fixture.cc - starts EAL with options that work on every machine.
#include "test/support/eal_fixture.h"

#include <rte_eal.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <array>
#include <stdexcept>
#include <string>

#include "test/support/locked_pool.h"
#include "test/support/sanitized.h"

namespace weir::testing {
namespace {

rte_mempool* start() {
    static std::array<std::string, 10> arguments{"test",
                                                 "--no-huge",
                                                 "-m",
                                                 "128",
                                                 "--no-pci",
                                                 "--no-telemetry",
                                                 "--no-shconf",
                                                 "--lcores=0",
                                                 "--log-level=lib.eal:error",
                                                 "--log-level=lib.vhost.*:emergency"};
    std::array<char*, arguments.size() + 1> argv{};
    for (std::size_t i = 0; i < arguments.size(); ++i)
        argv[i] = arguments[i].data();
    if (rte_eal_init(static_cast<int>(arguments.size()), argv.data()) < 0)
        throw std::runtime_error("EAL does not start");
    const char* const kind = kThreadSanitized ? (register_locked_pool(), kLockedPool) : nullptr;
    rte_mempool* pool = rte_pktmbuf_pool_create_by_ops("test_buffers", kBuffers, 0, 0,
                                                       RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY, kind);
    if (pool == nullptr)
        throw std::runtime_error("no memory for the test's buffers");
    return pool;
}

}  // namespace

rte_mempool* buffer_pool() {
    static rte_mempool* const pool = start();
    return pool;
}

unsigned buffers_in_use() {
    return rte_mempool_in_use_count(buffer_pool());
}

}  // namespace weir::testing
