// keyed_sockets.h - ZeroMQ's sockets over tcp, where a host's CURVE key admits its switch.
// Source: ZeroMQ RFC 26; ZeroMQ RFC 27; docs/protocol.md. Threads: one owner (ZeroMQ has an I/O thread of its
// own).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include <zmq.hpp>

#include "common/clock.h"
#include "common/first_of_each.h"
#include "ctrl/config/cluster_config.h"
#include "ctrl/daemon/connections.h"
#include "ctrl/daemon/sessions.h"
#include "ctrl/daemon/unfinished_watch.h"

namespace weir {

class KeyedSockets {
  public:
    struct Message {
        Peer peer{};  ///< without the socket's number in `route`
        zmq::message_t header;
        zmq::message_t body;
    };

    /// @param secret_key of the controller, Z85; empty where nothing is bound
    KeyedSockets(std::string secret_key, ConnectionCounters& counters);
    ~KeyedSockets();
    KeyedSockets(const KeyedSockets&) = delete;
    KeyedSockets& operator=(const KeyedSockets&) = delete;

    /// @return the socket's number @throws HostError with the address and the fault
    std::size_t bind(const std::string& endpoint);
    /// Admits these keys from now on. Connections that showed another one end with their next message.
    void set_hosts(const std::vector<HostConfig>& hosts);
    void append_to(std::vector<zmq::pollitem_t>& items);
    /// Takes in opened and closed connections, and ends those that sent no message for too long, or whose
    /// messages do not end.
    void watch(Nanos now);
    /// Answers ZeroMQ's requests whether a key may connect, at most 256. @param is_time_left empty: always
    void authenticate(const std::function<bool()>& is_time_left, Nanos now);
    /// The next message that may be handled. `is_any`: whether one was there: one of a connection that
    /// was ended meanwhile is dropped.
    [[nodiscard]] std::optional<Message> receive(std::size_t socket, bool& is_any, Nanos now);
    /// Never blocks; a message for a full queue is dropped and counted. @return false: the connection is gone
    [[nodiscard]] bool send(std::size_t socket, std::string_view route, const Outgoing& message);

  private:
    /// All frames of one message; empty when none has come.
    std::vector<zmq::message_t> take(zmq::socket_t& socket);
    void note(const zmq::error_t& fault);
    [[nodiscard]] bool may_stay(zmq::message_t& part, const std::string& host, std::size_t bytes, Nanos now);
    void revoke(zmq::message_t& part);
    void on_event(const zmq::message_t& event, Nanos now);

    using PublicKey = std::array<std::uint8_t, 32>;
    std::string secret_key_;
    ConnectionCounters& counters_;
    zmq::context_t context_{1};
    std::map<PublicKey, std::string> keys_;                  // in the cluster file's notation
    std::map<std::string, std::string, std::less<>> hosts_;  // by that
    std::vector<zmq::socket_t> routers_;
    std::vector<zmq::socket_t> events_;  // of each router
    Connections connections_{0};
    std::optional<UnfinishedWatch> unfinished_;  // where anything is bound
    FirstOfEach<std::string> named_;             // owners whose unfinished messages were logged
    zmq::socket_t zap_;
};

}  // namespace weir
