// tables_link_test.cc - TABLES by need between real sessions and the controller: flows of vNICs that send to
// each other, over lines that lose messages, while controllers restart and vNICs move.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "ctrl/daemon/controller.h"
#include "test/ctrl/daemon/max_min_solver.h"
#include "test/support/catch.h"
#include "test/support/random.h"
#include "vswitch/agent/controller_session.h"

using namespace weir;
using test::kInterval;

namespace {

constexpr Nanos kTurn = 10'000'000;
constexpr std::uint64_t kBytesPerTurn = 20'000;  // 2 MB/s, of links of 1 MB/s

const char* const kThreeLinks = R"({"name": "test", "headroom": "0%", "topology": {"hosts":
    [{"name": "h1", "uplink": "8Mbit"}, {"name": "h2", "uplink": "8Mbit"}, {"name": "h3", "uplink": "8Mbit"}]},
    "tenants": [{"name": "A", "vnics": [{"name": "a1"}, {"name": "a2"}, {"name": "a3"}]},
                {"name": "B", "vnics": [{"name": "b1"}, {"name": "b2"}]}]})";

std::string address(const std::string& vnic) {
    return "52:54:00:00:0" + std::string(1, vnic[0]) + ":0" + vnic.substr(1);
}

/// A switch whose data path counts destinations that have a rate, and notes the others.
struct Sender {
    std::string host;
    wire::Hello hello;
    std::unique_ptr<ControllerSession> session;
    std::map<PeerPair, std::uint64_t> sends;  ///< bytes so far
    FlowRates rates;

    Sender(std::string name, const std::vector<std::string>& vnics, std::uint32_t first)
        : host(std::move(name)), session(std::make_unique<ControllerSession>(first, 0)) {
        hello.host = host;
        hello.capabilities = {std::string(wire::capability::kTablesByNeed)};
        for (const std::string& vnic : vnics)
            hello.vnics.push_back({.name = vnic, .mac = address(vnic)});
        session->set_hello(hello);
    }
    void send_to(const std::string& vnic, const std::string& peer) { sends[{vnic, address(peer)}] = 0; }
    [[nodiscard]] std::optional<std::uint64_t> rate(const std::string& vnic, const std::string& peer) const {
        const auto found = rates.find({vnic, 0, address(peer)});
        return found == rates.end() ? std::nullopt : std::optional(found->second[wire::kThere]);
    }
    void turn(Nanos now) {
        for (auto& [pair, bytes] : sends) {
            bytes += kBytesPerTurn;
            const LocalFlow flow{pair.vnic, 0, pair.mac};
            const FlowSample sample{.flow = flow, .used = {bytes, 0, 0}};
            if (rates.contains(flow))
                session->add_samples({&sample, 1}, now);
            else if (session->wants_destinations())
                session->add_destinations({&pair, 1}, now);
        }
        session->tick(now);
        (void)session->update_rates(rates);
    }
};

struct NeedWorld {
    ClusterConfig config = std::get<ClusterConfig>(parse_cluster(kThreeLinks));
    test::MaxMinSolver solver;
    Store store{":memory:"};
    std::unique_ptr<Controller> controller = std::make_unique<Controller>(config, solver, store, 1'000);
    Sender h1{"h1", {"a1", "b1"}, 100};
    Sender h2{"h2", {"a2", "b2"}, 5'000};
    Sender h3{"h3", {"a3"}, 90'000};
    Nanos now = kNanosPerSec;
    Nanos next_tick = now + kInterval;
    unsigned loss_percent = 0;
    testing::Random32 random{8};

    [[nodiscard]] bool lost() { return random() % 100 < loss_percent; }
    void turn() {
        now += kTurn;
        for (Sender* each : {&h1, &h2, &h3}) {
            each->turn(now);
            for (const ControllerSession::Message& message : each->session->take_outgoing())
                if (controller && !lost())
                    controller->on_message({.route = each->host, .host = ""}, message.header, message.body,
                                           now);
        }
        if (!controller)
            return;
        if (now >= next_tick) {
            controller->tick(now, 1'000);
            next_tick += kInterval;
        } else if (controller->early_solve_due()) {
            controller->solve_early(now);
        }
        for (const Outgoing& message : controller->take_outgoing())
            for (Sender* each : {&h1, &h2, &h3})
                if (message.route == each->host && !lost())
                    each->session->on_message(message.header, message.body, now);
    }
    void run(Nanos span) {
        for (const Nanos end = now + span; now < end;)
            turn();
    }
    void restart() {
        controller = std::make_unique<Controller>(config, solver, store, 1'000);
        next_tick = now + kInterval;
    }
};

constexpr double kLink = 1e6;  // bytes/s

}  // namespace

TEST_CASE("vNICs that send to each other get rates, and no other pairs are flows", "[tables]") {
    NeedWorld world;
    world.h1.send_to("a1", "a2");
    world.h1.send_to("a1", "b2");  // of another tenant: never answered
    world.run(3 * kInterval);
    REQUIRE(world.h1.rate("a1", "a2"));
    CHECK(static_cast<double>(*world.h1.rate("a1", "a2")) == Approx(kLink).epsilon(0.01));
    CHECK(world.h1.rates.size() == 1);
    CHECK(world.h2.rates.empty());
    CHECK(world.h3.rates.empty());
    world.h3.send_to("a3", "a2");
    world.run(3 * kInterval);
    CHECK(static_cast<double>(*world.h1.rate("a1", "a2")) == Approx(kLink / 2).epsilon(0.01));
    CHECK(static_cast<double>(*world.h3.rate("a3", "a2")) == Approx(kLink / 2).epsilon(0.01));
    CHECK(world.h1.session->peers_left_out() == 0);
    CHECK(world.controller->counters().asked_unknown >= 3);  // b2's address, after 0, 1 and 3 s
    CHECK(world.controller->counters().asked_unknown <= 5);
}

TEST_CASE("a new pair is asked for at once, and has its rate before the interval ends", "[tables]") {
    NeedWorld world;
    world.run(3 * kInterval + kInterval / 2);
    world.h1.send_to("a1", "a2");
    world.run(3 * kTurn);
    CHECK(world.h1.rate("a1", "a2"));  // a flow: its frames are counted
    world.run(20 * kTurn);
    CHECK(static_cast<double>(*world.h1.rate("a1", "a2")) == Approx(kLink).epsilon(0.01));
}

TEST_CASE("rates between VMs never end because a controller is restarted, nor because a vNIC is added",
          "[tables]") {
    NeedWorld world;
    world.h1.send_to("a1", "a2");
    world.run(4 * kInterval);
    const auto check_rate = [&] {
        world.turn();
        REQUIRE(world.h1.rate("a1", "a2"));
        REQUIRE(static_cast<double>(*world.h1.rate("a1", "a2")) == Approx(kLink).epsilon(0.02));
    };
    for (int restart = 0; restart < 3; ++restart) {
        world.restart();
        for (Nanos passed = 0; passed < 3 * kInterval; passed += kTurn)
            check_rate();
    }
    world.h1.hello.vnics.push_back({.name = "x9", .mac = address("x9")});
    world.h1.session->set_hello(world.h1.hello);
    for (Nanos passed = 0; passed < 3 * kInterval; passed += kTurn)
        check_rate();
}

TEST_CASE("a peer that stays away after the controller's restart is given up after four answers",
          "[tables]") {
    NeedWorld world;
    world.h1.send_to("a1", "a2");
    world.run(4 * kInterval);
    world.restart();
    world.h2.hello.vnics.clear();
    world.h2.session->set_hello(world.h2.hello);
    world.run(3 * kInterval);
    CHECK(world.h1.rate("a1", "a2"));
    world.run(9 * kInterval);
    CHECK_FALSE(world.h1.rate("a1", "a2"));
}

TEST_CASE("a vNIC that moves keeps its flows, and one that comes to the sender's host is no peer",
          "[tables]") {
    NeedWorld world;
    world.h1.send_to("a1", "a2");
    world.run(4 * kInterval);
    const auto move = [&](Sender& from, Sender& to) {
        std::erase_if(from.hello.vnics, [](const auto& vnic) { return vnic.name == "a2"; });
        to.hello.vnics.push_back({.name = "a2", .mac = address("a2")});
        from.session->set_hello(from.hello);
        to.session->set_hello(to.hello);
        world.run(4 * kInterval);
    };
    move(world.h2, world.h3);
    REQUIRE(world.h1.rate("a1", "a2"));
    CHECK(static_cast<double>(*world.h1.rate("a1", "a2")) == Approx(kLink).epsilon(0.01));
    move(world.h3, world.h1);
    CHECK_FALSE(world.h1.rate("a1", "a2"));
    move(world.h1, world.h2);
    world.run(30 * kInterval);  // it is asked for again after up to 32 s
    CHECK(world.h1.rate("a1", "a2"));
}

TEST_CASE("losses delay the peers of a switch, and never leave a wrong or a missing one", "[tables]") {
    for (std::uint32_t seed = 1; seed <= 4; ++seed) {
        CAPTURE(seed);
        NeedWorld world;
        world.random.seed(seed);
        world.loss_percent = 30;
        world.h1.send_to("a1", "a2");
        world.h1.send_to("b1", "b2");
        world.h2.send_to("a2", "a3");
        world.h3.send_to("a3", "b1");
        for (int i = 0; i < 20; ++i) {
            world.run(kInterval);
            for (const Sender* each : {&world.h1, &world.h2, &world.h3})
                for (const auto& [flow, rate] : each->rates)
                    REQUIRE(each->sends.contains({flow.vnic, flow.peer}));
            REQUIRE_FALSE(world.h3.rate("a3", "b1"));
            if (i == 10)
                world.restart();
        }
        world.loss_percent = 0;
        world.run(35 * kInterval);
        CHECK(world.h1.rates.size() == 2);
        CHECK(world.h2.rates.size() == 1);
        CHECK(world.h3.rates.empty());
    }
}

TEST_CASE("a controller that has no TABLES by need gets no ASK, and sends every pair", "[tables]") {
    NeedWorld world;
    world.h1.hello.capabilities.clear();
    world.h1.session->set_hello(world.h1.hello);
    world.run(3 * kInterval);
    CHECK_FALSE(world.h1.session->wants_destinations());
    CHECK(world.h1.rate("a1", "a2"));
    CHECK(world.h1.rate("a1", "a3"));
    CHECK(world.h1.rate("b1", "b2"));
    CHECK(world.h1.session->counters().asks == 0);
}
