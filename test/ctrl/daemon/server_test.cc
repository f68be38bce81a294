// server_test.cc - the sockets of weir-ctrl: ipc and tcp; right, wrong and no key; commands; turns of intake.
#include "ctrl/daemon/server.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/config/field_kinds.h"
#include "common/error.h"
#include "ctrl/daemon/key_file.h"
#include "test/ctrl/daemon/cell.h"

using namespace weir;
using namespace std::chrono_literals;
using test::Cell;
using test::Dealer;
using test::Keys;

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

TEST_CASE(
    "the socket for reading refuses commands that change, names the permission, and audits the attempt") {
    Cell cell(false);
    cell.server.reset();
    cell.config.control_read_socket = cell.folder.file("read.sock");
    cell.controller = std::make_unique<Controller>(cell.config, cell.solver, cell.store, 1'000);
    cell.server = std::make_unique<Server>(cell.config, "");
    struct stat file {};
    REQUIRE(stat(cell.config.control_read_socket.c_str(), &file) == 0);
    CHECK((file.st_mode & 0777) == 0660);  // the folder's group and no other user, under any umask
    zmq::context_t context;
    const auto ask = [&](const std::string& path, const std::string& command) {
        zmq::socket_t asking(context, zmq::socket_type::req);
        asking.set(zmq::sockopt::linger, 0);
        asking.connect("ipc://" + path);
        asking.send(zmq::buffer(R"({"schema": 1, "command": ")" + command + "\"}"), zmq::send_flags::none);
        zmq::message_t reply;
        REQUIRE(testing::until([&] { return asking.recv(reply, zmq::recv_flags::dontwait).has_value(); },
                               [&] {
                                   cell.server->serve(5ms, {[](const Peer&, auto, auto) {},
                                                            [&](std::string_view request) {
                                                                return cell.controller->on_command(
                                                                    request, {}, 0, {},
                                                                    cell.server->command_origin());
                                                            }});
                                   for (const SideWork::Reply& later : cell.controller->take_replies(0))
                                       cell.server->reply(later);
                               }));
        return nlohmann::json::parse(reply.to_string());
    };
    for (const char* command : {"status", "history", "running", "bill", "pool.show", "observed"})
        CHECK(ask(cell.config.control_read_socket, command)["ok"] == true);
    for (const char* command : {"apply", "backup", "clock.step", "pool.reset", "pool.set"}) {
        const auto fault = ask(cell.config.control_read_socket, command)["faults"][0];
        CHECK(fault["path"] == "command");
        CHECK(fault["found"] == command);
        CHECK(fault["message"].get<std::string>().find("--socket " + cell.config.control_socket) !=
              std::string::npos);
        CHECK(ask(cell.config.control_socket, command)["faults"][0]["path"] != "command");
    }
    cell.controller->tick(0, 1'001);
    const std::string text = cell.store.audit_tail(1)[0].text;
    CHECK(text == "command pool.set at control_read_socket, of uid " + std::to_string(getuid()) +
                      ", process " + std::to_string(getpid()));
}

TEST_CASE("readers leave places for an operator's long commands") {
    const test::TempFolder folder;
    const auto config = std::get<ClusterConfig>(parse_cluster(R"({"name": "test"})"));
    test::MaxMinSolver solver;
    Store store(folder.file("ctrl.db"));
    Controller controller(config, solver, store, 1'000);
    std::uint64_t ticket = 0;
    const auto refused = [&](bool may_change) {
        return !controller
                    .on_command(R"({"schema": 1, "command": "bill"})", {}, 0, {},
                                {.ticket = ++ticket, .may_change = may_change})
                    .empty();
    };
    bool is_reader_refused = false;
    for (int i = 0; i < 10'000 && !is_reader_refused; ++i)  // one of them may have begun
        is_reader_refused = refused(false);
    CHECK(is_reader_refused);
    CHECK_FALSE(refused(true));
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
    std::filesystem::permissions(file, std::filesystem::perms(0640));
    CHECK_THROWS_WITH(read_key(file), ContainsSubstring("chmod 600"));
    std::ofstream(folder.file("bad")) << "short\n";
    std::filesystem::permissions(folder.file("bad"), std::filesystem::perms(0600));
    CHECK_THROWS_WITH(read_key(folder.file("bad")), ContainsSubstring("5 characters"));
    CHECK_THROWS_AS(read_key(folder.file("none")), HostError);
}

TEST_CASE("a turn ends between two messages when its time is over, and connections have turns") {
    Cell cell(false);
    Dealer flood(cell, nullptr);
    Dealer quiet(cell, nullptr);
    test::FakeSwitch h1("h1", {}, "x");
    test::FakeSwitch h2("h2", {}, "x");
    // Both have a connection first: the flood is one of a known switch.
    for (auto [dealer, from] : {std::pair{&flood, &h1}, std::pair{&quiet, &h2}}) {
        dealer->send(from->send_hello());
        REQUIRE(cell.turn_until([&] { return dealer->receive(*from) && from->welcome; }));
    }
    for (int sent = 0; sent < 40; ++sent)
        flood.send(h1.send_demands());
    quiet.send(h2.send_demands());
    std::vector<std::string> order;
    int left = 0;
    const Server::Handlers handlers{[&](const Peer& peer, auto, auto) { order.push_back(peer.route); },
                                    [](std::string_view) { return std::string(); },
                                    [&] { return --left > 0; }};
    for (std::size_t seen = 0; seen < 41;) {
        cell.server->wait(1'000ms);
        left = 5;
        cell.server->take(handlers);
        CHECK(order.size() - seen <= 5);
        REQUIRE(order.size() > seen);
        seen = order.size();
    }
    CHECK(order.size() == 41);
}

TEST_CASE("addresses have turns: a flood at one does not hold up a message at the other") {
    test::TempFolder folder;
    ClusterConfig config;
    config.hosts = {{.name = "h1", .rack = ""}, {.name = "h2", .rack = ""}};
    config.control_socket = folder.file("ctrl.sock");
    config.listen = {"ipc://" + folder.file("first.ipc"), "ipc://" + folder.file("second.ipc")};
    Server server(config, "");
    std::string order;
    const Server::Handlers handlers{
        [&](const Peer& peer, auto, auto) { order += peer.route[0] == 0 ? 'f' : 's'; },
        [](std::string_view) { return std::string(); }};
    zmq::context_t context;
    std::vector<zmq::socket_t> dealers;
    for (const std::string& endpoint : config.listen) {
        dealers.emplace_back(context, zmq::socket_type::dealer).set(zmq::sockopt::linger, 0);
        dealers.back().connect(endpoint);
    }
    const auto send = [&](std::size_t to, int times) {
        for (int sent = 0; sent < times; ++sent) {
            dealers[to].send(zmq::str_buffer("header"), zmq::send_flags::sndmore);
            dealers[to].send(zmq::str_buffer("body"), zmq::send_flags::none);
        }
    };
    send(1, 1);
    send(0, 40);
    REQUIRE(testing::until([&] { return order.size() == 41; }, [&] { server.serve(5ms, handlers); }));
    order.clear();
    send(1, 1);
    server.wait(60'000ms);  // returns when it is there, before the flood
    send(0, 40);
    REQUIRE(testing::until([&] { return order.size() == 41; }, [&] { server.serve(5ms, handlers); }));
    CHECK(order.find('s') <= 1);
}

TEST_CASE("of many commands 16 are answered in a turn") {
    constexpr int kAsked = 64;
    Cell cell(false);
    zmq::context_t context;
    zmq::socket_t asking(context, zmq::socket_type::dealer);
    asking.set(zmq::sockopt::linger, 0);
    asking.connect("ipc://" + cell.config.control_socket);
    for (int sent = 0; sent < kAsked; ++sent) {
        asking.send(zmq::message_t(), zmq::send_flags::sndmore);
        asking.send(zmq::str_buffer("{}"), zmq::send_flags::none);
    }
    int answered = 0;
    int most = 0;
    const Server::Handlers handlers{[](const Peer&, auto, auto) {},
                                    [&](std::string_view) {
                                        ++answered;
                                        return std::string("{}");
                                    }};
    REQUIRE(testing::until([&] { return answered == kAsked; },
                           [&] {
                               const int before = answered;
                               cell.server->serve(5ms, handlers);
                               most = std::max(most, answered - before);
                           }));
    CHECK(most <= 16);
}

TEST_CASE("sockets that vanished with their folder come back, and connections outlast it") {
    Cell cell(false);
    Dealer before(cell, nullptr);
    test::FakeSwitch h1("h1", {}, "x");
    before.send(h1.send_hello());
    REQUIRE(cell.turn_until([&] { return before.receive(h1) && h1.welcome; }));
    std::filesystem::remove(cell.folder.file("ctrl.ipc"));
    std::filesystem::remove(cell.folder.file("ctrl.sock"));
    REQUIRE(cell.turn_until([&] {
        return std::filesystem::exists(cell.folder.file("ctrl.ipc")) &&
               std::filesystem::exists(cell.folder.file("ctrl.sock"));
    }));
    Dealer after(cell, nullptr);
    test::FakeSwitch h2("h2", {}, "x");
    after.send(h2.send_hello());
    REQUIRE(cell.turn_until([&] { return after.receive(h2) && h2.welcome; }));
    h1.welcome.reset();
    before.send(h1.send_hello());
    CHECK(cell.turn_until([&] { return before.receive(h1) && h1.welcome; }));
    CHECK(cell.server->counters().faults == 0);
}

TEST_CASE("a plain connection is refused as a host that has a key, and counted") {
    Cell cell(false);
    cell.config.hosts[1].key = cell.h2.open;
    cell.controller = std::make_unique<Controller>(cell.config, cell.solver, cell.store, 1'000);
    Dealer dealer(cell, nullptr);
    test::FakeSwitch h2("h2", {}, "x");
    dealer.send(h2.send_hello());
    REQUIRE(cell.turn_until([&] { return dealer.receive(h2) && h2.welcome; }));
    CHECK(h2.welcome->refused.starts_with(
        "host h2 has a key in the cluster file, and a connection without one"));
    CHECK(cell.controller->counters().refused_hosts == 1);
    CHECK(cell.controller->status(0)["hosts"][1]["state"] == "absent");
}

TEST_CASE("a reply that weirctl would refuse is replaced by the reason") {
    Cell cell(false);
    cell.store.add_revision({.text = std::string(65 << 20, 'x')}, 1'000);
    const auto reply = nlohmann::json::parse(
        cell.controller->on_command(R"({"schema": 1, "command": "running"})", cell.server->counters(), 0));
    CHECK(reply["ok"] == false);
    CHECK(reply["faults"][0]["path"] == "reply");
    CHECK(reply["faults"][0]["allowed"] == "at most 67108864 bytes");
}

TEST_CASE("a key that is replaced while all runs ends its connection, and the new one is admitted") {
    Cell cell(true);
    Dealer before(cell, &cell.h1);
    test::FakeSwitch h1("h1", {}, "x");
    before.send(h1.send_hello());
    REQUIRE(cell.turn_until([&] { return before.receive(h1) && h1.welcome; }));
    const Keys rotated;
    cell.config.hosts[0].key = rotated.open;
    cell.server->set_hosts(cell.config.hosts);
    const std::uint64_t messages = cell.controller->counters().messages;
    before.send(h1.send_hello());
    REQUIRE(cell.turn_until([&] { return cell.server->counters().denied >= 2; }));  // it tries again
    CHECK(cell.controller->counters().messages == messages);
    Dealer now(cell, &rotated);
    test::FakeSwitch again("h1", {}, "x");
    now.send(again.send_hello());
    CHECK(cell.turn_until([&] { return cell.controller->counters().messages > messages; }));
}

TEST_CASE("over tcp a key has 4 connections, and one that ends makes room for the next") {
    Cell cell(true);
    std::vector<std::unique_ptr<Dealer>> dealers;
    test::FakeSwitch h1("h1", {}, "x");
    for (int i = 0; i < 6; ++i) {
        dealers.push_back(std::make_unique<Dealer>(cell, &cell.h1));
        dealers.back()->send(h1.send_hello());
    }
    REQUIRE(cell.turn_until(
        [&] { return cell.controller->counters().messages == 4 && cell.server->counters().surplus >= 2; }));
    Dealer other(cell, &cell.h2);
    test::FakeSwitch h2("h2", {}, "x");
    other.send(h2.send_hello());
    REQUIRE(cell.turn_until([&] { return other.receive(h2) && h2.welcome; }));
    dealers.erase(dealers.begin(), dealers.begin() + 3);
    for (const auto& dealer : dealers) {
        h1.welcome.reset();
        CHECK(cell.turn_until([&] {
            while (dealer->receive(h1)) {
            }
            if (!h1.welcome)
                dealer->send(h1.send_hello());
            return h1.welcome.has_value();
        }));
    }
}

TEST_CASE("a store that cannot be read refuses the command, and the controller goes on") {
    struct Failing final : Solver {
        std::vector<wire::FlowAllocation> solve(const Cluster&, const FlowDemands&, bool) override {
            return {};
        }
        [[nodiscard]] nlohmann::json describe_appliances() const override {
            throw HostError("ctrl.db: disk I/O error");
        }
    };
    Cell cell(false);
    Failing solver;
    Controller controller(cell.config, solver, cell.store, 1'000);
    const auto reply = nlohmann::json::parse(
        controller.on_command(R"({"schema": 1, "command": "status"})", cell.server->counters(), 0));
    CHECK(reply["ok"] == false);
    CHECK(reply["faults"][0]["found"] == "ctrl.db: disk I/O error");
}
