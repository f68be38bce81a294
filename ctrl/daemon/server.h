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
        /// A request of at most 64 KiB. @return the reply
        std::function<std::string(std::string_view request)> on_command;
    };

    /// Binds all addresses of `listen`, and the control socket. ZeroMQ takes the file of an ipc address away
    /// from a process that listens there, so the caller holds a RunLock of each (main.cc).
    /// @param config accepted by parse_cluster(); not kept
    /// @param secret_key Z85; empty when all are ipc
    /// @throws HostError with the address and the fault, or the folder to make
    Server(const ClusterConfig& config, const std::string& secret_key);
    /// Drops unsent messages and removes the files of ipc addresses.
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    /// Waits for a message or a signal, at most `wait_max` (from 0 on), then calls the handlers: for all
    /// commands, then for at most 4,096 messages of each address of `listen`, so that the caller's clock is
    /// read between floods.
    void serve(std::chrono::milliseconds wait_max, const Handlers& handlers);
    /// Never blocks. A message whose switch has disconnected, or has 64 unsent messages, is dropped and
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
/// A tick is due every `interval`, the first one interval after the call. One that is missed (the process was
/// stopped, a solve took too long) is not made up for: the next one has all demands that the missed one would
/// have had. Early solves are at least a tenth of the interval apart. The caller is the thread of `server`;
/// `controller` keeps a Reach that refers to `server`, so no on_message() after the server's end.
/// @param stop set by a signal handler or another thread
/// @param clock moved by the command `clock.step`, with all that becomes due; null: time is real
/// @throws HostError: the store cannot be written
void run_intervals(const ClusterConfig& config, Controller& controller, Server& server,
                   const std::atomic<bool>& stop, SteppedClock* clock = nullptr);

/// Makes a CURVE key pair: the secret key goes into a new file (mode 0600), the public key is returned; both
/// are 40 characters of Z85. @throws HostError: the file exists or cannot be written, or libzmq has no CURVE
[[nodiscard]] std::string make_key(const std::string& path);
/// Reads a Z85 key from a file; white space around it is ignored. @throws HostError: unreadable, or not a key
[[nodiscard]] std::string read_key(const std::string& path);

}  // namespace weir
