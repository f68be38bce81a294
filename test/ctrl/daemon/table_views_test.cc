// table_views_test.cc - how long a peer stays in a host's view, and how many there may be.
#include "ctrl/daemon/table_views.h"

#include "test/support/catch.h"

using namespace weir;

namespace {

ClusterConfig view_config(std::uint32_t vnics) {
    ClusterConfig config;
    config.hosts = {{.name = "h1"}, {.name = "h2"}, {.name = "h3"}};
    TenantConfig tenant;
    tenant.name = "A";
    for (std::uint32_t i = 0; i < vnics; ++i)
        tenant.vnics.push_back({.name = "a" + std::to_string(i)});
    config.tenants.push_back(std::move(tenant));
    return config;
}

std::string view_mac(std::uint32_t vnic) {
    return "mac " + std::to_string(vnic);
}

/// vNIC 0 is on host 0, all others on host 1; ids are the numbers of the vNICs, from 1.
struct Views {
    ClusterConfig config;
    Cluster cluster;
    TableViews views;

    explicit Views(std::uint32_t vnics)
        : config(view_config(vnics)),
          cluster(config, [n = 0U](auto, auto) mutable { return ++n; }),
          views(cluster) {
        for (std::uint32_t i = 0; i < vnics; ++i)
            cluster.place_vnic(i + 1, i == 0 ? 0 : 1, view_mac(i), 0);
    }
    wire::Tables ask(std::uint32_t vnic, Nanos now) {
        const wire::PeerAddress address{1, view_mac(vnic)};
        return views.answer(0, {&address, 1}, now);
    }
};

constexpr Nanos kMinute = 60 * kNanosPerSec;

}  // namespace

TEST_CASE("a peer is removed when ten minutes have passed without a flow to it", "[tables]") {
    Views world(3);
    CHECK(world.ask(1, 0).endpoints.size() == 1);
    CHECK(world.ask(2, 0).endpoints.size() == 1);
    FlowDemands flows;
    flows[{1, 2}] = {.flow = {1, 2}};  // vNIC 0 sends to vNIC 1
    for (Nanos now = 0; now <= 10 * kMinute; now += kMinute) {
        world.views.remove_idle(flows, now);
        CHECK(world.views.take_updates().changes.empty());
    }
    world.views.remove_idle(flows, 11 * kMinute);
    auto changes = world.views.take_updates().changes;
    REQUIRE(changes.contains(0));
    CHECK(changes[0].changes);
    CHECK(changes[0].removed == std::vector<std::uint32_t>{3});
    CHECK(world.views.peers_of(0) == 1);
    world.cluster.place_vnic(3, 2, view_mac(2), 0);  // is not in the view any more
    world.views.on_moved(3, 1, 2);
    CHECK(world.views.take_updates().changes.empty());
    CHECK(world.ask(2, 12 * kMinute).endpoints[0].host == "h3");
}

TEST_CASE("a host has 8,192 peers at most; further ones are unknown until one has left", "[tables]") {
    Views world(TableViews::kPeersMax + 2);
    for (std::uint32_t vnic = 1; vnic <= TableViews::kPeersMax; ++vnic)
        REQUIRE(world.ask(vnic, kMinute).endpoints.size() == 1);
    const auto last = static_cast<std::uint32_t>(TableViews::kPeersMax) + 1;
    CHECK(world.ask(last, kMinute).unknown.size() == 1);
    CHECK(world.ask(1, 11 * kMinute).endpoints.size() == 1);  // it has this one
    world.views.remove_idle({}, 12 * kMinute);
    CHECK(world.views.peers_of(0) == 1);
    CHECK(world.ask(last, 12 * kMinute).endpoints.size() == 1);
}

TEST_CASE("updates are those since the last call, and a host that gets its whole view gets no changes",
          "[tables]") {
    Views world(4);
    (void)world.ask(1, 0);
    (void)world.ask(2, 0);
    world.cluster.place_vnic(2, 2, view_mac(1), 0);
    world.views.on_moved(2, 1, 2);
    const TableViews::Updates moved = world.views.take_updates();
    CHECK(moved.whole == std::set<HostIndex>{1, 2});
    REQUIRE(moved.changes.size() == 1);
    CHECK(moved.changes.at(0).endpoints.size() == 1);
    CHECK(world.views.take_updates().whole.empty());
    world.cluster.place_vnic(3, 0, view_mac(2), 0);  // a peer comes to the host itself
    world.views.on_moved(3, 1, 0);
    const TableViews::Updates joined = world.views.take_updates();
    CHECK(joined.whole == std::set<HostIndex>{0, 1});
    CHECK(joined.changes.empty());
    world.views.on_moved(4, 1, 1);
    (void)world.views.whole(1, {});  // sent at once, as the answer to a HELLO
    CHECK(world.views.take_updates().whole.empty());
}

TEST_CASE("a vNIC that comes to an address is stated to the switches that asked for it in the last 70 s",
          "[tables]") {
    Views world(4);
    for (std::uint32_t id = 3; id <= 4; ++id)
        world.cluster.remove_vnic(id);
    CHECK(world.ask(2, kMinute).unknown.size() == 1);
    CHECK(world.ask(3, 0).unknown.size() == 1);
    CHECK(world.ask(3, 0).unknown.size() == 1);
    CHECK(world.views.sought_of(0) == 2);
    world.views.remove_idle({}, TableViews::kSoughtFor + 1);
    CHECK(world.views.sought_of(0) == 1);
    for (std::uint32_t id = 3; id <= 4; ++id) {
        world.cluster.place_vnic(id, 2, view_mac(id - 1), 0);
        world.views.on_moved(id, kNowhere, 2);
    }
    auto changes = world.views.take_updates().changes;
    REQUIRE(changes.size() == 1);
    REQUIRE(changes[0].endpoints.size() == 1);
    CHECK(changes[0].endpoints[0].name == "a2");
    CHECK(changes[0].endpoints[0].host == "h3");
    CHECK(world.views.sought_of(0) == 0);
    CHECK(world.views.peers_of(0) == 1);
}

TEST_CASE(
    "an address that was asked for stays unknown to a host whose own vNIC has it, or that left the tenant",
    "[tables]") {
    Views world(2);
    world.cluster.remove_vnic(2);
    CHECK(world.ask(1, 0).unknown.size() == 1);
    world.cluster.place_vnic(2, 0, view_mac(1), 0);
    world.views.on_moved(2, kNowhere, 0);
    CHECK(world.views.take_updates().changes.empty());
    CHECK(world.views.sought_of(0) == 1);
    for (std::uint32_t id = 1; id <= 2; ++id)
        world.cluster.place_vnic(id, 1, view_mac(id - 1), 0);
    world.views.on_moved(2, 0, 1);
    CHECK(world.views.take_updates().changes.empty());
    CHECK(world.views.peers_of(0) == 0);
    CHECK(world.views.sought_of(0) == 0);
}

TEST_CASE("1,024 addresses without a vNIC are remembered of one host", "[tables]") {
    Views world(1);
    for (std::uint32_t n = 1; n <= TableViews::kSoughtMax + 1; ++n)
        CHECK(world.ask(n, 0).unknown.size() == 1);
    CHECK(world.views.sought_of(0) == TableViews::kSoughtMax);
}
