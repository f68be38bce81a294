// server.h - the controller's sockets: ROUTERs for switches, the list of keys that may come, the operator's
// socket. Source: design section 5, algorithms 10. Threads: one owner (ZeroMQ has its own).
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

#include "ctrl/config/config.h"
#include "ctrl/daemon/controller.h"

namespace weir {

struct ServerCounters {
    std::uint64_t denied = 0;       ///< connections with a key that is on no list
    std::uint64_t admitted = 0;     ///< connections that showed a host's key
    std::uint64_t odd_frames = 0;   ///< messages that are not two frames
    std::uint64_t unreachable = 0;  ///< answers to switches that had gone
    std::uint64_t full = 0;         ///< answers to switches that do not read
};

class Server {
  public:
    struct Handlers {
        std::function<void(const Peer&, std::span<const std::uint8_t> header,
                           std::span<const std::uint8_t> body)>
            message;
        std::function<std::string(std::string_view request)> command;
    };

    /// Listens on all of `listen` and on the control socket. @param secret_key Z85; empty when all is ipc
    /// @throws HostError naming the address and the mend
    Server(const ClusterConfig& config, const std::string& secret_key);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    /// Hands out what has come, or comes within `patience`; a bounded number, so that the caller's clock is
    /// looked at.
    void serve(std::chrono::milliseconds patience, const Handlers& handlers);
    /// Never waits: what cannot go is counted, and made up for by the receiver's asking.
    void send(const std::vector<Outgoing>& messages);
    [[nodiscard]] const ServerCounters& counters() const { return counters_; }

  private:
    void add_zap();
    void listen(const std::string& endpoint, const std::string& secret_key);
    void listen_to_operator(const std::string& path);
    void admit();
    void take(std::size_t index, const Handlers& handlers);
    bool take_one(std::size_t index, const Handlers& handlers);
    void answer_operator(const Handlers& handlers);

    using PublicKey = std::array<std::uint8_t, 32>;
    zmq::context_t context_{1};
    std::map<PublicKey, std::string> keys_;  // and the hosts whose they are
    std::vector<zmq::socket_t> routers_;
    zmq::socket_t zap_;
    zmq::socket_t operator_;
    std::vector<std::string> files_;  // of ipc sockets
    ServerCounters counters_;
};

/// Makes a new CURVE pair: the secret into the file (which must not be there, mode 0600), the public key
/// returned.
/// @throws HostError
[[nodiscard]] std::string make_key(const std::string& path);
/// The Z85 key in a file; white space around it is ignored. @throws HostError: unreadable, or no key
[[nodiscard]] std::string read_key(const std::string& path);

}  // namespace weir
