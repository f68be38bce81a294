// loop_test.cc - the loop of weir-ctrl: intervals by the clock, real and stepped; floods; reports to systemd.
#include "ctrl/daemon/loop.h"

#include <nlohmann/json.hpp>
#include <thread>

#include "test/ctrl/daemon/cell.h"
#include "test/support/service_manager.h"

using namespace weir;
using namespace std::chrono_literals;
using test::Cell;
using test::Dealer;

namespace {

/// One command over the control socket of a loop that runs.
nlohmann::json ask_loop(const Cell& cell, const std::string& command) {
    zmq::context_t context;
    zmq::socket_t socket(context, zmq::socket_type::req);
    socket.set(zmq::sockopt::linger, 0);
    socket.connect("ipc://" + cell.config.control_socket);
    socket.send(zmq::buffer(R"({"schema":1,"command":)" + command + "}"), zmq::send_flags::none);
    zmq::message_t reply;
    (void)socket.recv(reply, zmq::recv_flags::none);
    return nlohmann::json::parse(reply.to_string());
}

/// A loop at work.
class RunningLoop {
  public:
    explicit RunningLoop(Cell& cell, SteppedClock* clock = nullptr, LoopDesks desks = {})
        : thread_([this, &cell, clock, desks] {
              run_intervals(cell.config, *cell.controller, *cell.server, stop_, clock, desks);
          }) {}
    ~RunningLoop() { end(); }
    RunningLoop(const RunningLoop&) = delete;
    RunningLoop& operator=(const RunningLoop&) = delete;
    void end() {
        stop_ = true;
        if (thread_.joinable())
            thread_.join();
    }

  private:
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

}  // namespace

TEST_CASE("the loop solves once an interval and stops when asked") {
    struct Counting final : Solver {
        std::atomic<int> solved{0};
        std::vector<wire::FlowAllocation> solve(const Cluster&, const FlowDemands&, bool whole) override {
            solved += whole;
            return {};
        }
    };
    Cell cell(false);
    cell.config.interval = 100'000'000;
    Counting solver;
    Controller controller(cell.config, solver, cell.store, 1'000);
    std::atomic<bool> stop{false};
    const auto began = std::chrono::steady_clock::now();
    std::thread loop([&] { run_intervals(cell.config, controller, *cell.server, stop); });
    CHECK(testing::until([&] { return solver.solved >= 3; }));
    stop = true;
    loop.join();
    CHECK(std::chrono::steady_clock::now() - began >= 300ms);
    CHECK(controller.interval() == static_cast<std::uint32_t>(solver.solved));
}

TEST_CASE(
    "on a stepped clock the loop solves at the ends of the intervals that are stepped over, and else never") {
    Cell cell(false);
    cell.config.interval = kNanosPerSec;
    SteppedClock clock;
    RunningLoop loop(cell, &clock);
    const auto ask = [&cell](const std::string& command) { return ask_loop(cell, command); };
    const auto intervals = [&] { return ask(R"("status")").at("data").at("interval"); };
    CHECK(intervals() == 0);
    const auto step = [&](const std::string& span) {
        return ask(R"("clock.step","args":{"span":")" + span + "\"}");
    };
    CHECK(step("999ms").at("data").at("now_ns") == SteppedClock::kStart + 999'000'000);
    CHECK(intervals() == 0);
    step("1ms");
    CHECK(intervals() == 1);
    step("5500ms");
    CHECK(intervals() == 6);
    CHECK(clock.now() == SteppedClock::kStart + 6'500'000'000);
    CHECK(step("61s").at("faults")[0].at("path") == "args.span");
}

TEST_CASE("the loop publishes readings without being asked, and after an interval its values") {
    Cell cell(false);
    cell.config.interval = kNanosPerSec;
    SteppedClock clock;
    ReadingBoard board;
    const RunningLoop loop(cell, &clock, {.board = &board});
    const auto first = board.read(0, testing::wait_bound());
    REQUIRE(first);
    CHECK(first->interval == 0);
    CHECK(first->hosts.size() == cell.config.hosts.size());
    ask_loop(cell, R"("clock.step","args":{"span":"3s"})");
    CHECK(testing::until([&] { return board.read(0, {})->interval == 3; }));
    CHECK(first->interval == 0);
    CHECK(board.read(0, {})->loop.at("loop").at("ticks") == 3);
}

TEST_CASE("commands of the desk are answered between messages, and those that may not change are refused") {
    Cell cell(false);
    SteppedClock clock;
    CommandDesk desk;
    std::atomic<int> woken{0};
    desk.set_wake([&woken] { ++woken; });
    for (std::size_t i = 0; i < CommandDesk::kCommandsMax; ++i)
        REQUIRE(desk.add(R"({"schema":1,"command":"backup"})", "token t", false));
    CHECK_FALSE(desk.add("", "", false));
    const RunningLoop loop(cell, &clock, {.commands = &desk});
    REQUIRE(testing::until([&] { return woken == static_cast<int>(CommandDesk::kCommandsMax); }));
    const auto replies = desk.take_replies();
    REQUIRE(replies.size() == CommandDesk::kCommandsMax);
    CHECK(nlohmann::json::parse(replies[0].text).at("faults")[0].at("found") == "backup");
    CHECK(ask_loop(cell, R"("status")").at("data").at("api").at("commands") == CommandDesk::kCommandsMax);
    REQUIRE(desk.add(R"({"schema":1,"command":"status"})", "token t", false));
    CHECK(testing::until([&] { return desk.take_replies().size() == 1; }));
    desk.set_wake({});
}

TEST_CASE("clock.step is refused while time is real") {
    Cell cell(false);
    const auto reply = nlohmann::json::parse(cell.controller->on_command(
        R"({"schema":1,"command":"clock.step","args":{"span":"1s"}})", cell.server->counters(), 0));
    CHECK(reply.at("faults")[0].at("allowed") == "a controller that was started with --clock stepped");
}

TEST_CASE("the status has how late ticks were, on a stepped clock never, and refusals by peer") {
    Cell cell(false);
    SteppedClock clock;
    const RunningLoop loop(cell, &clock);
    Dealer dealer(cell, nullptr);
    test::FakeSwitch h1("h1", {}, "x");
    for (int sent = 0; sent < 15; ++sent)
        dealer.send(h1.send_hello());
    nlohmann::json status;
    const auto refused = [&] {
        status = ask_loop(cell, R"("status")").at("data");
        return status.at("budgets").at("refused").at("hellos") == 5;
    };
    REQUIRE(testing::until(refused));
    CHECK(status.at("counters").at("messages") == 10);
    CHECK(status.at("budgets").at("peers")[0] ==
          nlohmann::json{{"peer", "local connection 1"}, {"reason", "hellos"}, {"times", 5}});
    ask_loop(cell, R"("clock.step","args":{"span":"3s"})");
    dealer.send(h1.send_hello());
    REQUIRE(testing::until([&] {
        status = ask_loop(cell, R"("status")").at("data");
        return status.at("counters").at("messages") == 11;
    }));
    CHECK(status.at("loop").at("ticks") == 3);
    CHECK(status.at("loop").at("lag_ns") == nlohmann::json{{"last", 0}, {"p99", 0}, {"max", 0}});
    CHECK(status.at("loop").at("solve_ns").at("max") == 0);
    CHECK(status.at("sockets").at("faults") == 0);
}

TEST_CASE("the loop reports to systemd that it is ready, how many hosts are connected, and that it stops") {
    Cell cell(false);
    const testing::ServiceManager systemd(cell.folder.file("notify"), "40000");
    SteppedClock clock;
    RunningLoop loop(cell, &clock);
    CHECK(systemd.receive() == "READY=1");
    CHECK(systemd.receive() == "WATCHDOG=1");
    CHECK(systemd.receive() == "WATCHDOG=1");
    Dealer dealer(cell, nullptr);
    test::FakeSwitch h1("h1", {}, "x");
    dealer.send(h1.send_hello());
    REQUIRE(testing::until([&] { return dealer.receive(h1) && h1.welcome; }));
    ask_loop(cell, R"("clock.step","args":{"span":"1s"})");
    std::string statement;
    while (!statement.starts_with("STATUS="))
        REQUIRE_FALSE((statement = systemd.receive()).empty());
    CHECK(statement == "STATUS=cluster weir, epoch " + std::to_string(cell.controller->epoch()) +
                           ": 1 of 2 hosts are connected");
    loop.end();
    std::string last;
    for (std::string next = systemd.received_now(); !next.empty(); next = systemd.received_now())
        last = next;
    CHECK(last == "STOPPING=1");
}
