// intake_test.cc - floods of one switch: refused before they cost anything, and mended by a later message.
#include "ctrl/daemon/intake.h"

#include <nlohmann/json.hpp>

#include "test/ctrl/daemon/fake_switch.h"
#include "test/ctrl/daemon/max_min_solver.h"
#include "test/support/amounts.h"
#include "test/support/catch.h"

using namespace weir;
using test::FakeSwitch;
using weir::testing::kMs;

namespace {

struct Flooded {
    ClusterConfig config = std::get<ClusterConfig>(parse_cluster(R"({"headroom": "0%",
        "topology": {"hosts": [{"name": "h1", "uplink": "8Gbit"}, {"name": "h2", "uplink": "8Gbit"}]},
        "tenants": [{"name": "A", "vnics": [{"name": "a1"}, {"name": "a2"}]}]})"));
    test::MaxMinSolver solver;
    Store store{":memory:"};
    Controller controller{config, solver, store, 1'000};
    Intake intake{controller, config};
    Nanos now = kNanosPerSec;
    FakeSwitch h1{"h1", {"a1"}, "r1"};
    FakeSwitch h2{"h2", {"a2"}, "r2"};

    Flooded() {
        give(h1, h1.send_hello());
        give(h2, h2.send_hello());
        deliver();
    }
    void give(FakeSwitch& from, const FakeSwitch::Message& message) {
        intake.on_message(from.peer, message.header, message.body, now);
    }
    std::size_t deliver() {
        const auto messages = controller.take_outgoing();
        h1.receive(messages);
        h2.receive(messages);
        return messages.size();
    }
    void tick() {
        controller.tick(now += kNanosPerSec, 1'000);
        deliver();
    }
    [[nodiscard]] std::uint64_t refused(const char* reason) const {
        return intake.budgets().describe(0)["refused"][reason];
    }
};

}  // namespace

TEST_CASE("of a flood of HELLOs ten are answered, and a later one is taken again") {
    Flooded flooded;
    for (int i = 0; i < 100; ++i)
        flooded.give(flooded.h1, flooded.h1.send_hello());
    CHECK(flooded.controller.counters().messages == 2 + 9);
    CHECK(flooded.refused("hellos") == 91);
    flooded.deliver();
    flooded.now += kNanosPerSec;
    flooded.give(flooded.h1, flooded.h1.send_hello());
    flooded.deliver();
    CHECK(flooded.h1.welcome->refused.empty());
    flooded.h1.want("a1", "a2", {9e6F, 0, 0});
    flooded.give(flooded.h1, flooded.h1.send_demands());
    flooded.tick();
    CHECK(flooded.h1.rate("a1", "a2", wire::Part::kThere) == 9'000'000);
}

TEST_CASE("after refused DEMANDs the controller asks for a snapshot, and has the whole state again") {
    Flooded flooded;
    flooded.h1.want("a1", "a2", {9e6F, 0, 0});
    for (int i = 0; i < 500; ++i)
        flooded.give(flooded.h1, flooded.h1.send_demands());
    CHECK(flooded.refused("messages") == 500 - 419);
    flooded.h1.want("a1", "a2", {5e6F, 0, 0});
    flooded.give(flooded.h1, flooded.h1.send_demands());  // refused, and with it the change
    flooded.tick();
    CHECK(flooded.h1.rate("a1", "a2", wire::Part::kThere) == 9'000'000);
    flooded.give(flooded.h1, flooded.h1.send_demands());  // after a gap
    flooded.tick();
    flooded.give(flooded.h1, flooded.h1.send_demands());  // the snapshot that was asked for
    flooded.tick();
    CHECK(flooded.h1.rate("a1", "a2", wire::Part::kThere) == 5'000'000);
}

TEST_CASE(
    "a small message makes a large one ten times at once, then twice a second, and counts all the same") {
    Flooded flooded;
    const auto asking = [&] {
        FakeSwitch::Message message = flooded.h1.send_demands();
        message.header[6] = static_cast<std::uint8_t>(message.header[6] | wire::flags::kAskSnapshot);
        return message;
    };
    for (int i = 0; i < 50; ++i)
        flooded.give(flooded.h1, asking());
    CHECK(flooded.deliver() == 10);  // TABLES
    CHECK(flooded.refused("snapshots") == 40);
    CHECK(flooded.controller.counters().stale + flooded.controller.counters().foreign == 0);
    flooded.now += 500 * kMs;
    flooded.give(flooded.h1, asking());
    flooded.give(flooded.h1, asking());
    CHECK(flooded.deliver() == 1);
}

TEST_CASE("a demand that goes up and down causes ten early solves, and then waits for the tick") {
    Flooded flooded;
    unsigned solves = 0;
    for (int i = 0; i < 50; ++i) {
        flooded.h1.want("a1", "a2", {i % 2 == 0 ? 900e6F : 1e6F, 0, 0});
        flooded.give(flooded.h1, flooded.h1.send_demands());
        if (flooded.controller.early_solve_due()) {
            ++solves;
            flooded.controller.solve_early(flooded.now);
            flooded.deliver();
        }
    }
    CHECK(solves == 10);
    CHECK(flooded.refused("early_solves") == 40);
    flooded.h2.want("a2", "a1", {900e6F, 0, 0});
    flooded.give(flooded.h2, flooded.h2.send_demands());
    CHECK(flooded.controller.early_solve_due());  // another host's change is not held back
    flooded.tick();
    CHECK(flooded.h1.rate("a1", "a2", wire::Part::kThere) == 1'000'000);
}

TEST_CASE("20 HELLOs of 19,999 foreign names cost a bounded number of entries, and list the first names",
          "[long]") {
    Flooded flooded;
    for (int i = 0; i < 19'999; ++i)
        flooded.h1.hello.vnics.push_back({.name = "foreign-" + std::to_string(i)});
    const auto last = [&] { return flooded.store.audit_tail(1)[0].number; };
    const auto before = last();
    for (int i = 0; i < 20; ++i)
        flooded.give(flooded.h1, flooded.h1.send_hello());
    CHECK(last() - before < 100);
    const auto hosts = flooded.controller.status(flooded.now)["hosts"];
    CHECK(hosts[0]["vnics"] == 1);
    REQUIRE(hosts[0]["refused_vnics"].size() == 6);
    CHECK(hosts[0]["refused_vnics"][0] == "foreign-0: it is not in the cluster file");
    CHECK(hosts[0]["refused_vnics"][5] == "19994 more");
    CHECK(flooded.controller.counters().refused_vnics % 19'999 == 0);
    CHECK(flooded.refused("hello_bytes") + flooded.refused("hellos") > 0);
}

TEST_CASE("a plain connection that was two hosts keeps the last one when the first is taken over") {
    Flooded flooded;
    flooded.h2.peer.route = "r1";  // the same connection
    flooded.give(flooded.h2, flooded.h2.send_hello());
    flooded.h1.peer.route = "r3";
    flooded.h1.session += 5'000;
    flooded.now += 4 * kNanosPerSec;  // h1's first session is silent
    flooded.give(flooded.h2, flooded.h2.send_hello());
    flooded.give(flooded.h1, flooded.h1.send_hello());
    flooded.deliver();
    flooded.give(flooded.h2, flooded.h2.send_demands());
    CHECK(flooded.controller.counters().foreign == 0);
}
