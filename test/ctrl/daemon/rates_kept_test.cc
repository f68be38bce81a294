// rates_kept_test.cc - rates that a switch does not take at once are given to it again.
#include "ctrl/daemon/server.h"
#include "ctrl/placement/cluster_plan.h"
#include "test/ctrl/daemon/max_min_solver.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"
#include "test/support/wait.h"
#include "test/vswitch/agent/fake_control.h"
#include "vswitch/agent/ctrl_link.h"

using namespace weir;
using namespace std::chrono_literals;

TEST_CASE("rates that a worker did not take are given to it until it takes them", "[link]") {
    test::TempFolder folder;
    ClusterConfig config = std::get<ClusterConfig>(parse_cluster(R"({"topology": {"hosts": [{"name": "h1"}]},
        "appliances": [{"name": "disk", "capacity_min": "1ktokens", "capacity_max": "1ktokens"}],
        "tenants": [{"name": "A", "vnics": [{"name": "vm1"}], "appliances": [{"name": "disk", "reservation": "400tokens"}]}]})",
                                                                 placement_faults));
    config.listen = {"ipc://" + folder.file("ctrl.ipc")};
    config.control_socket = folder.file("ctrl.sock");
    test::MaxMinSolver solver;
    Store store(":memory:");
    Controller controller(config, solver, store, 1'000);
    Server server(config, "");

    testing::FakeControl control;
    ApplianceConfig disk;
    disk.name = "disk";
    control.state.appliances = {disk};
    control.rates_complaint = "worker 0 (core 1) does not answer";
    ControllerConfig to;
    to.connect = config.listen.front();
    CtrlLink link(control, to, folder.file("weir.sock"));
    Nanos now = kNanosPerSec;
    const auto turn = [&] {
        now += 10'000'000;
        link.tick(now);
        server.serve(1ms, {[&](const Peer& peer, auto header, auto body) {
                               controller.on_message(peer, header, body, now);
                           },
                           [](std::string_view) { return std::string(); }});
        server.send(controller.take_outgoing());
    };
    REQUIRE(
        testing::until([&] { return control.controller && control.controller->state == "welcomed"; }, turn));
    for (int i = 0; i < 20; ++i)
        turn();
    CHECK(control.rates.empty());
    CHECK(control.refusals == Refusals{{"vm2", {"it is not in the cluster file", true}}});
    control.rates_complaint.clear();
    turn();
    REQUIRE(control.rates.size() == 1);
    CHECK(control.rates.at({"vm1", 0, {}})[wire::kTokens] == 400);
}
