// packet_queue_test.cc - first in, first out, bounded, counted.
#include "vswitch/qos/schedulers/packet_queue.h"

#include <deque>

#include "test/support/catch.h"
#include "test/support/random.h"

using namespace weir;

TEST_CASE("a queue of 4 refuses the fifth packet") {
    PacketQueue q(4);
    CHECK(q.empty());
    for (std::uint32_t i = 0; i < 4; ++i)
        CHECK(q.push({nullptr, i, 100, 1, 2}));
    CHECK_FALSE(q.push({nullptr, 4, 100, 1, 2}));
    CHECK(q.packets() == 4);
    CHECK(q.bytes() == 400);
    CHECK(q.buffers() == 8);
    CHECK(q.front().enqueued == 0);
}

TEST_CASE("property: a queue is a bounded deque and its counters are sums") {
    weir::testing::Random32 random(3);
    PacketQueue q(64);
    std::deque<PacketRef> model;
    for (Nanos i = 0; i < 100'000; ++i) {
        if (random() % 2 == 0) {
            const PacketRef p{nullptr, i, random() % 66'000, 1,
                              static_cast<std::uint16_t>(1 + random() % 40)};
            REQUIRE(q.push(p) == (model.size() < 64));
            if (model.size() < 64)
                model.push_back(p);
        } else if (!model.empty()) {
            REQUIRE(q.front().enqueued == model.front().enqueued);
            q.pop();
            model.pop_front();
        }
        REQUIRE(q.packets() == model.size());
    }
    std::uint64_t bytes = 0;
    std::uint32_t buffers = 0;
    for (const PacketRef& p : model) {
        bytes += p.bytes;
        buffers += p.buffers;
    }
    CHECK(q.bytes() == bytes);
    CHECK(q.buffers() == buffers);
}
