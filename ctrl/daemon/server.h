// server.h - the sockets of weir-ctrl: for switches over tcp and on this machine, and for weirctl.
// Source: docs/design.md 2, 5.5; docs/protocol.md. Threads: one owner, the controller's loop.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/clock.h"
#include "common/zmtp/local_server.h"
#include "ctrl/config/cluster_config.h"
#include "ctrl/daemon/controller.h"
#include "ctrl/daemon/keyed_sockets.h"

namespace weir {

/// Commands that a turn of the loop takes: from the command sockets, and from the API.
inline constexpr int kCommandsPerTurn = 16;

/// The sockets. One thread makes, uses and destroys a Server. A fault of ZeroMQ itself is a zmq::error_t; a
/// connection or a switch's message that is refused or dropped throws nothing and is counted in counters().
///
/// Example, a loop without early solves (run_intervals() is the loop of weir-ctrl):
///     Server server(config, read_key(config.secret_key_file));
///     while (!stop) {
///         server.serve(100ms, {on_message, on_command});  // they call the controller
///         if (an_interval_has_ended())
///             controller.tick(now, unix_time);
///         server.send(controller.take_outgoing());  // after every serve() and tick()
///     }
class Server {
  public:
    /// Called by serve(), on its thread; their spans and texts end with the call. They may call send() and
    /// reaches(), not serve(). An exception of a handler leaves serve().
    struct Handlers {
        /// A message as it came, not decoded. ZeroMQ ends a connection that sends more than
        /// wire::kBodyBytesMax in a part.
        std::function<void(const Peer&, std::span<const std::uint8_t> header,
                           std::span<const std::uint8_t> body)>
            on_message;
        /// A request of at most kRequestBytesMax. @return the reply
        std::function<std::string(std::string_view request)> on_command;
        /// Asked between two messages: false ends the turn. Empty: it ends when no message is left.
        std::function<bool()> is_time_left{};
    };

    /// Binds all addresses of `listen`, and the sockets for commands. A file at a local address goes away, so
    /// the caller holds a RunLock of each (main.cc).
    /// @param config accepted by parse_cluster(); not kept
    /// @param secret_key Z85; empty when all are ipc
    /// @throws HostError with the address and the fault, or the folder to make
    Server(const ClusterConfig& config, const std::string& secret_key);
    /// Drops unsent messages and removes the files of local addresses.
    ~Server() = default;
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    /// Admits the keys of these hosts from now on. Connections that showed another key end with their next
    /// message.
    void set_hosts(const std::vector<HostConfig>& hosts);

    /// Returns when a message is there, or after `wait_max`. Sockets that vanished with their folder come
    /// back. @param other a descriptor that ends the wait too; -1: none
    void wait(std::chrono::milliseconds wait_max, int other = -1);
    /// Calls the handlers for messages that are there, in rounds: a command, then a message of each address
    /// of `listen`, of its connections in turn. At most 4,096 rounds; commands are in the first 16 alone.
    void take(const Handlers& handlers);
    void serve(std::chrono::milliseconds wait_max, const Handlers& handlers) {
        wait(wait_max);
        take(handlers);
    }
    /// Never blocks. A message whose switch has disconnected, or whose queue is full, is dropped and
    /// counted; the switch notices the gap and asks again. @param messages with the route of a Peer of this
    /// Server
    void send(const std::vector<Outgoing>& messages);
    /// Sends one message. @return false: the connection of its switch is gone: at once when the switch ended,
    /// within 4 s when its machine did. True also for a full queue; then the message is dropped and counted
    [[nodiscard]] bool reaches(const Outgoing& message);
    [[nodiscard]] const ConnectionCounters& counters() const { return counters_; }
    /// Of the command that is handled now. When its handler returns no text, reply() has to be called later.
    [[nodiscard]] const CommandOrigin& command_origin() const { return command_origin_; }
    void reply(const SideWork::Reply& reply);

  private:
    /// Of one entry of `listen`: one of the keyed sockets, or a local one.
    struct Listener {
        std::size_t keyed = 0;
        std::unique_ptr<LocalServer> local{};
    };

    void listen_for_commands(std::size_t index, const std::string& path);
    bool receive_command(std::size_t index, const Handlers& handlers);
    bool receive_message(std::size_t index, const Handlers& handlers);
    bool receive_local(std::size_t index, const Handlers& handlers);
    /// Lets all local sockets work. @return whether one has a message
    bool work_locally();

    ConnectionCounters counters_;
    KeyedSockets keyed_;
    std::vector<Listener> listeners_;  // by entry of `listen`
    static constexpr std::size_t kForChanges = 0;
    static constexpr std::size_t kForReading = 1;
    /// At control_socket; at control_read_socket, which may not be there.
    std::array<std::unique_ptr<LocalServer>, 2> commands_;
    std::size_t next_listener_ = 0;  // where the next round begins
    CommandOrigin command_origin_;
    struct Unanswered {
        std::size_t index;  // of commands_
        LocalServer::Message request;
    };
    std::map<std::uint64_t, Unanswered> unanswered_;  // by ticket
};

}  // namespace weir
