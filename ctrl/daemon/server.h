// server.h - the sockets of weir-ctrl: for switches, CURVE keys and weirctl.
// Source: docs/design.md 2, 5.5; docs/protocol.md; ZeroMQ RFC 26; ZeroMQ RFC 27
// Threads: one owner, the only thread of the controller (ZeroMQ has an I/O thread of its own).
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include <zmq.hpp>

#include "common/clock.h"
#include "ctrl/config/cluster_config.h"
#include "ctrl/daemon/connections.h"
#include "ctrl/daemon/controller.h"

namespace weir {

class Server {
  public:
    struct Handlers {
        std::function<void(const Peer&, std::span<const std::uint8_t> header,
                           std::span<const std::uint8_t> body)>
            on_message;
        std::function<std::string(std::string_view request)> on_command;
        /// Asked between two messages: false ends the turn. Empty: it ends when no message is left.
        std::function<bool()> is_time_left{};
    };

    /// Binds all addresses of `listen`, and the control socket. @param secret_key Z85; empty when all are ipc
    /// @throws HostError naming the address, and what to do
    Server(const ClusterConfig& config, const std::string& secret_key);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    /// Returns when a message is there, or after `wait_max`. Sockets that vanished with their folder come
    /// back.
    void wait(std::chrono::milliseconds wait_max);
    /// Calls the handlers for messages that are there, in rounds: a command, then a message of each address
    /// of `listen`, of its connections in turn. At most 4,096 rounds; commands are in the first 16 alone.
    void take(const Handlers& handlers);
    void serve(std::chrono::milliseconds wait_max, const Handlers& handlers) {
        wait(wait_max);
        take(handlers);
    }
    /// Never blocks. A message that cannot be sent is counted; its switch notices the gap and asks again.
    void send(const std::vector<Outgoing>& messages);
    /// Sends one message. @return false: the connection of its switch is gone
    [[nodiscard]] bool reaches(const Outgoing& message);
    [[nodiscard]] const ConnectionCounters& counters() const { return counters_; }

  private:
    void bind_switches(const std::string& endpoint, const std::string& secret_key);
    void bind_commands(const std::string& path);
    void authenticate(const Handlers& handlers);
    bool receive_command(const Handlers& handlers);
    bool receive_message(std::size_t index, const Handlers& handlers);
    std::vector<zmq::message_t> receive(zmq::socket_t& socket);
    void note(const zmq::error_t& fault);
    void restore_files();
    void watch_connections();
    [[nodiscard]] bool may_stay(zmq::message_t& part, const std::string& key);
    void end_connection(int descriptor);

    using PublicKey = std::array<std::uint8_t, 32>;
    zmq::context_t context_{1};
    std::map<PublicKey, std::string> hosts_;  // by the key in the cluster file
    std::vector<zmq::socket_t> routers_;      // by entry of `listen`
    std::vector<zmq::socket_t> events_;       // of each router
    Connections connections_;
    zmq::socket_t zap_;
    zmq::socket_t commands_;
    /// An ipc socket's file, and the router that listens there.
    struct File {
        static constexpr std::size_t kCommands = SIZE_MAX;
        std::string path;
        std::size_t router;
        bool is_bound = true;
    };
    std::vector<File> files_;
    std::chrono::steady_clock::time_point looked_{};
    std::size_t next_router_ = 0;  // where the next round begins
    ConnectionCounters counters_;
};

}  // namespace weir
