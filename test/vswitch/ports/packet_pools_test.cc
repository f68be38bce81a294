// packet_pools_test.cc - one pool for each NUMA node that has a worker.
#include "vswitch/ports/packet_pools.h"

#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <cerrno>
#include <optional>
#include <string>
#include <vector>

#include "common/error.h"
#include "test/support/catch.h"
#include "test/support/eal_fixture.h"

using namespace weir;

namespace {

constexpr std::uint32_t kBuffersEach = 255;

/// Makes pools on a machine that may have one node only, and none for the node that has no memory.
struct PoolMaker {
    NumaNode full = std::nullopt;
    std::vector<NumaNode> made = {};

    PacketPools pools(const std::vector<NumaNode>& nodes) {
        weir::testing::buffer_pool();  // starts DPDK
        return {nodes, kBuffersEach,
                [this](const std::string& name, std::uint32_t buffers, NumaNode node) -> rte_mempool* {
                    if (full && full == node) {
                        rte_errno = ENOMEM;
                        return nullptr;
                    }
                    made.push_back(node);
                    return rte_pktmbuf_pool_create(name.c_str(), buffers, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
                                                   SOCKET_ID_ANY);
                }};
    }
    std::string fault(const std::vector<NumaNode>& nodes) {
        try {
            (void)pools(nodes);
        } catch (const HostError& error) {
            return error.what();
        }
        return {};
    }
};

}  // namespace

TEST_CASE("workers on two nodes have a pool on each, with all buffers") {
    PoolMaker maker;
    const PacketPools pools = maker.pools({0, 1, 0, 1});
    CHECK(maker.made == std::vector<NumaNode>{0, 1});
    CHECK(pools.of(0) == pools.of(2));
    CHECK(pools.of(1) == pools.of(3));
    CHECK(pools.of(0) != pools.of(1));
    CHECK(pools.by_worker().size() == 4);
    CHECK(pools.by_worker()[3] == pools.of(3));
    CHECK(pools.node(2) == 0U);
    CHECK(pools.node(3) == 1U);
    CHECK(pools.buffers() == kBuffersEach);
    CHECK(pools.free_buffers() == kBuffersEach);
    rte_mbuf* frame = rte_pktmbuf_alloc(pools.of(1));
    CHECK(rte_mempool_in_use_count(pools.of(1)) == 1);
    CHECK(pools.free_buffers() == kBuffersEach - 1);
    rte_pktmbuf_free(frame);
    CHECK(pools.free_buffers() == kBuffersEach);
}

TEST_CASE("workers on one node share one pool, and so do those whose node is not known") {
    for (const NumaNode node : {NumaNode(0), NumaNode(1), NumaNode()}) {
        PoolMaker maker;
        const PacketPools pools = maker.pools({node, node, node});
        CHECK(maker.made == std::vector<NumaNode>{node});
        CHECK(pools.of(0) == pools.of(2));
        CHECK(pools.buffers() == kBuffersEach);
        CHECK(pools.free_buffers() == kBuffersEach);
    }
}

TEST_CASE("a node without memory is named with its remedy, and the pools that there were are freed") {
    PoolMaker maker{.full = 1};
    for (int again = 0; again < 2; ++again)  // of the same name: the first one has gone
        CHECK(
            maker.fault({0, 1}) ==
            "no memory for 255 packet buffers on NUMA node 1 (Cannot allocate memory); reserve more "
            "hugepages: echo 1024 > /sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages");
    CHECK(maker.made == std::vector<NumaNode>{0, 0});
    CHECK(rte_mempool_lookup("weir_buffers_node0") == nullptr);
    CHECK(maker.fault({0, 0}).empty());
}

TEST_CASE("without a node the remedy is of the whole machine") {
    weir::testing::buffer_pool();
    std::string fault;
    try {
        const PacketPools pools({NumaNode()}, 100, [](const auto&, std::uint32_t, NumaNode) {
            rte_errno = ENOMEM;
            return static_cast<rte_mempool*>(nullptr);
        });
    } catch (const HostError& error) {
        fault = error.what();
    }
    CHECK(fault ==
          "no memory for 100 packet buffers (Cannot allocate memory); reserve more hugepages: echo 1024 > "
          "/proc/sys/vm/nr_hugepages");
}

TEST_CASE("workers are far from a device on another node, as far as both nodes are known") {
    PoolMaker maker;
    const PacketPools pools = maker.pools({0, 1, NumaNode(), 1});
    CHECK(maker.made.size() == 3);
    CHECK(pools.far_from(0) == std::vector<WorkerId>{1, 3});
    CHECK(pools.far_from(1) == std::vector<WorkerId>{0});
    CHECK(pools.far_from(2) == std::vector<WorkerId>{0, 1, 3});
    CHECK(pools.far_from(std::nullopt).empty());
}
