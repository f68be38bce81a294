// ledger_property_test.cc - needs after moves of single vNICs, against the needs of the whole layout.
#include "test/ctrl/placement/topologies.h"
#include "test/support/catch.h"
#include "test/support/random.h"

using namespace weir::placement;
using weir::testing::Random32;

namespace {

Topology moves_topology(Random32& random) {
    const std::uint32_t racks = random() % 3;
    Topology topology = weir::testing::tree(racks, 1 + random() % 4, 1000, 2000, 8);
    const auto hosts = static_cast<std::uint32_t>(topology.hosts.size());
    for (std::uint32_t i = 0; i < 2; ++i)
        topology.appliances.push_back({.id = "p" + std::to_string(i),
                                       .type = "kvs",
                                       .capacity = 5000,
                                       .host = random() % 2 == 0 ? random() % hosts : kAnywhere});
    return topology;
}

Tenant moves_tenant(Random32& random, const Topology& topology) {
    Tenant tenant = weir::testing::tenant("t", {});
    for (std::uint32_t i = 0; i < 1 + random() % 9; ++i)
        tenant.vnics.push_back({.id = std::to_string(i), .reservation = random() % 4 * 50});
    for (std::uint32_t i = 0; i < random() % 3; ++i)
        tenant.appliances.push_back(
            {.id = "v" + std::to_string(i),
             .type = "kvs",
             .reservation = random() % 300,
             .bandwidth = random() % 200,
             .appliance = random() % static_cast<std::uint32_t>(topology.appliances.size())});
    return tenant;
}

void require_equal(const Ledger& moved, const Ledger& whole) {
    const Topology& topology = moved.topology();
    const auto compare = [&](ConstraintKind kind, std::size_t count) {
        for (std::uint32_t i = 0; i < count; ++i)
            REQUIRE(moved.need({kind, i}) == whole.need({kind, i}));
    };
    compare(ConstraintKind::kHostLink, topology.hosts.size());
    compare(ConstraintKind::kRackLink, topology.racks.size());
    compare(ConstraintKind::kApplianceLink, topology.appliances.size());
    compare(ConstraintKind::kApplianceTokens, topology.appliances.size());
    compare(ConstraintKind::kSlots, topology.hosts.size());
}

}  // namespace

TEST_CASE("of ten vNICs of 1, moved one by one to a host, its link needs 1, 2, 3, 4, 5, 4, 3, 2, 1, 0",
          "[placement]") {
    const Topology topology = weir::testing::tree(0, 2, 10, 0, 10);
    const Tenant tenant = weir::testing::tenant("t", std::vector<Tokens>(10, 1));
    Ledger ledger(topology, LinkNeed::kHose);
    PlacedTenant placed = ledger.put(tenant, unplaced(tenant));
    std::vector<Tokens> needs;
    for (std::uint32_t vnic = 0; vnic < 10; ++vnic) {
        ledger.move(placed, vnic, 1);
        needs.push_back(ledger.need({ConstraintKind::kHostLink, 1}));
    }
    CHECK(needs == std::vector<Tokens>{1, 2, 3, 4, 5, 4, 3, 2, 1, 0});
    CHECK(ledger.need({ConstraintKind::kSlots, 1}) == 10);
    CHECK(placed.layout().hosts == std::vector<std::uint32_t>(10, 1));
}

TEST_CASE("needs after any moves are those of the whole layout", "[placement]") {
    Random32 random(38);
    for (int round = 0; round < 300; ++round) {
        CAPTURE(round);
        const Topology topology = moves_topology(random);
        const auto hosts = static_cast<std::uint32_t>(topology.hosts.size());
        const LinkNeed link_need = random() % 3 == 0 ? LinkNeed::kSum : LinkNeed::kHose;
        const std::vector<Tenant> tenants{moves_tenant(random, topology), moves_tenant(random, topology)};
        Ledger ledger(topology, link_need);
        std::vector<PlacedTenant> placed;
        for (const Tenant& tenant : tenants)
            placed.push_back(ledger.put(tenant, required_layout(tenant)));
        for (int step = 0; step < 40; ++step) {
            PlacedTenant& tenant = placed[random() % 2];
            const auto vnics = static_cast<std::uint32_t>(tenant.tenant().vnics.size());
            ledger.move(tenant, random() % vnics, random() % 5 == 0 ? kAnywhere : random() % hosts);
            Ledger whole(topology, link_need);
            for (const PlacedTenant& each : placed)
                whole.add(each.tenant(), each.layout());
            require_equal(ledger, whole);
        }
    }
}
