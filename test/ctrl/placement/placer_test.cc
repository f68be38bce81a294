// placer_test.cc - layouts of tenants, and explanations of those that do not fit.
#include "ctrl/placement/placer.h"

#include <set>

#include "test/ctrl/placement/topologies.h"
#include "test/support/catch.h"

using namespace weir::placement;
using weir::testing::tenant;
using weir::testing::tree;

namespace {

constexpr Tokens kGbit = 125'000'000;

std::set<std::uint32_t> hosts_of(const Outcome& outcome) {
    REQUIRE(outcome.layout);
    return {outcome.layout->hosts.begin(), outcome.layout->hosts.end()};
}

Appliance store(Tokens capacity) {
    return {.id = "store", .type = "nbd", .capacity = capacity};
}

VirtualAppliance wants_store(Tokens tokens, Tokens bandwidth = kUnlimited) {
    return {.id = "disk", .type = "nbd", .reservation = tokens, .bandwidth = bandwidth};
}

}  // namespace

TEST_CASE("a tenant that fits one host needs no link", "[placement]") {
    const Topology topology = tree(0, 2, 10, 0, 4);
    Placer placer(topology, LinkNeed::kHose);
    CHECK(hosts_of(placer.place(tenant("a", {9, 9, 9, 9}))) == std::set<std::uint32_t>{0});
    CHECK(placer.ledger().need({ConstraintKind::kHostLink, 0}) == 0);
    CHECK(placer.ledger().need({ConstraintKind::kSlots, 0}) == 4);
}

TEST_CASE("a tenant stays in one rack when it can", "[placement]") {
    const Topology topology = tree(2, 2, 100, 10, 4);
    Placer placer(topology, LinkNeed::kHose);
    CHECK(hosts_of(placer.place(tenant("a", {5, 5, 5}))) == std::set<std::uint32_t>{0});
    // Six: not in one host, not in the rest of rack 0; across the racks it would need 15 of 10.
    CHECK(hosts_of(placer.place(tenant("b", {5, 5, 5, 5, 5, 5}))) == std::set<std::uint32_t>{2, 3});
    CHECK(placer.ledger().need({ConstraintKind::kRackLink, 1}) == 0);
    CHECK(placer.ledger().need({ConstraintKind::kHostLink, 2}) == 10);
}

TEST_CASE("all of a tenant may fit behind a link where a part does not", "[placement]") {
    // Host 0 takes one or four of five, not two or three: min(I, 15 - I) of 4.
    Topology topology = tree(0, 2, 4, 0, 4);
    topology.hosts[1].uplink = 100;
    Placer placer(topology, LinkNeed::kHose);
    const Outcome outcome = placer.place(tenant("a", {3, 3, 3, 3, 3}));
    REQUIRE(outcome.layout);
    CHECK(std::count(outcome.layout->hosts.begin(), outcome.layout->hosts.end(), 0) == 4);
    CHECK(placer.ledger().need({ConstraintKind::kHostLink, 0}) == 3);
}

TEST_CASE("the explanation names the link, its need and its capacity", "[placement]") {
    const Topology topology = tree(0, 2, 10 * kGbit, 0, 1);
    Placer placer(topology, LinkNeed::kHose);
    const Tenant a = tenant("a", {11 * kGbit, 11 * kGbit});
    const Outcome outcome = placer.place(a);
    REQUIRE_FALSE(outcome.layout);
    CHECK(outcome.why.constraint.kind == ConstraintKind::kHostLink);
    CHECK(outcome.why.need == 11 * kGbit);
    CHECK(outcome.why.have == 10 * kGbit);
    CHECK(outcome.why.proven);
    CHECK(explain(topology, a, outcome.why) ==
          "vNIC a0 of tenant a (11Gbit): the uplink of host h0 would need 11Gbit of 10Gbit; no placement "
          "exists "
          "beside the present tenants");
    CHECK(placer.ledger().need({ConstraintKind::kHostLink, 0}) == 0);  // nothing was taken
}

TEST_CASE("vNICs that encrypt come where their encryption fits, and the host's is named when it does not",
          "[placement]") {
    Topology topology = tree(0, 3, 10, 0, 4);
    topology.hosts[0].encryption = 2;
    topology.hosts[1].encryption = 5;
    topology.hosts[2].encryption = 6;
    Placer placer(topology, LinkNeed::kHose);
    Tenant a = tenant("a", {0, 0, 0, 0});
    a.vnics[1].encryption = 3;
    a.vnics[2].encryption = 3;
    a.vnics[3].encryption = 4;
    const Outcome outcome = placer.place(a);
    REQUIRE(outcome.layout);
    CHECK(placer.ledger().need({ConstraintKind::kEncryption, 1}) == 4);
    CHECK(placer.ledger().need({ConstraintKind::kEncryption, 2}) == 6);
    Tenant b = tenant("b", {0});
    b.vnics[0].encryption = 3;
    const Outcome second = placer.place(b);
    REQUIRE_FALSE(second.layout);
    CHECK(explain(topology, b, second.why) ==
          "vNIC b0 of tenant b (3tokens): the encryption of host h1 would need 7tokens of 5tokens; no "
          "placement exists beside the present tenants");
}

TEST_CASE("other tenants on the link count, and the host that is exceeded least is named", "[placement]") {
    Topology topology = tree(0, 3, 10, 0, 2);
    topology.hosts[2].uplink = 12;
    Placer placer(topology, LinkNeed::kHose);
    Tenant there = tenant("there", {4, 4, 4});
    there.vnics[0].host = 0;
    there.vnics[1].host = 1;
    there.vnics[2].host = 2;
    REQUIRE(placer.place(there).layout);
    const Outcome outcome = placer.place(tenant("b", {9, 9}));
    REQUIRE_FALSE(outcome.layout);
    CHECK(outcome.why.constraint.index == 2);
    CHECK(outcome.why.need == 13);
    CHECK(outcome.why.have == 12);
}

TEST_CASE("hosts without slots are named as full", "[placement]") {
    const Topology topology = tree(0, 2, 10, 0, 2);
    Placer placer(topology, LinkNeed::kHose);
    REQUIRE(placer.place(tenant("a", {1, 1, 1})).layout);
    const Tenant b = tenant("b", {1, 1});
    const Outcome outcome = placer.place(b);
    REQUIRE_FALSE(outcome.layout);
    CHECK(outcome.why.constraint.kind == ConstraintKind::kSlots);
    CHECK(outcome.why.need == 3);
    CHECK(outcome.why.have == 2);
    CHECK(explain(topology, b, outcome.why).find("the slots of host h0 would need 3 of 2") !=
          std::string::npos);
}

TEST_CASE("the rack's uplink is a constraint of its own", "[placement]") {
    const Topology topology = tree(2, 1, 10, 4, 2);
    Placer placer(topology, LinkNeed::kHose);
    const Outcome outcome = placer.place(tenant("a", {5, 5, 5}));
    REQUIRE_FALSE(outcome.layout);
    CHECK(outcome.why.constraint.kind == ConstraintKind::kRackLink);
    CHECK(outcome.why.need == 5);
    CHECK(outcome.why.have == 4);
}

TEST_CASE("an appliance's tokens are promised once", "[placement]") {
    Topology topology = tree(0, 4, 10, 0, 2);
    topology.appliances.push_back(store(1000));
    topology.appliances.push_back({.id = "store2", .type = "nbd", .capacity = 700});
    Placer placer(topology, LinkNeed::kHose);
    Tenant a = tenant("a", {2});
    a.appliances.push_back(wants_store(600));
    CHECK(placer.place(a).layout->appliances == std::vector<std::uint32_t>{0});
    CHECK(placer.place(a).layout->appliances == std::vector<std::uint32_t>{1});
    const Outcome outcome = placer.place(a);
    REQUIRE_FALSE(outcome.layout);
    CHECK(outcome.why.part == Shortfall::Part::kAppliance);
    CHECK(outcome.why.constraint.kind == ConstraintKind::kApplianceTokens);
    CHECK(outcome.why.constraint.index == 0);
    CHECK(outcome.why.need == 1200);
    CHECK(outcome.why.have == 1000);
    CHECK(explain(topology, a, outcome.why)
              .find("appliance disk of tenant a (600tokens): the capacity of appliance "
                    "store would need") == 0);
}

TEST_CASE("an appliance behind a host's uplink takes part of that link", "[placement]") {
    Topology topology = tree(0, 3, 10, 0, 2);
    topology.appliances.push_back(store(1000));
    topology.appliances[0].host = 0;
    Placer placer(topology, LinkNeed::kHose);
    Tenant a = tenant("a", {3, 3});
    a.appliances.push_back(wants_store(1, 4));
    a.vnics[0].host = 1;
    a.vnics[1].host = 2;
    REQUIRE(placer.place(a).layout);
    CHECK(placer.ledger().need({ConstraintKind::kHostLink, 0}) == 4);
    CHECK(placer.ledger().need({ConstraintKind::kHostLink, 1}) == 3);
    Tenant b = tenant("b", {8, 8});
    b.vnics[0].host = 1;
    b.vnics[1].host = 0;
    const Outcome outcome = placer.place(b);
    REQUIRE_FALSE(outcome.layout);
    CHECK(outcome.why.need > outcome.why.have);
}

TEST_CASE("a missing host or appliance type is reported as nowhere", "[placement]") {
    const Topology topology = tree(0, 1, 10, 0, 2);
    Placer placer(topology, LinkNeed::kHose);
    Tenant a = tenant("a", {1});
    a.appliances.push_back(wants_store(1));
    const Outcome outcome = placer.place(a);
    REQUIRE_FALSE(outcome.layout);
    CHECK(outcome.why.nowhere);
    CHECK(explain(topology, a, outcome.why) ==
          "appliance disk of tenant a (1tokens): no appliance is of type nbd");
    const Topology empty;
    Placer none(empty, LinkNeed::kHose);
    CHECK(none.place(tenant("a", {1})).why.nowhere);
    CHECK(none.place(tenant("a", {})).layout);
}

TEST_CASE("EyeQ admits by the sum of reservations", "[placement]") {
    const Topology topology = tree(0, 2, 10, 0, 4);
    Placer placer(topology, LinkNeed::kSum);
    CHECK(hosts_of(placer.place(tenant("a", {4, 4, 4}))).size() == 2);
    CHECK_FALSE(placer.place(tenant("b", {9})).layout);
    CHECK(placer.place(tenant("c", {2, 6})).layout);
}

TEST_CASE("a tenant that is removed frees what it needed", "[placement]") {
    const Topology topology = tree(0, 2, 10, 0, 1);
    Placer placer(topology, LinkNeed::kHose);
    const Tenant a = tenant("a", {9, 9});
    const Outcome first = placer.place(a);
    CHECK_FALSE(placer.place(a).layout);
    placer.remove(a, *first.layout);
    CHECK(placer.place(a).layout);
}

TEST_CASE("where the greedy pass fails the search finds the layout", "[placement]") {
    // First fit puts the 6 on host 0 and then 4s beside it; only 6+... alone on host 1 leaves room for all.
    Topology topology = tree(0, 3, 6, 0, 2);
    topology.hosts[0].slots = 1;
    topology.hosts[1].slots = 2;
    topology.hosts[2].slots = 2;
    topology.hosts[0].uplink = 3;
    Placer placer(topology, LinkNeed::kHose);
    const Outcome outcome = placer.place(tenant("a", {6, 3, 3, 3}));
    CHECK(outcome.layout);
}
