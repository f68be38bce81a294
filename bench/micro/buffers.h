// buffers.h - frame buffers for benches that need DPDK, where the switch's are: in hugepages.
// Without these a mempool begins a page of 4 KiB with each buffer, so that the same part of every frame falls
// into one set of the L1 cache: what walks 16 frames together, as AES-CBC does, then misses it. Threads: one.
#pragma once

#include <rte_eal.h>
#include <rte_mbuf.h>

#include <stdexcept>

namespace weir::bench {

/// Made by the first call, which starts DPDK.
inline rte_mempool* buffer_pool() {
    static rte_mempool* const made = [] {
        static char arguments[][24] = {"bench",    "--in-memory",    "--single-file-segments",
                                       "--no-pci", "--no-telemetry", "--log-level=error"};
        char* argv[7]{};
        for (int i = 0; i < 6; ++i)
            argv[i] = arguments[i];
        if (rte_eal_init(6, argv) < 0)
            throw std::runtime_error("EAL does not start: it takes root and free hugepages");
        return rte_pktmbuf_pool_create("bench_buffers", 4095, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
                                       SOCKET_ID_ANY);
    }();
    return made;
}

}  // namespace weir::bench
