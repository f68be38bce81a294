// connection_table_test.cc - connections are found, bounded and removed.
#include "cost_functions/tracker/connection_table.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "cost_functions/protocols/registry.h"
#include "cost_functions/tracker/tracker.h"
#include "test/support/catch.h"
#include "test/support/random.h"
#include "test/support/sanitized.h"

using namespace weir;

namespace {

ConnectionKey key(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    ConnectionKey bits;
    for (std::uint64_t& word : bits)
        word = random();
    return bits;
}

constexpr auto kIgnore = [](TrackedConnection&) {};

}  // namespace

TEST_CASE("connections: vNIC, addresses, ports and key are all part of the identity") {
    const ConnectionHash hash(key(1));
    const Ip6Address a{1};
    const Ip6Address b{2};
    const std::set<ConnectionId> ids{
        hash(0, 1, 2, {3, 4}), hash(1, 1, 2, {3, 4}), hash(0, 2, 1, {3, 4}),
        hash(0, 1, 2, {4, 3}), hash(0, 1, 3, {3, 4}), ConnectionHash(key(2))(0, 1, 2, {3, 4}),
        hash(0, a, b, {3, 4}), hash(0, b, a, {3, 4}), hash(1, a, b, {3, 4}),
        hash(0, a, b, {4, 3}),
    };
    CHECK(ids.size() == 10);
    CHECK(hash(0, 1, 2, {3, 4}) == hash(0, 1, 2, {3, 4}));
}

TEST_CASE("connections: ids of similar connections are spread as at random") {
    constexpr std::size_t kBuckets = 1 << 15;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const ConnectionHash hash(key(seed));
        std::vector<unsigned> buckets(kBuckets);
        std::vector<unsigned> low(kBuckets);
        for (std::uint32_t i = 0; i < kBuckets; ++i) {
            const ConnectionId id = hash(0, 0x0a00'0000 + i / 256, 7,
                                         {static_cast<std::uint16_t>(40'000 + 2 * (i % 256)), 11211});
            ++buckets[id >> 49];
            ++low[id & (kBuckets - 1)];
        }
        INFO("key " << seed);
        for (const auto& counts : {buckets, low}) {
            // One each on average: e^-1 are empty, within 6 deviations; a place has 10 with probability
            // 0.0004.
            const auto empty = static_cast<double>(std::ranges::count(counts, 0U));
            CHECK(empty == Approx(kBuckets * 0.36788).margin(6 * 56));
            CHECK(*std::ranges::max_element(counts) <= 10);
        }
    }
}

TEST_CASE("connections: added ones are found and removed ones are not, whatever lies beside them") {
    weir::testing::Random32 random(7);
    ConnectionTable table({.connections = 1024, .vnics = 3, .own = 341});
    std::map<ConnectionId, VnicId> model;
    const auto any = [&] {  // few homes, so that they collide; some with the same upper bits
        const std::uint64_t high = random() % 300;
        return (high << 55) | random() % 4;
    };
    for (unsigned step = 0; step < weir::testing::rounds(200'000); ++step) {
        const ConnectionId id = any();
        TrackedConnection* const found = table.find(id, 0);
        REQUIRE((found != nullptr) == (model.count(id) == 1));
        if (found != nullptr) {
            REQUIRE(found->vnic == model[id]);
            if (random() % 2 == 0) {
                table.remove(id);
                model.erase(id);
            }
        } else if (const auto vnic = static_cast<VnicId>(random() % 3); table.size(vnic) < 330) {
            REQUIRE(table.add(id, vnic, 1, 0) != nullptr);
            model[id] = vnic;
        }
    }
    CHECK(table.size() == model.size());
    std::map<VnicId, std::uint32_t> counts;
    for (const auto& [id, vnic] : model) {
        CHECK(table.find(id, 0) != nullptr);
        ++counts[vnic];
    }
    for (VnicId vnic = 0; vnic < 3; ++vnic)
        CHECK(table.size(vnic) == counts[vnic]);
}

TEST_CASE("connections: a slot is not used when its connection was removed since") {
    ConnectionTable table({.connections = 16, .own = 16});
    const ConnectionId id = 5;
    REQUIRE(table.add(id, 0, 0, 0) != nullptr);
    const ConnectionTable::Slot slot = table.probe(id);
    table.remove(id);
    CHECK(table.at(id, slot, 0) == nullptr);
    REQUIRE(table.add(77, 0, 0, 0) != nullptr);
    CHECK(table.at(id, slot, 0) == nullptr);
}

TEST_CASE(
    "connections: a vNIC has its own places and of the rest what it leaves free; refusals are counted") {
    ConnectionTable table({.connections = 16, .vnics = 2, .own = 4});
    for (ConnectionId id = 1; id <= 12; ++id)
        CHECK((table.add(id << 50, 0, 0, 0) != nullptr) == (id <= 8));
    for (ConnectionId id = 21; id <= 30; ++id)
        CHECK((table.add(id << 50, 1, 0, 0) != nullptr) == (id <= 26));
    CHECK(table.size() == 14);
    CHECK(table.size(0) == 8);
    CHECK(table.refused() == 8);
    table.remove(1ULL << 50);
    table.remove(2ULL << 50);
    CHECK(table.add(98ULL << 50, 1, 0, 0) != nullptr);
    CHECK(table.add(99ULL << 50, 1, 0, 0) == nullptr);
}

TEST_CASE(
    "connections: those that are idle or whose vNIC has left are forgotten, a bounded number of places at a "
    "time") {
    ConnectionTable table({.connections = 64, .vnics = 2, .own = 32, .idle = 10 * kNanosPerSec});
    weir::testing::Random32 random(3);
    std::vector<ConnectionId> ids;
    for (int i = 0; i < 40; ++i) {
        ids.push_back(std::uint64_t{random()} << 32 | random());
        REQUIRE(table.add(ids.back(), i % 2 == 0 ? 0 : 1, 0, 0) != nullptr);
    }
    for (int i = 0; i < 20; ++i)
        REQUIRE(table.find(ids[static_cast<std::size_t>(i)], 8 * kNanosPerSec) != nullptr);
    table.sweep(11 * kNanosPerSec, 1000, kIgnore);
    CHECK(table.size() == 40);
    unsigned gone = 0;
    table.sweep(15 * kNanosPerSec, 4, [&](TrackedConnection&) { ++gone; });
    CHECK(gone <= 4);
    table.sweep(15 * kNanosPerSec, 256, [&](TrackedConnection&) { ++gone; });
    CHECK(gone == 20);
    CHECK(table.size() == 20);
    table.leave(1);
    CHECK(table.add(12345, 1, 0, 15 * kNanosPerSec) == nullptr);
    table.sweep(15 * kNanosPerSec, 256, kIgnore);
    CHECK(table.size() == 10);
    CHECK(table.size(1) == 0);
    table.join(1);
    CHECK(table.add(12345, 1, 0, 15 * kNanosPerSec) != nullptr);
}

TEST_CASE("connections: the time of last use wraps") {
    ConnectionTable table({.connections = 16, .own = 16, .idle = 10 * kNanosPerSec});
    const Nanos before_wrap = (Nanos{1} << 46) - kNanosPerSec;
    REQUIRE(table.add(5, 0, 0, before_wrap) != nullptr);
    table.sweep(before_wrap + 5 * kNanosPerSec, 64, kIgnore);
    CHECK(table.size() == 1);
    table.sweep(before_wrap + 15 * kNanosPerSec, 64, kIgnore);
    CHECK(table.size() == 0);
}

TEST_CASE("a million connections and their tracker take at most 128 MiB") {
    const ConnectionTable table({.connections = 1 << 20, .vnics = 1024});
    const Tracker tracker(kProtocols, {.pendings = SharedRoom::divide(1 << 19, 1024, 16),
                                       .buffers = SharedRoom::divide(1 << 14, 1024, 1)});
    CHECK(table.memory_bytes() >= (64U + 16U) << 20);
    CHECK(table.memory_bytes() + tracker.memory_bytes() <= 128U << 20);
}
