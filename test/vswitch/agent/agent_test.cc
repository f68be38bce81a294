// agent_test.cc - reports to systemd: ready, the watchdog while the workers answer, stopping; stepped time.
#include "vswitch/agent/agent.h"

#include <unistd.h>

#include <filesystem>
#include <thread>

#include "test/support/catch.h"
#include "test/support/service_manager.h"
#include "test/support/wait.h"
#include "test/vswitch/agent/fake_control.h"

using namespace weir;
using namespace weir::testing;

namespace {

std::string path_of(const char* what) {
    return (std::filesystem::temp_directory_path() / ("weir_agent_" + std::to_string(getpid()) + what))
        .string();
}

/// An agent at work.
class Running {
  public:
    explicit Running(SwitchControl& control)
        : agent_(control, path_of(".sock")), thread_([this] { agent_.run(stop_); }) {}
    ~Running() { stop(); }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    void stop() {
        stop_ = true;
        if (thread_.joinable())
            thread_.join();
    }

  private:
    Agent agent_;
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

}  // namespace

TEST_CASE(
    "the agent reports to systemd that it is ready when it serves, and that it stops when it is stopped") {
    for (const std::string& name : {path_of(".notify"), "@weir-agent-test-" + std::to_string(getpid())}) {
        const ServiceManager systemd(name);
        FakeControl control;
        Running agent(control);
        CHECK(systemd.receive() == "READY=1");
        agent.stop();
        CHECK(systemd.received_now() == "STOPPING=1");
        CHECK(systemd.received_now().empty());
    }
}

TEST_CASE("a watched agent shows life while its workers answer, and none when they do not") {
    const ServiceManager systemd(path_of(".notify"), "40000");
    FakeControl control;
    {
        const Running agent(control);
        CHECK(systemd.receive() == "READY=1");
        CHECK(systemd.receive() == "WATCHDOG=1");
        CHECK(systemd.receive() == "WATCHDOG=1");
    }
    while (!systemd.received_now().empty()) {
    }
    control.complaint = "worker 0 does not answer";
    Running stuck(control);
    CHECK(systemd.receive() == "READY=1");
    CHECK(testing::until([&] { return control.reports >= 2; }));
    stuck.stop();
    CHECK(systemd.received_now() == "STOPPING=1");
}

TEST_CASE("a step of 25 ms is 2,500 poll turns of 10 us and two ticks, and the next 5 ms have the third") {
    FakeControl control;
    Agent agent(control, path_of(".sock"), {}, nullptr, &control.clock);
    CHECK(agent.step({.span = 25'000'000}) == SteppedClock::kStart + 25'000'000);
    CHECK(control.turns_made == 2'500);
    CHECK(control.ticks == 2);
    CHECK(control.samples == 3);
    CHECK(agent.step({.span = 5'000'000, .turn = 1'000'000}) == SteppedClock::kStart + 30'000'000);
    CHECK(control.turns_made == 2'505);
    CHECK(control.ticks == 3);
    CHECK(control.samples == 4);
}

TEST_CASE("samples are taken between ticks: several of a tick") {
    FakeControl control;
    Running agent(control);
    CHECK(testing::until([&] { return control.ticks >= 3; }));
    agent.stop();
    CHECK(control.samples > control.ticks);
}
