// buffers.h - frame buffers in hugepages, as the switch's are, for benches that need DPDK.
// Threads: one.
//
// Without hugepages a mempool starts a page of 4 KiB with each buffer, so that the same part of every frame
// falls into one set of the L1 cache; AES-CBC, which works on 16 frames at a time, then misses it.
#pragma once

#include <rte_eal.h>
#include <rte_mbuf.h>

#include <stdexcept>

namespace weir::bench {

/// The pool; the first call starts DPDK and makes it.
inline rte_mempool* buffer_pool() {
    static rte_mempool* const made = [] {
        static char arguments[][24] = {"bench",    "--in-memory",    "--single-file-segments",
                                       "--no-pci", "--no-telemetry", "--log-level=error"};
        char* argv[7]{};
        for (int i = 0; i < 6; ++i)
            argv[i] = arguments[i];
        if (rte_eal_init(6, argv) < 0)
            throw std::runtime_error("EAL does not start: root and free hugepages are needed");
        return rte_pktmbuf_pool_create("bench_buffers", 4095, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
                                       SOCKET_ID_ANY);
    }();
    return made;
}

}  // namespace weir::bench
