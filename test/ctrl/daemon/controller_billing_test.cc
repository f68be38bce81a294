// controller_billing_test.cc - USAGE messages: measured use, over restarts.
#include <nlohmann/json.hpp>

#include "common/wire/records.h"
#include "ctrl/daemon/command_desk.h"
#include "ctrl/daemon/interval_solver.h"
#include "ctrl/placement/cluster_plan.h"
#include "test/ctrl/daemon/fake_switch.h"
#include "test/ctrl/daemon/max_min_solver.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"
#include "test/support/wait.h"

using namespace weir;
using nlohmann::json;
using test::FakeSwitch;

namespace {

constexpr std::uint64_t kDay = 86'400 * kNanosPerSec;
constexpr std::uint64_t kBegan = 1'795'257'000 * kNanosPerSec;

const char* const kOneHost = R"({"name": "test", "topology": {"hosts": [{"name": "h1"}]},
    "tenants": [{"name": "A", "vnics": [{"name": "a1", "reservation": "8kbit"}, {"name": "a2"}]}]})";

struct MeasuredSwitch {
    ClusterConfig config = std::get<ClusterConfig>(parse_cluster(kOneHost, placement_faults));
    test::MaxMinSolver solver;
    Store store{":memory:"};
    std::unique_ptr<Controller> controller;
    FakeSwitch host{"h1", {"a1", "a2"}, "r1"};
    std::int64_t unix_time = kBegan / kNanosPerSec;

    MeasuredSwitch() { restart(); }
    void restart() {
        controller = std::make_unique<Controller>(config, solver, store, unix_time);
        const FakeSwitch::Message hello = host.send_hello();
        controller->on_message(host.peer, hello.header, hello.body, 0);
        tick();
    }
    void tick() {
        controller->tick(0, unix_time);
        host.receive(controller->take_outgoing());
    }
    /// A period of one second in which a1 used half of its reservation.
    void half_used(std::uint64_t began) {
        unix_time = static_cast<std::int64_t>(began / kNanosPerSec + 1);
        tick();
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

TEST_CASE("the store's state and the bill's are in `status`, and reads that fail are faults of a command") {
    MeasuredSwitch world;
    const json status = world.controller->status(0);
    CHECK(status["store"]["failing_since"].is_null());
    CHECK(status["bill"]["periods_waiting"] == 0);
    CHECK(status["periods"]["stored"] == 0);
    world.store.spoil("DROP TABLE audit");
    const ConnectionCounters none;
    const auto ask = [&](const char* request) {
        return json::parse(world.controller->on_command(request, none, 0));
    };
    const json refused = ask(R"({"schema": 1, "command": "audit"})");
    CHECK(refused["ok"] == false);
    CHECK(refused["faults"][0]["path"] == "store");
    world.host.hello.vnics.emplace_back().name = "ghost";  // a refusal to note, which finds no table
    const FakeSwitch::Message hello = world.host.send_hello();
    world.controller->on_message(world.host.peer, hello.header, hello.body, 0);
    world.tick();
    CHECK(world.controller->status(0)["store"]["failing_since"].is_number());
    CHECK(ask(R"({"schema": 1, "command": "status"})")["data"]["store"]["refused_writes"] >= 1);
}

TEST_CASE(
    "what an operator sets of pools is audited each time, with both values and the peer, and a change that "
    "does not last is named") {
    constexpr const char* kPooled = R"({"name": "test", "topology": {"hosts": [{"name": "h1"}]},
        "appliances": [{"name": "disk", "capacity_min": "3ktokens", "capacity_max": "3ktokens"}],
        "tenants": [{"name": "A", "vnics": [{"name": "a"}], "appliances": [{"name": "disk"}]}],
        "pools": [{"name": "one", "appliance": "disk", "vnics": [{"name": "a"}]}]})";
    const auto config = std::get<ClusterConfig>(parse_cluster(kPooled, placement_faults));
    IntervalSolver solver(config);
    Store store(":memory:");
    Controller controller(config, solver, store, 1'000);
    const ConnectionCounters none;
    const auto set = [&](const std::string& change) {
        return json::parse(controller.on_command(
            R"({"schema": 1, "command": "pool.set", "args": {"name": "one", "change": )" + change + "}}",
            none, 0, {}, {.peer = "uid 7, process 9"}));
    };
    for (int i = 0; i < 3; ++i) {  // none of them is suppressed as a repetition
        CHECK(set(R"({"shares": 300})")["data"]["lasting"] == true);
        CHECK(set(R"({"shares": 100})")["data"]["lasting"] == true);
    }
    const auto tail = store.audit_tail(6);
    for (std::size_t i = 0; i < tail.size(); ++i) {
        CHECK(tail[i].text == (i % 2 == 0 ? "one: shares 100 -> 300" : "one: shares 300 -> 100"));
        CHECK(tail[i].peer == "uid 7, process 9");
    }
    CHECK(json::parse(tail[0].values) ==
          json::parse(R"([{"path": "pools.disk.one.shares", "before": "100", "now": "300"}])"));
    store.spoil("DROP TABLE pool_settings");
    const json reply = set(R"({"shares": 500})");
    CHECK(reply["ok"] == true);
    CHECK(reply["data"]["lasting"] == false);
    CHECK(reply["data"]["fault"].get<std::string>().find("pool_settings") != std::string::npos);
}

TEST_CASE("a command that takes long is answered later, by another thread, and only a few wait") {
    const test::TempFolder folder;
    const auto config = std::get<ClusterConfig>(parse_cluster(kOneHost, placement_faults));
    test::MaxMinSolver solver;
    Store store(folder.file("ctrl.db"));
    Controller controller(config, solver, store, 1'000);
    const ConnectionCounters none;
    const std::string bill = R"({"schema": 1, "command": "bill", "args": {"verify": true}})";
    CHECK(controller.on_command(bill, none, 0, {}, {.ticket = 7}).empty());
    std::vector<SideWork::Reply> replies;
    REQUIRE(testing::until([&] {
        for (SideWork::Reply& reply : controller.take_replies(0))
            replies.push_back(std::move(reply));
        return !replies.empty();
    }));
    CHECK(replies[0].ticket == 7);
    CHECK(json::parse(replies[0].text)["data"]["lines"] == 0);
    CHECK(json::parse(replies[0].text)["data"]["first_altered"].is_null());

    // Readers may not, and of operators one at a time: it reads every line.
    const json reader =
        json::parse(controller.on_command(bill, none, 0, {}, {.ticket = 8, .may_change = false}));
    CHECK(reader["faults"][0]["path"] == "args.verify");
    CHECK(controller.on_command(bill, none, 0, {}, {.ticket = 9}).empty());
    const std::string second = controller.on_command(bill, none, 0, {}, {.ticket = 10});
    CHECK((second.empty() ||
           json::parse(second)["faults"][0]["path"] == kBusyPath));  // the first may have ended
    REQUIRE(testing::until([&] { return !controller.take_replies(0).empty(); }));

    const std::string file = folder.file("copy.db");
    const std::string backup = R"({"schema": 1, "command": "backup", "args": {"file": ")" + file + "\"}}";
    CHECK(json::parse(controller.on_command(backup, none, 0))["data"]["file"] == file);
    CHECK(Store(file).last_epoch() == controller.epoch());
    const json again = json::parse(controller.on_command(backup, none, 0));
    CHECK(again["faults"][0]["path"] == "args.file");
}
