// link_fault.h - why the connection to the controller does not come about, by the events of its socket.
// Source: docs/protocol.md. Threads: agent.
//
// ZeroMQ tries again without end and reports no cause. The events of its socket in an attempt show the cause:
// without a socket the name was not resolved; a socket that is closed before it is connected was refused; one
// that is connected and fails the handshake has a wrong key. Example: tcp://ctrl:5555 in two attempts, one
// for each family: no socket, then one that was refused. The name has an address, so the cause is the
// refusal.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "common/config/endpoint.h"

namespace weir {

class LinkFault {
  public:
    enum class Event : std::uint8_t {
        kSocket,           ///< there is a socket: the address is known
        kClosed,           ///< the attempt failed with a socket
        kRetried,          ///< the attempt is over; another one follows
        kConnected,        ///< the other end accepted
        kHandshakeFailed,  ///< and then not
        kKeyRefused,       ///< the other end does not know the key
        kReady,            ///< the connection can be used
        kDisconnected,
    };

    LinkFault(std::string address, SocketEndpoint::Kind kind) : address_(std::move(address)), kind_(kind) {}

    /// The family in which the attempts from now on are made.
    void set_family(bool ip6) { ip6_ = ip6; }
    void on_event(Event event);
    /// Sentence for people; empty: nothing is known to be wrong.
    [[nodiscard]] const std::string& text() const { return text_; }

  private:
    enum class Failure : std::uint8_t { kNone, kNoSocket, kUnreachable };
    void on_attempt_over();

    std::string address_;
    SocketEndpoint::Kind kind_;
    bool ip6_ = false;
    bool has_socket_ = false;          // in this attempt
    bool was_connected_ = false;       // likewise
    std::array<Failure, 2> failed_{};  // of IPv4, of IPv6, since the last connection
    std::string text_;
};

}  // namespace weir
