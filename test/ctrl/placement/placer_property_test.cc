// placer_property_test.cc - the placer against every layout of small datacenters, and over-commitment of none
// in large ones.
#include "ctrl/placement/plan.h"
#include "test/ctrl/placement/topologies.h"
#include "test/support/catch.h"
#include "test/support/random.h"

using namespace weir::placement;
using weir::testing::Random32;

namespace {

Topology random_topology(Random32& random, std::uint32_t hosts_most) {
    const std::uint32_t racks = random() % 3;
    Topology topology = weir::testing::tree(racks, 1 + random() % hosts_most, 4 + random() % 10,
                                            3 + random() % 12, 1 + random() % 3);
    for (Host& host : topology.hosts)
        host.uplink = random() % 3 == 0 ? host.uplink + random() % 5 : host.uplink;
    const std::uint32_t appliances = random() % 3;
    for (std::uint32_t i = 0; i < appliances; ++i) {
        Appliance appliance{.id = "p" + std::to_string(i), .type = "kvs", .capacity = 5 + random() % 20};
        const std::uint32_t where = random() % 3;
        if (where == 0)
            appliance.host = static_cast<std::uint32_t>(random() % topology.hosts.size());
        if (where == 1 && racks != 0)
            appliance.rack = random() % racks;
        if (appliance.host == kAnywhere)
            appliance.link = 2 + random() % 15;
        topology.appliances.push_back(appliance);
    }
    return topology;
}

Tenant random_tenant(Random32& random, const Topology& topology, std::uint32_t vnics_most) {
    Tenant tenant = weir::testing::tenant("t", {});
    const std::uint32_t vnics = 1 + random() % vnics_most;
    for (std::uint32_t i = 0; i < vnics; ++i) {
        tenant.vnics.push_back({.id = std::to_string(i), .reservation = random() % 8});
        if (random() % 8 == 0)
            tenant.vnics.back().host = static_cast<std::uint32_t>(random() % topology.hosts.size());
    }
    if (!topology.appliances.empty() && random() % 2 == 0)
        tenant.appliances.push_back(
            {.id = "v", .type = "kvs", .reservation = random() % 12, .bandwidth = random() % 9});
    return tenant;
}

bool fits(const Ledger& ledger, const Tenant& tenant, const Layout& layout) {
    for (const Need& need : needs_of(ledger.topology(), ledger.link_need(), tenant, layout)) {
        if (need.amount > ledger.left(need.constraint))
            return false;
    }
    return true;
}

/// Every layout, in the order of an odometer.
bool any_fits(const Ledger& ledger, const Tenant& tenant) {
    const auto hosts = static_cast<std::uint32_t>(ledger.topology().hosts.size());
    const auto appliances = static_cast<std::uint32_t>(ledger.topology().appliances.size());
    Layout layout{.hosts = std::vector<std::uint32_t>(tenant.vnics.size(), 0),
                  .appliances = std::vector<std::uint32_t>(tenant.appliances.size(), 0)};
    const auto allowed = [&] {
        for (std::size_t i = 0; i < tenant.vnics.size(); ++i) {
            if (tenant.vnics[i].host != kAnywhere && tenant.vnics[i].host != layout.hosts[i])
                return false;
        }
        return true;
    };
    const auto advance = [](std::vector<std::uint32_t>& digits, std::uint32_t base) {
        for (std::uint32_t& digit : digits) {
            if (++digit < base)
                return true;
            digit = 0;
        }
        return false;
    };
    do {
        do {
            if (allowed() && fits(ledger, tenant, layout))
                return true;
        } while (advance(layout.hosts, hosts));
    } while (advance(layout.appliances, appliances));
    return false;
}

void check_nothing_is_over(const Ledger& ledger) {
    const Topology& topology = ledger.topology();
    const auto check = [&](ConstraintKind kind, std::size_t count) {
        for (std::uint32_t i = 0; i < count; ++i)
            REQUIRE(ledger.need({kind, i}) <= ledger.have({kind, i}));
    };
    check(ConstraintKind::kHostLink, topology.hosts.size());
    check(ConstraintKind::kRackLink, topology.racks.size());
    check(ConstraintKind::kApplianceLink, topology.appliances.size());
    check(ConstraintKind::kApplianceTokens, topology.appliances.size());
    check(ConstraintKind::kSlots, topology.hosts.size());
}

}  // namespace

TEST_CASE("a small datacenter takes a tenant exactly when some placement exists", "[placement][long]") {
    Random32 random(2014);
    int placed = 0;
    int refused = 0;
    for (int round = 0; round < 3000; ++round) {
        CAPTURE(round);
        const Topology topology = random_topology(random, 3);
        const LinkNeed link_need = random() % 4 == 0 ? LinkNeed::kSum : LinkNeed::kHose;
        Placer placer(topology, link_need);
        for (int t = 0; t < 4; ++t) {
            const Tenant tenant = random_tenant(random, topology, 5);
            const Ledger before = placer.ledger();
            const bool possible = any_fits(before, tenant);
            const Outcome outcome = placer.place(tenant);
            REQUIRE(outcome.layout.has_value() == possible);
            check_nothing_is_over(placer.ledger());
            if (outcome.layout) {
                REQUIRE(fits(before, tenant, *outcome.layout));
                ++placed;
            } else {
                REQUIRE(outcome.why.proven);
                REQUIRE((outcome.why.nowhere || outcome.why.need > outcome.why.have));
                ++refused;
            }
        }
    }
    CHECK(placed > 3000);
    CHECK(refused > 1000);
}

TEST_CASE("the greedy pass alone finds nearly every layout that exists", "[placement]") {
    Random32 random(2015);
    int possible = 0;
    int found = 0;
    for (int round = 0; round < 3000; ++round) {
        const Topology topology = random_topology(random, 3);
        Placer quick(topology, LinkNeed::kHose, 1);
        const Tenant tenant = random_tenant(random, topology, 5);
        if (!any_fits(quick.ledger(), tenant))
            continue;
        ++possible;
        found += quick.place(tenant).layout.has_value();
    }
    INFO(found << " of " << possible);
    CHECK(found >= possible * 95 / 100);
}

TEST_CASE("a full datacenter of 200 hosts is filled and never over-committed", "[placement]") {
    Random32 random(2016);
    for (const LinkNeed link_need : {LinkNeed::kHose, LinkNeed::kSum}) {
        Topology topology = weir::testing::tree(10, 20, 1000, 15'000, 12);
        for (std::uint32_t i = 0; i < 8; ++i)
            topology.appliances.push_back(
                {.id = "p" + std::to_string(i), .type = "kvs", .capacity = 5000, .rack = i, .link = 4000});
        Placer placer(topology, link_need, 2000);
        std::vector<Tenant> tenants;
        std::vector<Layout> layouts;
        for (int t = 0; t < 120; ++t) {
            Tenant tenant = weir::testing::tenant("t" + std::to_string(t), {});
            const std::uint32_t vnics = 1 + random() % 49;
            for (std::uint32_t i = 0; i < vnics; ++i)
                tenant.vnics.push_back({.id = std::to_string(i), .reservation = 10 + random() % 150});
            if (random() % 2 == 0)
                tenant.appliances.push_back({.id = "v",
                                             .type = "kvs",
                                             .reservation = 100 + random() % 800,
                                             .bandwidth = 50 + random() % 400});
            const Outcome outcome = placer.place(tenant);
            if (outcome.layout) {
                tenants.push_back(tenant);
                layouts.push_back(*outcome.layout);
            } else {
                REQUIRE((outcome.why.need > outcome.why.have));
            }
        }
        check_nothing_is_over(placer.ledger());
        const Audit audited = audit(topology, link_need, tenants, layouts);
        CHECK_FALSE(weir::testing::is_over(audited));
        CHECK(audited.broken.empty());
        for (const Load& load : audited.loads)
            REQUIRE(load.need == placer.ledger().need(load.constraint));
        CHECK(tenants.size() > 40);
    }
}
