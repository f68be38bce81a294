// cell.h - a controller with its sockets in a folder of its own, and a switch's end of a connection.
// Threads: tests only.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <zmq.hpp>

#include "ctrl/daemon/server.h"
#include "test/ctrl/daemon/fake_switch.h"
#include "test/ctrl/daemon/max_min_solver.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"
#include "test/support/wait.h"

namespace weir::test {

struct Keys {
    char open[41];
    char secret[41];
    Keys() { REQUIRE(zmq_curve_keypair(open, secret) == 0); }
};

// A controller with its sockets; turn() is one iteration of its loop.
struct Cell {
    TempFolder folder;
    Keys own;
    Keys h1;
    Keys h2;
    ClusterConfig config;
    MaxMinSolver solver;
    Store store{":memory:"};
    std::unique_ptr<Controller> controller;
    std::unique_ptr<Server> server;

    explicit Cell(bool tcp) {
        config.hosts = {{.name = "h1", .rack = "", .key = tcp ? h1.open : ""},
                        {.name = "h2", .rack = "", .key = tcp ? h2.open : ""}};
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
        server->serve(
            std::chrono::milliseconds(5),
            {[&](const Peer& peer, auto header, auto body) { controller->on_message(peer, header, body, 0); },
             [&](std::string_view request) {
                 return controller->on_command(request, server->counters(), 0);
             }});
        server->send(controller->take_outgoing());
    }
    template <typename Condition>
    bool turn_until(Condition holds) {
        return weir::testing::until(holds, [this] { turn(); });
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
    void send(const FakeSwitch::Message& message) {
        socket.send(zmq::buffer(message.header), zmq::send_flags::sndmore | zmq::send_flags::dontwait);
        socket.send(zmq::buffer(message.body), zmq::send_flags::dontwait);
    }
    bool receive(FakeSwitch& to) {
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

}  // namespace weir::test
