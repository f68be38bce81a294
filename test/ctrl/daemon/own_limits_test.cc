// own_limits_test.cc - the solver of weir-ctrl beside limits that it does not know: a switch's own, or the
// rate of a link, holds one of two tenants at an appliance of 6,500 tokens/s.
#include <algorithm>
#include <array>
#include <map>

#include "ctrl/daemon/controller.h"
#include "ctrl/daemon/demand_table.h"
#include "ctrl/daemon/interval_solver.h"
#include "ctrl/placement/cluster_plan.h"
#include "test/support/catch.h"
#include "test/support/random.h"
#include "vswitch/agent/controller_session.h"

using namespace weir;

namespace {

constexpr double kReal = 6500;
constexpr double kLatency = 0.001;
constexpr double kWaiting = 20'000;  // tokens that each tenant has waiting
/// Intervals in which the search tries a step up and takes it back, because the tenants' mix has changed.
constexpr int kMixIsNew = 10;

constexpr const char* kTwoTenants = R"({
  "secret_key_file": "/k", "store": "/s", "interval": "1s",
  "topology": {"hosts": [{"name": "h1", "uplink": "10Gbit"}]},
  "appliances": [{"name": "disk", "capacity_min": "1ktokens", "capacity_max": "10ktokens"}],
  "tenants": [
    {"name": "A", "vnics": [{"name": "a", "host": "h1"}], "appliances": [{"name": "disk", "reservation": "400tokens"}]},
    {"name": "B", "vnics": [{"name": "b", "host": "h1"}], "appliances": [{"name": "disk", "reservation": "400tokens"}]}]
})";

constexpr const char* kFullLimit = R"({
  "secret_key_file": "/k", "store": "/s", "interval": "1s",
  "topology": {"hosts": [{"name": "h1", "uplink": "10Gbit"}]},
  "appliances": [{"name": "disk", "capacity_min": "1ktokens", "capacity_max": "10ktokens"}],
  "tenants": [{"name": "A", "vnics": [{"name": "a1", "host": "h1"}, {"name": "a2", "host": "h1"}],
               "appliances": [{"name": "disk", "reservation": "400tokens", "limit": "1ktokens"}]}]
})";

constexpr const char* kPooled = R"({
  "secret_key_file": "/k", "store": "/s", "interval": "1s",
  "topology": {"hosts": [{"name": "h1", "uplink": "10Gbit"}]},
  "appliances": [{"name": "disk", "capacity_min": "1ktokens", "capacity_max": "10ktokens"}],
  "tenants": [
    {"name": "A", "vnics": [{"name": "a", "host": "h1"}], "appliances": [{"name": "disk"}]},
    {"name": "B", "vnics": [{"name": "b", "host": "h1"}], "appliances": [{"name": "disk"}]}],
  "pools": [{"name": "p", "appliance": "disk", "vnics": [{"name": "a"}, {"name": "b"}]}]
})";

/// vNICs that want more than they get, and the appliance as a fluid: tokens that are let in beyond its
/// capacity queue there.
class HeldSite {
  public:
    struct Vnic {
        std::uint32_t id = 0;
        /// Tokens/s of the limit besides the controller's rate, and for which the switch says that requests
        /// wait then.
        double held = 1e9;
        wire::Blocked by = wire::Blocked::kNotStated;
        bool is_idle = false;
        double allocated = 400;
        double queue = 0;
        double served = 0;
    };

    explicit HeldSite(const char* cluster = kTwoTenants,
                      std::initializer_list<const char*> vnics = {"a", "b"})
        : config_(std::get<ClusterConfig>(parse_cluster(cluster, placement_faults))),
          cluster_(config_,
                   [this](auto, auto name) {
                       return ids_.emplace(std::string(name), static_cast<std::uint32_t>(ids_.size() + 1))
                           .first->second;
                   }),
          solver_(config_) {
        for (const std::string name : vnics) {
            vnics_.push_back({.id = ids_.at(name)});
            cluster_.place_vnic(ids_.at(name), 0, "02:00:00:00:00:0" + std::to_string(vnics_.size()), 0);
        }
    }

    /// Whether the switches state for which limit requests wait.
    bool states = true;
    /// Part by which measured use is wrong at most, to either side.
    double noise = 0;

    void run(unsigned intervals) {
        for (unsigned i = 0; i < intervals; ++i)
            run_interval();
    }
    Vnic& vnic(std::size_t index) { return vnics_[index]; }
    [[nodiscard]] double estimate() const { return solver_.capacities().state(0).estimate; }
    [[nodiscard]] double served(std::size_t index) const { return vnics_[index].served; }

  private:
    void run_interval() {
        double inside = 0;
        for (Vnic& vnic : vnics_) {
            vnic.served = vnic.queue + (vnic.is_idle ? 0 : std::min(vnic.allocated, vnic.held));
            inside += vnic.served;
        }
        const double part = std::min(1.0, kReal / std::max(inside, 1.0));
        for (Vnic& vnic : vnics_) {
            const double let_in = vnic.served;
            const double before = vnic.queue;
            vnic.served *= part;
            vnic.queue = let_in - vnic.served;
            report(vnic, kLatency * vnic.served + (before + vnic.queue) / 2);
        }
        for (const wire::FlowAllocation& rate : solver_.solve(cluster_, demands_, true))
            std::ranges::find(vnics_, rate.flow.source, &Vnic::id)->allocated =
                static_cast<double>(rate.rate[wire::kTokens]);
    }
    void report(const Vnic& vnic, double outstanding) {
        const wire::FlowKey flow{vnic.id, ids_.at("disk")};
        wire::FlowDemand& demand = demands_[flow];
        demand = {.flow = flow};
        if (vnic.is_idle)
            return;
        const double wrong = 1 + noise * (static_cast<double>(random_() % 2'001) / 1'000 - 1);
        demand.used[wire::kTokens] = static_cast<float>(vnic.served * wrong);
        demand.backlog[wire::kTokens] = demand.queued[wire::kTokens] = static_cast<float>(kWaiting);
        demand.outstanding[wire::kTokens] = static_cast<float>(outstanding);
        if (states)
            demand.blocked = vnic.held < vnic.allocated ? vnic.by : wire::Blocked::kAppliance;
    }

    std::map<std::string, std::uint32_t> ids_;
    ClusterConfig config_;
    Cluster cluster_;
    IntervalSolver solver_;
    FlowDemands demands_;
    std::vector<Vnic> vnics_;
    testing::Random32 random_{7};
};

}  // namespace

TEST_CASE(
    "a tenant that its switch's own limit holds leaves the rest to the other, and the estimate as it is",
    "[solver]") {
    HeldSite site;
    site.run(30);
    REQUIRE(site.estimate() == Approx(kReal).epsilon(0.05));
    site.vnic(0).held = 500;
    site.vnic(0).by = wire::Blocked::kOwnLimit;
    for (int i = 0; i < 60; ++i) {
        CAPTURE(i);
        site.run(1);
        CHECK(site.estimate() > 0.9 * kReal);
        if (i < kMixIsNew)
            continue;
        CHECK(site.estimate() == Approx(kReal).epsilon(0.1));
        CHECK(site.served(0) == Approx(500).epsilon(0.05));
        CHECK(site.served(1) > 0.85 * (kReal - 500));
    }
    site.vnic(0).held = 1e9;  // the limit is lifted
    site.run(6);
    CHECK(site.served(0) == Approx(site.served(1)).epsilon(0.1));
    CHECK(site.served(0) > 0.4 * kReal);
}

TEST_CASE("the same with a switch that does not state it: the estimate stays", "[solver]") {
    HeldSite site;
    site.states = false;
    site.run(30);
    REQUIRE(site.estimate() == Approx(kReal).epsilon(0.05));
    site.vnic(0).held = 500;
    for (int i = 0; i < 60; ++i) {
        CAPTURE(i);
        site.run(1);
        CHECK(site.estimate() == Approx(kReal).epsilon(0.1));
        CHECK(site.served(1) > 0.4 * kReal);
    }
}

TEST_CASE("a tenant that the rate of a link holds does not lower the estimate, or break its guarantee",
          "[solver]") {
    HeldSite site;
    site.run(30);
    site.vnic(0).held = 300;  // below its reservation of 400
    site.vnic(0).by = wire::Blocked::kWay;
    for (int i = 0; i < 60; ++i) {
        site.run(1);
        CHECK(site.estimate() == Approx(kReal).epsilon(0.1));
    }
}

TEST_CASE("measured use that is wrong by 4 % makes no limit of a switch's own look like the controller's",
          "[solver]") {
    HeldSite site;
    site.run(30);
    site.noise = 0.04;
    site.vnic(0).held = 500;
    site.vnic(0).by = wire::Blocked::kOwnLimit;
    site.run(kMixIsNew);
    for (int i = 0; i < 200; ++i) {
        CAPTURE(i);
        site.run(1);
        CHECK(site.estimate() == Approx(kReal).epsilon(0.1));
        CHECK(site.vnic(0).allocated < 600);
        CHECK(site.served(0) == Approx(500).epsilon(0.1));
        CHECK(site.served(1) > 0.9 * (kReal - 500));
    }
}

TEST_CASE("a switch's own limit above the fair share gives no more than the fair share", "[solver]") {
    HeldSite site;
    site.vnic(0).held = 4'000;
    site.vnic(0).by = wire::Blocked::kOwnLimit;
    site.vnic(1).is_idle = true;
    site.run(40);
    CHECK(site.served(0) == Approx(4'000).epsilon(0.05));
    site.vnic(1).is_idle = false;
    site.run(kMixIsNew);
    for (int i = 0; i < 60; ++i) {
        CAPTURE(i);
        site.run(1);
        CHECK(site.served(0) == Approx(site.served(1)).epsilon(0.1));
        CHECK(site.vnic(0).allocated == Approx(site.vnic(1).allocated).epsilon(0.01));
    }
}

TEST_CASE(
    "inside a tenant whose limit is full, a switch's own limit leaves the other vNIC the rest, steadily",
    "[solver]") {
    HeldSite site(kFullLimit, {"a1", "a2"});
    site.run(30);
    CHECK(site.served(0) == Approx(500).epsilon(0.01));
    site.vnic(0).held = 100;
    site.vnic(0).by = wire::Blocked::kOwnLimit;
    site.run(3);
    const double estimate = site.estimate();
    for (int i = 0; i < 60; ++i) {
        CAPTURE(i);
        site.run(1);
        CHECK(site.served(0) == Approx(100));
        CHECK(site.vnic(0).allocated == Approx(110).epsilon(0.01));
        CHECK(site.served(1) == Approx(890).epsilon(0.01));
        CHECK(site.vnic(0).allocated + site.vnic(1).allocated <= 1'000);
        CHECK(site.estimate() == estimate);
    }
    site.vnic(0).held = 1e9;
    site.run(3);
    CHECK(site.served(0) == Approx(500).epsilon(0.01));
}

TEST_CASE("in a pool, a switch's own limit leaves the other vNIC the rest, steadily", "[solver]") {
    HeldSite site(kPooled, {"a", "b"});
    site.run(30);
    REQUIRE(site.estimate() == Approx(kReal).epsilon(0.05));
    site.vnic(0).held = 500;
    site.vnic(0).by = wire::Blocked::kOwnLimit;
    site.run(kMixIsNew);
    for (int i = 0; i < 60; ++i) {
        CAPTURE(i);
        site.run(1);
        CHECK(site.estimate() == Approx(kReal).epsilon(0.1));
        CHECK(site.vnic(0).allocated < 600);
        CHECK(site.served(0) == Approx(500).epsilon(0.05));
        CHECK(site.served(1) > 0.85 * (kReal - 500));
    }
}

TEST_CASE("a queue for a switch's own limit is no reason to solve early", "[solver]") {
    ClusterConfig config = std::get<ClusterConfig>(parse_cluster(kTwoTenants, placement_faults));
    std::uint32_t last = 0;
    std::map<std::string, std::uint32_t> ids;
    Cluster cluster(config, [&](auto, auto name) { return ids[std::string(name)] = ++last; });
    cluster.place_vnic(ids.at("a"), 0, "02:00:00:00:00:01", 0);
    DemandTable table(cluster);
    wire::FlowDemand demand{.flow = {ids.at("a"), ids.at("disk")}};
    demand.used[wire::kTokens] = 500;
    (void)table.apply(0, {&demand, 1}, true);
    table.clear_change();
    demand.backlog[wire::kTokens] = 1e6F;
    demand.blocked = wire::Blocked::kOwnLimit;
    (void)table.apply(0, {&demand, 1}, false);
    CHECK_FALSE(table.has_large_change());
    demand.blocked = wire::Blocked::kAppliance;
    (void)table.apply(0, {&demand, 1}, false);
    CHECK(table.has_large_change());
}

namespace {

class DemandKeeper final : public Solver {
  public:
    std::vector<wire::FlowAllocation> solve(const Cluster& /*cluster*/, const FlowDemands& demands,
                                            bool /*interval_ended*/) override {
        last = demands;
        return {};
    }
    FlowDemands last;
};

}  // namespace

TEST_CASE("the limit for which requests wait comes to the controller, which names the capability in WELCOME",
          "[solver]") {
    const ClusterConfig config = std::get<ClusterConfig>(parse_cluster(kTwoTenants, placement_faults));
    DemandKeeper solver;
    Store store(":memory:");
    Controller controller(config, solver, store, 1'000);
    Peer peer;
    peer.route = "h1";
    ControllerSession session(100, 0);
    session.set_hello({.host = "h1",
                       .vnics = {{.name = "a"}},
                       .appliances = {{.name = "disk"}},
                       .capabilities = {"pair-floors"}});
    FlowSample sample{.flow = {"a", 0}};
    sample.blocked_by.fill(wire::Blocked::kOwnLimit);
    Nanos now = kNanosPerSec;
    for (int tick = 1; tick <= 300; ++tick) {
        now += 10'000'000;
        sample.used[wire::kTokens] += 5;
        sample.queued[wire::kTokens] = 1'000;
        sample.blocked_ns[0] += 10'000'000;
        session.add_samples({&sample, 1}, now);
        session.tick(now);
        for (const ControllerSession::Message& message : session.take_outgoing())
            controller.on_message(peer, message.header, message.body, now);
        if (tick % 100 == 0)
            controller.tick(now, 1'000);
        for (const Outgoing& message : controller.take_outgoing())
            session.on_message(message.header, message.body, now);
    }
    REQUIRE(solver.last.size() == 1);
    for (const auto& [flow, demand] : solver.last) {
        CHECK(demand.used[wire::kTokens] > 0);
        CHECK(demand.blocked == wire::Blocked::kOwnLimit);
    }
}
