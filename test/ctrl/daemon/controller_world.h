// controller_world.h - a controller and fake switches on a manual clock; tests derive their own from it.
// Threads: tests only.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ctrl/daemon/controller.h"
#include "ctrl/placement/cluster_plan.h"
#include "test/ctrl/daemon/fake_switch.h"
#include "test/ctrl/daemon/max_min_solver.h"

namespace weir::test {

struct ControllerWorld {
    ClusterConfig config;
    MaxMinSolver solver;
    Store store{":memory:"};
    std::unique_ptr<Controller> controller;
    Nanos now = 0;
    std::vector<FakeSwitch*> switches{};  ///< those that receive; set by the derived world

    explicit ControllerWorld(const char* cluster_file)
        : config(std::get<ClusterConfig>(parse_cluster(cluster_file, placement_faults))) {
        restart();
    }
    ControllerWorld(const ControllerWorld&) = delete;
    ControllerWorld& operator=(const ControllerWorld&) = delete;

    void restart() { controller = std::make_unique<Controller>(config, solver, store, 1'000); }
    void give(FakeSwitch& from, const FakeSwitch::Message& message) {
        controller->on_message(from.peer, message.header, message.body, now);
    }
    void deliver() {
        const auto messages = controller->take_outgoing();
        for (FakeSwitch* each : switches)
            each->receive(messages);
    }
    void join(FakeSwitch& each) {
        give(each, each.send_hello());
        deliver();
    }
    /// An interval in which these send their demands.
    void pass_interval(const std::vector<FakeSwitch*>& talking) {
        now += kInterval;
        for (FakeSwitch* each : talking)
            give(*each, each->send_demands());
        controller->tick(now, 1'000);
        deliver();
    }
    /// The host's object of `status`; null: there is none.
    [[nodiscard]] nlohmann::json host(const std::string& name) const {
        const nlohmann::json status = controller->status(now);
        for (const auto& each : status["hosts"])
            if (each["name"] == name)
                return each;
        return {};
    }
};

}  // namespace weir::test
