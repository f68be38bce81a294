// burst_pool_test.cc - BurstPool: what it gives out, and where that returns to.
#include "vswitch/ports/burst_pool.h"

#include <rte_mbuf.h>

#include <array>

#include "test/support/catch.h"
#include "test/support/eal_fixture.h"

using namespace weir;
using namespace weir::testing;

TEST_CASE("a burst pool gives out as many buffers as it was opened for") {
    BurstPool burst(buffer_pool());
    const unsigned held_before = buffers_in_use();
    std::array<rte_mbuf*, 32> heads;
    burst.open(33);
    REQUIRE(rte_pktmbuf_alloc_bulk(burst.pool(), heads.data(), 32) == 0);
    rte_mbuf* const last = rte_pktmbuf_alloc(burst.pool());
    REQUIRE(last != nullptr);
    CHECK_FALSE(burst.refused());
    CHECK(rte_pktmbuf_alloc(burst.pool()) == nullptr);
    CHECK(burst.refused());
    CHECK(buffers_in_use() == held_before + 33);

    SECTION("they return to the pool behind it") {
        CHECK(last->pool == buffer_pool());
        CHECK(rte_pktmbuf_tailroom(last) == RTE_MBUF_DEFAULT_DATAROOM);
    }
    SECTION("the next burst is allowed its own") {
        burst.open(1);
        CHECK_FALSE(burst.refused());
        rte_mbuf* const more = rte_pktmbuf_alloc(burst.pool());
        CHECK(more != nullptr);
        rte_pktmbuf_free(more);
        CHECK(rte_pktmbuf_alloc(burst.pool()) == nullptr);
    }
    rte_pktmbuf_free_bulk(heads.data(), 32);
    rte_pktmbuf_free(last);
    CHECK(buffers_in_use() == held_before);
}

TEST_CASE("all or none: a bulk that is larger than what is left takes nothing") {
    BurstPool burst(buffer_pool());
    const unsigned held_before = buffers_in_use();
    std::array<rte_mbuf*, 32> heads;
    burst.open(31);
    CHECK(rte_pktmbuf_alloc_bulk(burst.pool(), heads.data(), 32) != 0);
    CHECK(burst.refused());
    CHECK(buffers_in_use() == held_before);
}

TEST_CASE("an empty pool is no refusal: the sender did nothing wrong") {
    rte_mempool* const small = rte_pktmbuf_pool_create("one_buffer", 1, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
                                                       static_cast<int>(SOCKET_ID_ANY));
    REQUIRE(small != nullptr);
    {
        BurstPool burst(small);
        burst.open(2);
        rte_mbuf* const one = rte_pktmbuf_alloc(burst.pool());
        CHECK(rte_pktmbuf_alloc(burst.pool()) == nullptr);
        CHECK_FALSE(burst.refused());
        rte_pktmbuf_free(one);
    }
    rte_mempool_free(small);
}
