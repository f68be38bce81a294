// server_test.cc - the sockets of weir-ctrl: ipc and tcp; right, wrong and no key; commands; the loop.
#include "ctrl/daemon/server.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "common/config/field_kinds.h"
#include "common/error.h"
#include "test/ctrl/daemon/fake_switch.h"
#include "test/ctrl/daemon/max_min_solver.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"
#include "test/support/wait.h"

using namespace weir;
using namespace std::chrono_literals;

namespace {

struct Keys {
    char open[41];
    char secret[41];
    Keys() { REQUIRE(zmq_curve_keypair(open, secret) == 0); }
};

// A controller with its sockets; turn() is one iteration of its loop.
struct Cell {
    test::TempFolder folder;
    Keys own;
    Keys h1;
    Keys h2;
    ClusterConfig config;
    test::MaxMinSolver solver;
    Store store{":memory:"};
    std::unique_ptr<Controller> controller;
    std::unique_ptr<Server> server;

    explicit Cell(bool tcp) {
        config.hosts = {{.name = "h1", .rack = "", .key = h1.open},
                        {.name = "h2", .rack = "", .key = h2.open}};
        config.control_socket = folder.file("ctrl.sock");
        config.listen = {tcp ? "tcp://127.0.0.1:" + std::to_string(port())
                             : "ipc://" + folder.file("ctrl.ipc")};
        controller = std::make_unique<Controller>(config, solver, store, 1'000);
        server = std::make_unique<Server>(config, tcp ? own.secret : "");
    }
    // A port that is free now.
    static unsigned port() {
        zmq::context_t context;
        zmq::socket_t probe(context, zmq::socket_type::router);
        probe.bind("tcp://127.0.0.1:*");
        const std::string endpoint = probe.get(zmq::sockopt::last_endpoint);
        return static_cast<unsigned>(std::stoul(endpoint.substr(endpoint.rfind(':') + 1)));
    }
    void turn() {
        server->serve(5ms, {[&](const Peer& peer, auto header, auto body) {
                                controller->on_message(peer, header, body, 0);
                            },
                            [&](std::string_view request) {
                                return controller->on_command(request, server->counters(), 0);
                            }});
        server->send(controller->take_outgoing());
    }
    template <typename Condition>
    bool turn_until(Condition holds) {
        return testing::until(holds, [this] { turn(); });
    }
};

// A switch's end of the connection.
struct Dealer {
    zmq::context_t context;
    zmq::socket_t socket{context, zmq::socket_type::dealer};

    Dealer(const Cell& cell, const Keys* keys, const char* server_key = nullptr) {
        socket.set(zmq::sockopt::linger, 0);
        if (keys != nullptr) {
            socket.set(zmq::sockopt::curve_serverkey, server_key == nullptr ? cell.own.open : server_key);
            socket.set(zmq::sockopt::curve_publickey, keys->open);
            socket.set(zmq::sockopt::curve_secretkey, keys->secret);
        }
        socket.connect(cell.config.listen.front());
    }
    void send(const test::FakeSwitch::Message& message) {
        socket.send(zmq::buffer(message.header), zmq::send_flags::sndmore | zmq::send_flags::dontwait);
        socket.send(zmq::buffer(message.body), zmq::send_flags::dontwait);
    }
    bool receive(test::FakeSwitch& to) {
        zmq::message_t header;
        zmq::message_t body;
        if (!socket.recv(header, zmq::recv_flags::dontwait))
            return false;
        (void)socket.recv(body, zmq::recv_flags::dontwait);
        Outgoing message{to.peer.route, {}, {}};
        std::copy_n(header.data<std::uint8_t>(), std::min(header.size(), message.header.size()),
                    message.header.begin());
        message.body.assign(body.data<std::uint8_t>(), body.data<std::uint8_t>() + body.size());
        to.receive(message);
        return true;
    }
};

}  // namespace

TEST_CASE("a switch of the same machine is welcomed over ipc") {
    Cell cell(false);
    Dealer dealer(cell, nullptr);
    test::FakeSwitch h1("h1", {}, "x");
    dealer.send(h1.send_hello());
    REQUIRE(cell.turn_until([&] { return dealer.receive(h1) && h1.welcome; }));
    CHECK(h1.welcome->refused.empty());
    const auto status = cell.controller->status(0);
    CHECK(status["hosts"][0]["authenticated"] == false);
}

TEST_CASE("over tcp the key authenticates the host") {
    Cell cell(true);
    Dealer dealer(cell, &cell.h1);
    test::FakeSwitch h1("h1", {}, "x");
    dealer.send(h1.send_hello());
    REQUIRE(cell.turn_until([&] { return dealer.receive(h1) && h1.welcome; }));
    CHECK(h1.welcome->refused.empty());
    CHECK(cell.controller->status(0)["hosts"][0]["authenticated"] == true);
    CHECK(cell.server->counters().admitted == 1);

    Dealer liar(cell, &cell.h2);
    test::FakeSwitch false_h1("h1", {}, "x");
    liar.send(false_h1.send_hello());
    REQUIRE(cell.turn_until([&] { return liar.receive(false_h1) && false_h1.welcome; }));
    CHECK(false_h1.welcome->refused == "host h1 is claimed with the key of h2");
    CHECK(cell.controller->counters().refused_hosts == 1);
}

TEST_CASE("over tcp a connection without a key of the cluster file is denied") {
    Cell cell(true);
    const Keys unknown;
    Dealer wrong(cell, &unknown);
    Dealer plain(cell, nullptr);
    Dealer mistaken(cell, &cell.h1, unknown.open);  // expects another controller key
    test::FakeSwitch h1("h1", {}, "x");
    for (Dealer* each : {&wrong, &plain, &mistaken})
        each->send(h1.send_hello());
    REQUIRE(cell.turn_until([&] { return cell.server->counters().denied >= 1; }));
    Dealer right(cell, &cell.h2);
    test::FakeSwitch h2("h2", {}, "x");
    right.send(h2.send_hello());
    REQUIRE(cell.turn_until([&] { return right.receive(h2) && h2.welcome; }));
    CHECK(cell.controller->counters().messages == 1);
    CHECK(cell.server->counters().admitted == 1);
    CHECK(cell.controller->status(0)["hosts"][0]["state"] == "absent");
}

TEST_CASE(
    "over tcp the second switch with a key is refused by address, until the first one's connection ends") {
    Cell cell(true);
    cell.controller->set_reach([&](const Outgoing& message) { return cell.server->reaches(message); });
    auto first = std::make_unique<Dealer>(cell, &cell.h1);
    test::FakeSwitch h1("h1", {}, "x");
    first->send(h1.send_hello());
    REQUIRE(cell.turn_until([&] { return first->receive(h1) && h1.welcome; }));
    Dealer second(cell, &cell.h1);
    test::FakeSwitch twin("h1", {}, "x");
    twin.session = 70'000;
    second.send(twin.send_hello());
    REQUIRE(cell.turn_until([&] { return second.receive(twin) && twin.welcome; }));
    CHECK(twin.welcome->refused.find("connected already, from 127.0.0.1 since") != std::string::npos);
    first.reset();
    REQUIRE(cell.turn_until([&] {
        twin.welcome.reset();
        second.send(twin.send_hello());
        cell.turn();
        while (second.receive(twin)) {
        }
        return twin.welcome && twin.welcome->refused.empty();
    }));
}

TEST_CASE("messages with another number of frames are counted and dropped") {
    Cell cell(false);
    Dealer dealer(cell, nullptr);
    dealer.socket.send(zmq::str_buffer("alone"), zmq::send_flags::none);
    for (int i = 0; i < 3; ++i)
        dealer.socket.send(zmq::str_buffer("x"), i < 2 ? zmq::send_flags::sndmore : zmq::send_flags::none);
    REQUIRE(cell.turn_until([&] { return cell.server->counters().odd_frames == 2; }));
    CHECK(cell.controller->counters().messages == 0);
}

TEST_CASE("an answer to a switch that disconnected is counted") {
    Cell cell(false);
    std::string route(1, '\0');
    cell.server->send({{route + "gone!", {}, {}}});
    CHECK(cell.server->counters().unreachable == 1);
}

TEST_CASE("a command gets its data, a wrong one the path of its fault") {
    Cell cell(false);
    const auto ask = [&](std::string_view request) {
        return nlohmann::json::parse(cell.controller->on_command(request, cell.server->counters(), 0));
    };
    const auto status = ask(R"({"schema": 1, "command": "status", "args": {}})");
    CHECK(status["ok"] == true);
    CHECK(status["data"]["role"] == "controller");
    CHECK(status["data"]["sockets"]["denied"] == 0);
    CHECK(ask(R"({"schema": 1, "command": "audit", "args": {"last": 1}})")["data"]["entries"].size() == 1);
    CHECK(ask(R"({"schema": 1, "command": "pool.show"})")["data"]["pools"].empty());
    const auto set = [&](const std::string& args) {
        return ask(R"({"schema": 1, "command": "pool.set", "args": )" + args + "}")["faults"][0]["path"];
    };
    CHECK(set("{}") == "args.name");
    CHECK(set(R"({"name": "p"})") == "name");
    CHECK(set(R"({"name": "p", "change": {"shares": 0}})") == "change.shares");
    CHECK(set(R"({"name": "p", "change": {"weight": 5}})") == "change.weight");
    CHECK(ask(R"({"schema": 1, "command": "drops"})")["faults"][0]["path"] == "command");
    CHECK(ask(R"({"schema": 1, "command": "audit", "args": {"last": 0}})")["faults"][0]["path"] ==
          "args.last");
    CHECK(ask("[]")["ok"] == false);
    CHECK(ask("{")["ok"] == false);
}

TEST_CASE("a command that takes long is answered later, and others meanwhile") {
    Cell cell(false);
    zmq::context_t context;
    zmq::socket_t slow(context, zmq::socket_type::req);
    zmq::socket_t quick(context, zmq::socket_type::req);
    for (zmq::socket_t* socket : {&slow, &quick}) {
        socket->set(zmq::sockopt::linger, 0);
        socket->connect("ipc://" + cell.config.control_socket);
    }
    std::uint64_t ticket = 0;
    const auto turn = [&] {
        cell.server->serve(5ms, {[](const Peer&, auto, auto) {},
                                 [&](std::string_view request) {
                                     CHECK(cell.server->command_origin().peer.starts_with("uid "));
                                     if (request != "slow")
                                         return std::string("at once");
                                     ticket = cell.server->command_origin().ticket;
                                     return std::string();
                                 }});
    };
    const auto receive = [&](zmq::socket_t& socket) {
        zmq::message_t reply;
        REQUIRE(
            testing::until([&] { return socket.recv(reply, zmq::recv_flags::dontwait).has_value(); }, turn));
        return reply.to_string();
    };
    slow.send(zmq::buffer("slow", 4), zmq::send_flags::none);
    REQUIRE(testing::until([&] { return ticket != 0; }, turn));
    quick.send(zmq::buffer("quick", 5), zmq::send_flags::none);
    CHECK(receive(quick) == "at once");
    cell.server->reply({ticket, "later"});
    CHECK(receive(slow) == "later");
    cell.server->reply({ticket, "twice"});  // no peer waits for it
}

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

TEST_CASE("a key is made once, read again, and never overwritten") {
    const test::TempFolder folder;
    const std::string file = folder.file("key");
    const std::string open = make_key(file);
    CHECK(is_curve_key(open));
    const std::string secret = read_key(file);
    CHECK(is_curve_key(secret));
    char derived[41];
    REQUIRE(zmq_curve_public(derived, secret.c_str()) == 0);
    CHECK(derived == open);
    CHECK((std::filesystem::status(file).permissions() & std::filesystem::perms::group_read) ==
          std::filesystem::perms::none);
    CHECK_THROWS_AS(make_key(file), HostError);
    std::ofstream(folder.file("bad")) << "short\n";
    CHECK_THROWS_AS(read_key(folder.file("bad")), HostError);
    CHECK_THROWS_AS(read_key(folder.file("none")), HostError);
}

TEST_CASE(
    "on a stepped clock the loop solves at the ends of the intervals that are stepped over, and else never") {
    Cell cell(false);
    cell.config.interval = kNanosPerSec;
    SteppedClock clock;
    std::atomic<bool> stop = false;
    std::thread loop([&] { run_intervals(cell.config, *cell.controller, *cell.server, stop, &clock); });
    const auto ask = [&cell](const std::string& command) {
        zmq::context_t context;
        zmq::socket_t socket(context, zmq::socket_type::req);
        socket.set(zmq::sockopt::linger, 0);
        socket.connect("ipc://" + cell.config.control_socket);
        socket.send(zmq::buffer(R"({"schema":1,"command":)" + command + "}"), zmq::send_flags::none);
        zmq::message_t reply;
        (void)socket.recv(reply, zmq::recv_flags::none);
        return nlohmann::json::parse(reply.to_string());
    };
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
    stop = true;
    loop.join();
}

TEST_CASE("clock.step is refused while time is real") {
    Cell cell(false);
    const auto reply = nlohmann::json::parse(cell.controller->on_command(
        R"({"schema":1,"command":"clock.step","args":{"span":"1s"}})", cell.server->counters(), 0));
    CHECK(reply.at("faults")[0].at("allowed") == "a controller that was started with --clock stepped");
}
