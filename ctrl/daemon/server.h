// server.h - the sockets of weir-ctrl (for switches, CURVE keys and weirctl), and the loop that serves them.
// Source: docs/design.md 2, 5.5; docs/protocol.md; ZeroMQ RFC 26; ZeroMQ RFC 27
// Threads: one owner, the only thread of the controller (ZeroMQ has an I/O thread of its own).
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include <zmq.hpp>

#include "common/stepped_clock.h"
#include "ctrl/config/cluster_config.h"
#include "ctrl/daemon/controller.h"

namespace weir {

class Server {
  public:
    struct Handlers {
        std::function<void(const Peer&, std::span<const std::uint8_t> header,
                           std::span<const std::uint8_t> body)>
            on_message;
        std::function<std::string(std::string_view request)> on_command;
    };

    /// Binds all addresses of `listen`, and the control socket. @param secret_key Z85; empty when all are ipc
    /// @throws HostError naming the address, and what to do
    Server(const ClusterConfig& config, const std::string& secret_key);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    /// Calls the handlers for messages that are there or arrive within `wait_max`; at most 4,096 of each
    /// socket, so that the caller's clock is read between floods.
    void serve(std::chrono::milliseconds wait_max, const Handlers& handlers);
    /// Never blocks. A message that cannot be sent is counted; its switch notices the gap and asks again.
    void send(const std::vector<Outgoing>& messages);
    /// Sends one message. @return false: the connection of its switch is gone
    [[nodiscard]] bool reaches(const Outgoing& message);
    [[nodiscard]] const ConnectionCounters& counters() const { return counters_; }
    /// Of the command that is handled now. When its handler returns no text, reply() has to be called later.
    [[nodiscard]] const CommandOrigin& command_origin() const { return command_origin_; }
    void reply(const SideWork::Reply& reply);

  private:
    void bind_switches(const std::string& endpoint, const std::string& secret_key);
    void bind_commands(const std::string& path);
    void authenticate();
    void receive_commands(const Handlers& handlers);
    void send_reply(std::vector<zmq::message_t>& envelope, const std::string& text);
    void receive_messages(std::size_t index, const Handlers& handlers);

    using PublicKey = std::array<std::uint8_t, 32>;
    zmq::context_t context_{1};
    std::map<PublicKey, std::string> hosts_;  // by the key in the cluster file
    std::vector<zmq::socket_t> routers_;      // by entry of `listen`
    zmq::socket_t zap_;
    zmq::socket_t commands_;
    std::vector<std::string> files_;  // of ipc sockets
    ConnectionCounters counters_;
    CommandOrigin command_origin_;
    std::map<std::uint64_t, std::vector<zmq::message_t>> unanswered_;  // envelopes, by ticket
};

/// Serves messages and commands as they come, and an interval by the clock, until `stop` is set; returns at
/// most 100 ms later.
///
/// A tick is due every `interval`. One that is missed (the process was stopped, a solve took too long) is not
/// made up for: the next one has all demands that the missed one would have had. Early solves are at least a
/// tenth of the interval apart.
/// @param clock moved by the command `clock.step`, with all that becomes due; null: time is real
void run_intervals(const ClusterConfig& config, Controller& controller, Server& server,
                   const std::atomic<bool>& stop, SteppedClock* clock = nullptr);

/// Makes a CURVE key pair: the secret key goes into a new file (mode 0600), the public key is returned.
/// @throws HostError: the file exists or cannot be written
[[nodiscard]] std::string make_key(const std::string& path);
/// Reads a Z85 key from a file; white space around it is ignored. @throws HostError: unreadable, or not a key
[[nodiscard]] std::string read_key(const std::string& path);

}  // namespace weir
