// batch_test.cc - a burst's frames are brought together by destination, in their order.
// Source: docs/design.md 4.
#include "vswitch/datapath/frame/batch.h"

#include <algorithm>
#include <random>
#include <vector>

#include "test/support/catch.h"

using namespace weir;

namespace {

/// A frame that no one reads: only its place in the burst is known.
rte_mbuf* numbered_frame(std::uintptr_t number) {
    return reinterpret_cast<rte_mbuf*>(number + 1);
}
std::uint16_t number_of_frame(const rte_mbuf* frame) {
    return static_cast<std::uint16_t>(reinterpret_cast<std::uintptr_t>(frame) - 1);
}

Batch batch_to(const std::vector<Destination>& destinations) {
    Batch batch;
    for (const Destination to : destinations) {
        const std::uint16_t at = batch.count++;
        batch.frames[at] = numbered_frame(at);
        batch.bytes[at] = 100U + at;
        batch.wire_frames[at] = static_cast<std::uint16_t>(at + 1);
        batch.to[at] = to;
        batch.same_destination &= to == batch.to[0];
    }
    return batch;
}

std::vector<std::uint16_t> order(const Batch& batch) {
    std::vector<std::uint16_t> numbers;
    for (std::uint16_t i = 0; i < batch.count; ++i)
        numbers.push_back(number_of_frame(batch.frames[i]));
    return numbers;
}

}  // namespace

TEST_CASE("frames for B, B, C, B become B, B, B, C, and their VLANs with them") {
    Batch batch = batch_to({7, 7, 9, 7});
    std::array<std::uint16_t, limits::kBurst> vlans{10, 11, 12, 13};
    REQUIRE(group(batch, vlans.data()));
    CHECK((order(batch) == std::vector<std::uint16_t>{0, 1, 3, 2}));
    CHECK((std::vector(vlans.begin(), vlans.begin() + 4) == std::vector<std::uint16_t>{10, 11, 13, 12}));
    CHECK(run_at(batch, 0).count == 3);
    CHECK(run_at(batch, 3).bytes_total == 102);
}

TEST_CASE("a burst with a frame for all stays as it is") {
    Batch batch = batch_to({7, 9, kToAll, 7});
    CHECK_FALSE(group(batch));
    CHECK((order(batch) == std::vector<std::uint16_t>{0, 1, 2, 3}));
}

TEST_CASE("grouping keeps each frame with its fields, and the order of each destination's frames") {
    std::mt19937 random(7);
    for (int round = 0; round < 2000; ++round) {
        std::vector<Destination> to(1 + random() % limits::kBurst);
        const unsigned kinds = 1 + random() % limits::kBurst;
        for (Destination& one : to)  // many of them in one place of the table
            one = static_cast<Destination>(random() % kinds * (round % 2 == 0 ? 64 : 1));
        Batch batch = batch_to(to);
        REQUIRE(group(batch));
        std::vector<std::uint16_t> expected(to.size());
        for (std::uint16_t i = 0; i < to.size(); ++i)
            expected[i] = i;
        std::ranges::stable_sort(expected, {},
                                 [&](std::uint16_t i) { return std::ranges::find(to, to[i]) - to.begin(); });
        CHECK(order(batch) == expected);
        for (std::uint16_t i = 0; i < batch.count; ++i) {
            const std::uint16_t was = number_of_frame(batch.frames[i]);
            CHECK(
                (batch.to[i] == to[was] && batch.bytes[i] == 100U + was && batch.wire_frames[i] == was + 1));
        }
    }
}
