// controller_billing_test.cc - USAGE messages: measured use, over restarts.
#include <nlohmann/json.hpp>

#include "common/wire/records.h"
#include "ctrl/placement/cluster_plan.h"
#include "test/ctrl/daemon/fake_switch.h"
#include "test/ctrl/daemon/max_min_solver.h"
#include "test/support/catch.h"

using namespace weir;
using nlohmann::json;
using test::FakeSwitch;

namespace {

constexpr std::uint64_t kDay = 86'400 * kNanosPerSec;
constexpr std::uint64_t kBegan = 1'795'257'000 * kNanosPerSec;

const char* const kOneHost = R"({"name": "test", "topology": {"hosts": [{"name": "h1"}]},
    "tenants": [{"name": "A", "vnics": [{"name": "a1"}, {"name": "a2"}]}]})";

struct MeasuredSwitch {
    ClusterConfig config = std::get<ClusterConfig>(parse_cluster(kOneHost, placement_faults));
    test::MaxMinSolver solver;
    Store store{":memory:"};
    std::unique_ptr<Controller> controller;
    FakeSwitch host{"h1", {"a1", "a2"}, "r1"};

    MeasuredSwitch() { restart(); }
    void restart() {
        controller = std::make_unique<Controller>(config, solver, store, 1'000);
        const FakeSwitch::Message hello = host.send_hello();
        controller->on_message(host.peer, hello.header, hello.body, 0);
        tick();
    }
    void tick() {
        controller->tick(0, 1'000);
        host.receive(controller->take_outgoing());
    }
    /// A period of one second in which a1 used half of its reservation.
    void half_used(std::uint64_t began) {
        wire::Bytes body;
        wire::encode({.vnic = host.id_of("a1"),
                      .guarantee = GuaranteeKind::kStrict,
                      .began = began,
                      .ended = began + kNanosPerSec,
                      .promised = 1000,
                      .delivered = 500},
                     body);
        wire::Header header = host.sequencer.next(wire::Type::kUsage, host.interval);
        header.count = 1;
        controller->on_message(host.peer, wire::encode_header(header), body, 0);
    }
    [[nodiscard]] json use() const { return controller->running()["use"]; }
};

}  // namespace

TEST_CASE("a day of measured use is in `running`, also after a restart", "[use]") {
    MeasuredSwitch world;
    world.half_used(kBegan);
    world.half_used(kBegan + kNanosPerSec);
    CHECK(world.use().empty());
    world.half_used(kBegan + kDay);
    const json measured = world.use();
    REQUIRE(measured.contains("a1"));
    CHECK(measured["a1"][0] == Approx(86'398));  // idle time, which is not on the bill
    CHECK(measured["a1"][33] == Approx(3));
    CHECK_FALSE(measured.contains("a2"));
    for (int i = 0; i < 60; ++i)
        world.tick();
    world.restart();
    CHECK(world.use() == measured);
}

TEST_CASE("time without a controller does not count as idle time", "[use]") {
    MeasuredSwitch world;
    world.half_used(kBegan);
    world.controller.reset();
    world.restart();
    world.half_used(kBegan + kDay);
    world.half_used(kBegan + kDay + kNanosPerSec);
    CHECK(world.use().empty());
}
