// hose_test.cc - the closed form of a hose need against a maximum flow by augmenting paths.
#include <queue>

#include "ctrl/placement/ledger.h"
#include "test/support/catch.h"
#include "test/support/random.h"
#include "test/support/sanitized.h"

using namespace weir::placement;
using weir::testing::Random32;

namespace {

/// Edmonds and Karp on a matrix of capacities, from node 0 to the last.
Tokens max_flow(std::vector<std::vector<Tokens>> left) {
    const std::size_t n = left.size();
    Tokens flow = 0;
    for (;;) {
        std::vector<std::size_t> from(n, n);
        std::queue<std::size_t> next;
        next.push(from[0] = 0);
        while (!next.empty() && from[n - 1] == n) {
            const std::size_t at = next.front();
            next.pop();
            for (std::size_t to = 0; to < n; ++to) {
                if (left[at][to] != 0 && from[to] == n) {
                    from[to] = at;
                    next.push(to);
                }
            }
        }
        if (from[n - 1] == n)
            return flow;
        Tokens most = kUnlimited;
        for (std::size_t to = n - 1; to != 0; to = from[to])
            most = std::min(most, left[from[to]][to]);
        for (std::size_t to = n - 1; to != 0; to = from[to]) {
            left[from[to]][to] -= most;
            left[to][from[to]] += most;
        }
        flow += most;
    }
}

struct End {
    Tokens reservation;
    bool appliance;
};

/// Source, senders on this side, receivers on the other, sink.
Tokens flow_across(const std::vector<End>& inside, const std::vector<End>& outside) {
    const std::size_t n = inside.size() + outside.size() + 2;
    std::vector<std::vector<Tokens>> capacity(n, std::vector<Tokens>(n));
    for (std::size_t i = 0; i < inside.size(); ++i) {
        capacity[0][1 + i] = inside[i].reservation;
        for (std::size_t o = 0; o < outside.size(); ++o) {
            if (!inside[i].appliance || !outside[o].appliance)
                capacity[1 + i][1 + inside.size() + o] = kUnlimited;
        }
    }
    for (std::size_t o = 0; o < outside.size(); ++o)
        capacity[1 + inside.size() + o][n - 1] = outside[o].reservation;
    return max_flow(std::move(capacity));
}

Side side_of(const std::vector<End>& ends) {
    Side side;
    for (const End& end : ends)
        (end.appliance ? side.appliances : side.vnics) += end.reservation;
    return side;
}

std::vector<End> random_ends(Random32& random) {
    std::vector<End> ends(random() % 5);
    for (End& end : ends)
        end = {random() % 20, random() % 3 == 0};
    return ends;
}

}  // namespace

TEST_CASE("half of a tenant behind a link needs the most", "[placement]") {
    const Side whole{.vnics = 10};
    CHECK(need_of(LinkNeed::kHose, {.vnics = 2}, whole) == 2);
    CHECK(need_of(LinkNeed::kHose, {.vnics = 5}, whole) == 5);
    CHECK(need_of(LinkNeed::kHose, {.vnics = 8}, whole) == 2);
    CHECK(need_of(LinkNeed::kHose, {.vnics = 10}, whole) == 0);
    CHECK(need_of(LinkNeed::kSum, {.vnics = 8}, whole) == 8);
}

TEST_CASE("an appliance is an end like a vNIC, but talks to vNICs only", "[placement]") {
    const Side whole{.vnics = 10, .appliances = 6};
    CHECK(need_of(LinkNeed::kHose, {.vnics = 10}, whole) == 6);      // all towards the appliance
    CHECK(need_of(LinkNeed::kHose, {.appliances = 6}, whole) == 6);  // and seen from there
    CHECK(need_of(LinkNeed::kHose, {.vnics = 5}, whole) == 5);
    CHECK(need_of(LinkNeed::kHose, {.vnics = 8}, whole) == 8);
    // An appliance on either side and no vNIC across: no flow between them.
    CHECK(need_of(LinkNeed::kHose, {.appliances = 3}, {.appliances = 6}) == 0);
}

TEST_CASE("the need is the maximum flow, in both directions", "[placement]") {
    Random32 random(1962);
    for (unsigned round = 0; round < weir::testing::rounds(20'000); ++round) {
        const std::vector<End> inside = random_ends(random);
        const std::vector<End> outside = random_ends(random);
        const Side in = side_of(inside);
        const Side whole = in + side_of(outside);
        const Tokens need = need_of(LinkNeed::kHose, in, whole);
        REQUIRE(need == flow_across(inside, outside));
        REQUIRE(need == flow_across(outside, inside));
        REQUIRE(need <= need_of(LinkNeed::kSum, in, whole));
    }
}
