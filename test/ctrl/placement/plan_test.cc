// plan_test.cc - over-commitments and broken guarantees of a plan.
#include "ctrl/placement/plan.h"

#include "test/ctrl/placement/topologies.h"
#include "test/support/catch.h"

using namespace weir::placement;
using weir::testing::is_over;
using weir::testing::tenant;
using weir::testing::tree;

TEST_CASE("a plan that fits breaks nothing", "[placement]") {
    const Topology topology = tree(0, 2, 10, 0, 4);
    const std::vector<Tenant> tenants{tenant("a", {4, 4}), tenant("b", {4, 4})};
    const std::vector<Layout> there{{.hosts = {0, 1}, .appliances = {}}};
    const Plan plan = make_plan(topology, LinkNeed::kHose, tenants, there, Misfits::kForce);
    CHECK(plan.fits());
    CHECK_FALSE(is_over(plan.after));
    CHECK(plan.after.broken.empty());
    CHECK(plan.entries[0].layout.hosts == there[0].hosts);
}

TEST_CASE("a broken guarantee is listed with the rate that remains possible", "[placement]") {
    const Topology topology = tree(0, 2, 10, 0, 1000);
    std::vector<Tenant> tenants{tenant("a", {8, 8}), tenant("b", {8, 8}), tenant("c", {3, 3})};
    for (std::size_t i = 1; i < 3; ++i) {
        tenants[i].vnics[0].host = 0;
        tenants[i].vnics[1].host = 1;
    }
    const std::vector<Layout> there{{.hosts = {0, 1}, .appliances = {}}};
    const Plan plan = make_plan(topology, LinkNeed::kHose, tenants, there, Misfits::kForce);
    CHECK_FALSE(plan.fits());
    CHECK(plan.entries[0].fits);
    CHECK_FALSE(plan.entries[1].fits);
    CHECK(plan.entries[1].why.need == 16);
    CHECK(plan.entries[1].why.have == 10);
    CHECK_FALSE(plan.entries[2].fits);  // 8 + 8 + 3, with b forced
    REQUIRE(plan.after.loads.size() == 4);
    const Load& link = plan.after.loads[0];
    CHECK(link.constraint.kind == ConstraintKind::kHostLink);
    CHECK(link.need == 19);
    CHECK(link.is_over());
    CHECK_FALSE(
        is_over(audit(topology, LinkNeed::kHose, std::span(tenants).first(1), there)));  // without b, c
    CHECK(link.parts.size() == 3);
    REQUIRE(plan.after.broken.size() == 3);
    CHECK(plan.after.broken[0].tenant == 0);
    CHECK(plan.after.broken[0].guaranteed == 8);
    CHECK(plan.after.broken[0].possible == 4);  // 8 * 10 / 19
    CHECK(plan.after.broken[2].guaranteed == 3);
    CHECK(plan.after.broken[2].possible == 1);
}

TEST_CASE("a load that was over-committed before stays so beside a tenant that fits", "[placement]") {
    const Topology topology = tree(0, 2, 10, 0, 4);
    const std::vector<Tenant> tenants{tenant("a", {16, 16}), tenant("b", {1, 1})};
    const std::vector<Layout> there{{.hosts = {0, 1}, .appliances = {}}};
    const Plan plan = make_plan(topology, LinkNeed::kHose, tenants, there, Misfits::kForce);
    CHECK(plan.fits());  // b goes to one host, and needs no link
    CHECK(is_over(plan.after));
    CHECK(plan.after.loads[0].is_over());
    CHECK(is_over(audit(topology, LinkNeed::kHose, std::span(tenants).first(1), there)));
    CHECK(plan.after.broken.size() == 1);
}

TEST_CASE("a tenant that does not fit is forced where the fullest constraint stays the least full",
          "[placement]") {
    Topology topology = tree(0, 3, 10, 0, 1);
    topology.hosts[1].uplink = 15;
    topology.hosts[2].uplink = 16;
    const std::vector<Tenant> tenants{tenant("a", {20, 20})};
    const Plan plan = make_plan(topology, LinkNeed::kHose, tenants, {}, Misfits::kForce);
    CHECK_FALSE(plan.fits());
    CHECK(plan.entries[0].layout.hosts == std::vector<std::uint32_t>{2, 1});
    REQUIRE(plan.after.broken.size() == 1);
    CHECK(plan.after.broken[0].constraint.index == 1);
    CHECK(plan.after.broken[0].possible == 15);
}

TEST_CASE("a tenant that asks for a missing appliance type is left out", "[placement]") {
    const Topology topology = tree(0, 1, 10, 0, 4);
    std::vector<Tenant> tenants{tenant("a", {4}), tenant("b", {4})};
    tenants[0].appliances.push_back({.id = "disk", .type = "nbd", .reservation = 1});
    const Plan plan = make_plan(topology, LinkNeed::kHose, tenants, {}, Misfits::kForce);
    CHECK_FALSE(plan.entries[0].fits);
    CHECK_FALSE(plan.entries[0].in);
    CHECK(plan.entries[1].fits);
    CHECK(plan.after.loads.size() == 1);  // b's slot
    CHECK(plan.after.loads[0].parts[0].tenant == 1);
}

TEST_CASE("too many vNICs on a host break no guaranteed rate", "[placement]") {
    const Topology topology = tree(0, 1, 10, 0, 1);
    const std::vector<Tenant> tenants{tenant("a", {1, 1})};
    const Plan plan = make_plan(topology, LinkNeed::kHose, tenants, {}, Misfits::kForce);
    CHECK_FALSE(plan.fits());
    CHECK(plan.entries[0].why.constraint.kind == ConstraintKind::kSlots);
    CHECK(is_over(plan.after));
    CHECK(plan.after.broken.empty());
}

TEST_CASE("a refused tenant is not counted", "[placement]") {
    const Topology topology = tree(0, 2, 10, 0, 1);
    const std::vector<Tenant> tenants{tenant("a", {11, 11}), tenant("b", {4, 4})};
    const Plan plan = make_plan(topology, LinkNeed::kHose, tenants, {}, Misfits::kLeaveOut);
    CHECK_FALSE(plan.entries[0].fits);
    CHECK_FALSE(plan.entries[0].in);
    CHECK(plan.entries[1].fits);
    CHECK_FALSE(is_over(plan.after));
}
