// link_plan_test.cc - reservations of a host's vNICs when the host's link carries less than they are.
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "ctrl/daemon/interval_solver.h"
#include "test/ctrl/daemon/controller_world.h"
#include "test/support/catch.h"
#include "test/support/random.h"

using namespace weir;
using test::FakeSwitch;
using test::kInterval;

namespace {

constexpr std::uint64_t kCutGbit = 1'000'000'000;
constexpr double kCutGbitBytes = 125e6;

/// Tenants A and B reserve 4 Gbit/s each on h1 and h2, links of 10 Gbit/s.
const char* const kCutLinks =
    R"({"headroom": "0%", "topology": {"hosts": [{"name": "h1", "uplink": "10Gbit"},
        {"name": "h2", "uplink": "10Gbit"}]},
    "appliances": [{"name": "disk", "capacity_min": "1ktokens", "capacity_max": "1ktokens"}],
    "tenants": [{"name": "A", "vnics": [{"name": "a1", "reservation": "4Gbit"}, {"name": "a2", "reservation": "4Gbit"}],
                 "appliances": [{"name": "disk", "reservation": "400tokens"}]},
                {"name": "B", "vnics": [{"name": "b1", "reservation": "4Gbit"}, {"name": "b2", "reservation": "4Gbit"}]}]})";

struct Placed {
    ClusterConfig config;
    std::uint32_t last_id = 0;
    Cluster cluster;
    IntervalSolver solver{config};
    FlowDemands demands;

    explicit Placed(ClusterConfig of)
        : config(std::move(of)), cluster(config, [this](auto, auto) { return ++last_id; }) {}
    explicit Placed(const char* text) : Placed(std::get<ClusterConfig>(parse_cluster(text))) {}
    [[nodiscard]] wire::FlowKey flow(const char* from, const char* to) const {
        return {cluster.find_vnic(from)->id, cluster.find_vnic(to)->id};
    }
    void place(const char* vnic, HostIndex host) {
        cluster.place_vnic(cluster.find_vnic(vnic)->id, host, "", 0);
    }
    void want(const char* from, const char* to, double bytes) {
        const wire::FlowKey key = flow(from, to);
        demands[key] = {.flow = key, .used = {static_cast<float>(bytes), 0, 0}};
    }
    double rate(const char* from, const char* to) {
        for (const wire::FlowAllocation& each : solver.solve(cluster, demands, true))
            if (each.flow == flow(from, to))
                return static_cast<double>(each.rate[wire::kThere]);
        return -1;
    }
};

struct TwoTenants : Placed {
    TwoTenants() : Placed(kCutLinks) {
        place("a1", 0);
        place("b1", 0);
        place("a2", 1);
        place("b2", 1);
    }
};

/// Those of its warnings that name a cut.
std::vector<std::string> cut_warnings(const nlohmann::json& host) {
    std::vector<std::string> found;
    for (const auto& warning : host["warnings"].get<std::vector<std::string>>())
        if (warning.find("is cut to") != std::string::npos)
            found.push_back(warning);
    return found;
}

}  // namespace

TEST_CASE("of 8 Gbit/s reserved where 6 are planned each reservation counts three quarters, until it rises",
          "[cut]") {
    TwoTenants site;
    CHECK(site.cluster.link_plan(0).reserved == 8 * kCutGbitBytes);
    CHECK(site.cluster.kept_part(0) == 1);
    CHECK(site.cluster.floor_bytes(site.flow("a1", "a2")) == 500'000'000);
    site.cluster.set_uplink(0, 6 * kCutGbit);
    CHECK(site.cluster.kept_part(0) == 0.75);
    CHECK(site.cluster.kept_part(1) == 1);
    CHECK(site.cluster.floor_bytes(site.flow("a1", "a2")) == 375'000'000);
    CHECK(site.cluster.floor_bytes(site.flow("a2", "a1")) == 375'000'000);  // its way in
    const wire::FlowKey to_disk{site.flow("a1", "a2").source, site.cluster.appliance_id(0)};
    CHECK(site.cluster.guarantee_of(to_disk).rate[wire::kTokens] == 150);  // of 200: half of A's part
    CHECK(
        cut_text(site.cluster.link_plan(0)) ==
        "its vNICs reserve 8Gbit of its uplink, of which 6Gbit are planned: each reservation is cut to 75%");
    site.cluster.set_uplink(0, 9 * kCutGbit);
    CHECK(site.cluster.kept_part(0) == 1);
    CHECK(site.cluster.floor_bytes(site.flow("a1", "a2")) == 500'000'000);
    CHECK(site.cluster.guarantee_of(to_disk).rate[wire::kTokens] == 200);
}

TEST_CASE("the allocation divides cut reservations first, then the rest", "[cut]") {
    TwoTenants site;
    site.cluster.set_uplink(0, 6 * kCutGbit);
    site.want("a1", "a2", 10 * kCutGbitBytes);
    site.want("b1", "b2", 2 * kCutGbitBytes);
    // 3 and 2 of the reservations of 3 Gbit/s each; the sixth is A's alone. B keeps its guarantee to grow.
    CHECK(site.rate("b1", "b2") == Approx(3 * kCutGbitBytes).epsilon(0.001));
    CHECK(site.rate("a1", "a2") == Approx(4 * kCutGbitBytes).epsilon(0.001));
    site.want("b1", "b2", 10 * kCutGbitBytes);
    CHECK(site.rate("b1", "b2") == Approx(3 * kCutGbitBytes).epsilon(0.001));
    CHECK(site.rate("a1", "a2") == Approx(3 * kCutGbitBytes).epsilon(0.001));
    site.cluster.set_uplink(0, 0);  // as the file says
    CHECK(site.rate("a1", "a2") == Approx(5 * kCutGbitBytes).epsilon(0.001));
}

TEST_CASE("a vNIC that leaves gives the others their reservations back", "[cut]") {
    TwoTenants site;
    site.cluster.set_uplink(0, 6 * kCutGbit);
    site.cluster.remove_vnic(site.flow("b1", "b2").source);
    CHECK(site.cluster.kept_part(0) == 1);
    site.place("b1", 1);
    CHECK(site.cluster.kept_part(0) == 1);
    site.place("b1", 0);
    CHECK(site.cluster.kept_part(0) == 0.75);
}

TEST_CASE("reservations that cannot be used at once over the link are not cut", "[cut]") {
    Placed site(R"({"headroom": "0%", "topology": {"hosts": [{"name": "h1", "uplink": "10Gbit"},
        {"name": "h2", "uplink": "10Gbit"}]}, "tenants": [{"name": "A", "vnics": [
            {"name": "a1", "reservation": "4Gbit"}, {"name": "a2", "reservation": "4Gbit"},
            {"name": "a3", "reservation": "1Gbit"}]}]})");
    site.place("a1", 0);
    site.place("a2", 0);
    site.place("a3", 1);
    site.cluster.set_uplink(0, 5 * kCutGbit);  // a1 and a2 send to each other, and 1 Gbit/s to a3
    CHECK(site.cluster.kept_part(0) == 1);
    site.cluster.set_uplink(0, kCutGbit / 2);
    CHECK(site.cluster.kept_part(0) == 0.0625);
}

TEST_CASE("switches receive the cut floors, status shows them, and both have the whole ones again", "[cut]") {
    struct World : test::ControllerWorld {
        FakeSwitch h1{"h1", {"a1", "b1"}, "r1"};
        FakeSwitch h2{"h2", {"a2", "b2"}, "r2"};
        World() : ControllerWorld(kCutLinks) {
            switches = {&h1, &h2};
            for (FakeSwitch* each : switches)
                each->hello.capabilities = {std::string(wire::capability::kPairFloors)};
            join(h1);
            join(h2);
            pass_interval(switches);
        }
    } world;
    CHECK(*world.h2.endpoint("a1")->floor == 500'000'000);
    CHECK(world.host("h1")["link"]["kept_percent"] == 100);
    CHECK_FALSE(world.host("h1")["link"].contains("cut"));
    world.h1.hello.uplink_bps = 6 * kCutGbit;
    world.join(world.h1);
    world.pass_interval(world.switches);
    CHECK(*world.h1.endpoint("a1")->floor == 375'000'000);
    CHECK(*world.h2.endpoint("a1")->floor == 375'000'000);
    CHECK(*world.h2.endpoint("a2")->floor == 500'000'000);
    const auto host = world.host("h1");
    CHECK(host["link"]["planned_bps"] == 6 * kCutGbit);
    CHECK(host["link"]["reserved_bps"] == 8 * kCutGbit);
    CHECK(host["link"]["kept_percent"] == 75);
    REQUIRE(host["link"]["cut"].size() == 2);
    CHECK(host["link"]["cut"][1] ==
          nlohmann::json{{"vnic", "b1"}, {"reservation_bps", 4 * kCutGbit}, {"kept_bps", 3 * kCutGbit}});
    CHECK(cut_warnings(host) ==
          std::vector<std::string>{
              "its vNICs reserve 8Gbit of its uplink, of which 6Gbit are planned: each reservation is cut to "
              "75% until the link has its capacity again, or vNICs leave the host"});
    CHECK(cut_warnings(world.host("h2")).empty());
    world.h1.hello.uplink_bps = 10 * kCutGbit;
    world.join(world.h1);
    world.pass_interval(world.switches);
    CHECK(*world.h2.endpoint("a1")->floor == 500'000'000);
    CHECK(cut_warnings(world.host("h1")).empty());
}

namespace {

/// 2 to 5 hosts, 1 to 4 tenants; reservations that fit the links when all stand alone.
ClusterConfig random_config(testing::Random32& random) {
    ClusterConfig config;
    config.headroom = 0;
    for (std::uint32_t i = 0; i < 2 + random() % 4; ++i)
        config.hosts.push_back(
            {.name = "h" + std::to_string(i), .uplink_bps = (1 + random() % 40) * kCutGbit});
    for (std::uint32_t t = 0; t < 1 + random() % 4; ++t) {
        TenantConfig& tenant = config.tenants.emplace_back();
        tenant.name = std::string(1, static_cast<char>('a' + t));
        for (std::uint32_t i = 0; i < 1 + random() % 6; ++i)
            tenant.vnics.push_back(
                {.name = tenant.name + std::to_string(i), .reservation_bps = random() % 5 * kCutGbit});
    }
    return config;
}

}  // namespace

TEST_CASE("for any fall of links no guarantees of a link exceed its planned capacity, and others are not cut",
          "[cut][property]") {
    for (std::uint32_t seed = 1; seed <= 300; ++seed) {
        testing::Random32 random(seed);
        Placed site(random_config(random));
        const auto hosts = static_cast<std::uint32_t>(site.config.hosts.size());
        for (const std::uint32_t id : site.cluster.vnics())
            if (random() % 8 != 0)
                site.cluster.place_vnic(id, random() % hosts, "", 0);
        std::vector<bool> fell(hosts);
        for (HostIndex host = 0; host < hosts; ++host)
            if (random() % 2 == 0) {
                site.cluster.set_uplink(host,
                                        1 + random() % (site.config.hosts[host].uplink_bps / 1'000) * 1'000);
                fell[host] = true;
            }
        std::vector<double> out(hosts);
        std::vector<double> in(hosts);
        for (const std::uint32_t source : site.cluster.vnics())
            for (const std::uint32_t destination : site.cluster.vnics()) {
                const wire::FlowKey flow{source, destination};
                const HostIndex from = site.cluster.find_end(source)->host;
                const HostIndex to = site.cluster.find_end(destination)->host;
                if (from == kNowhere || to == kNowhere || from == to || !site.cluster.allows(flow))
                    continue;
                const auto floor = static_cast<double>(site.cluster.floor_bytes(flow));
                out[from] += floor;
                in[to] += floor;
            }
        const double least = static_cast<double>(site.cluster.vnics().size() * site.cluster.vnics().size());
        for (HostIndex host = 0; host < hosts; ++host) {
            INFO("seed " << seed << ", host " << host);
            const LinkPlan& plan = site.cluster.link_plan(host);
            if (!fell[host])
                CHECK(plan.kept_part == 1);
            else {
                CHECK(out[host] <= plan.planned + least);  // at least 1 for a pair
                CHECK(in[host] <= plan.planned + least);
                CHECK((plan.kept_part == 1 || plan.kept_part * plan.reserved == Approx(plan.planned)));
            }
        }
    }
}
