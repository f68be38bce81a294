// link_changes_test.cc - rates of a switch's flows while its vNICs change, and after a silence.
#include "ctrl/daemon/controller.h"
#include "ctrl/placement/cluster_plan.h"
#include "test/ctrl/daemon/max_min_solver.h"
#include "test/support/catch.h"
#include "vswitch/agent/controller_session.h"

using namespace weir;
using test::kInterval;

namespace {

/// Two switches; a1 sends 2 MB/s to a2 over links of 1 MB/s, and asks the disk for 900 tokens/s.
struct ChangingSwitches {
    static constexpr Nanos kStep = 10'000'000;

    ClusterConfig config = std::get<ClusterConfig>(parse_cluster(R"({"headroom": "0%", "topology": {"hosts":
        [{"name": "h1", "uplink": "8Mbit"}, {"name": "h2", "uplink": "8Mbit"}]},
        "appliances": [{"name": "disk", "capacity_min": "1ktokens", "capacity_max": "1ktokens"}],
        "tenants": [{"name": "A", "vnics": [{"name": "a1"}, {"name": "a2"}, {"name": "a3"}],
                     "appliances": [{"name": "disk", "reservation": "300tokens"}]}]})",
                                                                 placement_faults));
    test::MaxMinSolver solver;
    Store store{":memory:"};
    Controller controller{config, solver, store, 1'000};
    ControllerSession one{100, 0};
    ControllerSession two{200, 0};
    const LocalFlow to_a2{"a1", 0, "52:54:00:00:00:02"};
    const LocalFlow to_disk{"a1", 0, {}};
    FlowRates rates;
    Nanos now = kNanosPerSec;
    std::uint64_t sent = 0;
    bool is_connected = true;
    bool sends = true;  ///< to the controller
    bool allocates = true;

    ChangingSwitches() {
        one.set_hello(hello("h1", {{"a1", "A", "52:54:00:00:00:01", 0}}));
        two.set_hello(hello("h2", {{"a2", "A", "52:54:00:00:00:02", 0}}));
        run(4 * kInterval);
    }
    static wire::Hello hello(const char* host, std::vector<wire::HelloVnic> vnics) {
        return {.host = host,
                .version = "t",
                .vnics = std::move(vnics),
                .appliances = {{.name = "disk"}},
                .capabilities = {"refusals"}};
    }
    void exchange(ControllerSession& session, const char* route) {
        session.tick(now);
        for (const ControllerSession::Message& message : session.take_outgoing())
            if (is_connected && sends)
                controller.on_message({.route = route, .host = ""}, message.header, message.body, now);
    }
    void run(Nanos span) {
        for (const Nanos end = now + span; now < end;) {
            now += kStep;
            sent += 20'000;
            const FlowSample samples[] = {{.flow = to_a2, .used = {sent, 0, 0}},
                                          {.flow = to_disk, .used = {0, sent * 9 / 20'000, 0}}};
            one.add_samples(samples, now);
            exchange(one, "r1");
            exchange(two, "r2");
            if (now % kInterval == 0)
                controller.tick(now, 1'000);
            for (const Outgoing& message : controller.take_outgoing())
                if (is_connected &&
                    (allocates || static_cast<wire::Type>(message.header[5]) != wire::Type::kAllocation))
                    (message.route == "r1" ? one : two).on_message(message.header, message.body, now);
            (void)one.update_rates(rates);
        }
    }
    [[nodiscard]] std::uint64_t rate(const LocalFlow& flow, std::size_t part) const {
        const auto found = rates.find(flow);
        return found == rates.end() ? 0 : found->second[part];
    }
};

}  // namespace

TEST_CASE("a vNIC that comes or leaves lifts no rate between other vNICs", "[link]") {
    ChangingSwitches world;
    REQUIRE(world.rate(world.to_a2, wire::kThere) == 1'000'000);
    world.is_connected = GENERATE(true, false);
    for (const std::size_t vnics : {2U, 1U}) {
        std::vector<wire::HelloVnic> present{{"a1", "A", "52:54:00:00:00:01", 0},
                                             {"a3", "A", "52:54:00:00:00:03", 0}};
        present.resize(vnics);
        world.one.set_hello(ChangingSwitches::hello("h1", present));
        for (int i = 0; i < 20; ++i) {
            world.run(ChangingSwitches::kStep);
            REQUIRE(world.rate(world.to_a2, wire::kThere) == 1'000'000);
            REQUIRE(world.rate(world.to_disk, wire::kTokens) >= 890);
        }
    }
}

TEST_CASE("after a silence the guarantees hold until the controller has allocated", "[link]") {
    ChangingSwitches world;
    REQUIRE(world.rate(world.to_disk, wire::kTokens) >= 890);
    world.is_connected = false;
    world.run(5 * kInterval);
    REQUIRE(world.one.state() == ControllerSession::State::kSilent);
    REQUIRE(world.rate(world.to_disk, wire::kTokens) == 100);
    world.is_connected = true;
    world.allocates = false;  // the message is lost, or comes late
    world.run(kInterval + 2 * ChangingSwitches::kStep);
    CHECK(world.one.state() == ControllerSession::State::kWelcomed);
    CHECK(world.rate(world.to_disk, wire::kTokens) == 100);
    world.allocates = true;
    world.run(3 * kInterval);
    CHECK(world.rate(world.to_disk, wire::kTokens) >= 890);
}

TEST_CASE("a switch learns which of its vNICs are refused, why, and when that ends", "[link]") {
    ChangingSwitches world;
    CHECK(world.two.refusals().empty());
    world.two.set_hello(ChangingSwitches::hello("h2", {{"a2", "A", "52:54:00:00:00:02", 0},
                                                       {"a1", "A", "52:54:00:00:00:01", 0},
                                                       {"zz", "A", "52:54:00:00:00:09", 0}}));
    world.run(kInterval);
    const Refusals both{{"a1", {"host h1 has it", false}}, {"zz", {"it is not in the cluster file", true}}};
    CHECK(world.two.refusals() == both);
    world.is_connected = false;
    world.run(5 * kInterval);
    CHECK(world.two.refusals() == both);  // the controller's silence is no permission
    world.is_connected = true;
    world.run(2 * kInterval);
    CHECK(world.two.refusals() == both);
    world.one.set_hello(ChangingSwitches::hello("h1", {}));
    world.run(2 * kInterval);
    CHECK(world.two.refusals() == Refusals{{"zz", {"it is not in the cluster file", true}}});
}

TEST_CASE(
    "messages of the session before do not open a new one: HELLO is repeated, and no period is given up",
    "[link]") {
    ChangingSwitches world;
    world.sends = false;
    world.one.set_hello(ChangingSwitches::hello(
        "h1", {{"a1", "A", "52:54:00:00:00:01", 0}, {"a3", "A", "52:54:00:00:00:03", 0}}));
    const std::uint64_t before = world.one.counters().allocations;
    world.run(kInterval + 2 * ChangingSwitches::kStep);
    CHECK(world.one.counters().allocations > before);
    CHECK(world.one.state() == ControllerSession::State::kConnecting);
    world.one.add_usage({"a3", {.began = kNanosPerSec, .ended = 2 * kNanosPerSec, .delivered = 5}});
    world.run(kInterval);
    CHECK(world.one.usage().waiting() == 1);
    CHECK(world.one.usage().unbilled().periods == 0);
    world.sends = true;
    world.run(2 * kInterval);
    CHECK(world.one.state() == ControllerSession::State::kConnected);
    CHECK(world.one.usage().unbilled().periods == 0);
}
