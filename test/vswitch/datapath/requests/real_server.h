// real_server.h - the appliance's side of hostile TCP connections: a model of a server's IP, TCP and
// memcached, which accepts the segments that a real one accepts and ignores the others.
// Source: RFC 791; RFC 8200; RFC 9293; RFC 5961; memcached protocol.txt.
// Units: bytes; a token is a byte of a request that the application read, or of its response.
// Threads: tests only.
//
// The model shares no code with the switch. It reassembles fragments, skips extension headers and priority
// tags, ignores segments with a broken checksum (the field holds kBroken), SYNs and RSTs that RFC 5961
// ignores, and bytes outside of its window; of bytes that come twice it keeps the first.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "test/support/frames.h"

namespace weir::testing {

class RealServer {
  public:
    static constexpr std::uint16_t kPort = 11211;
    static constexpr std::uint16_t kBroken = 0xBAD0;  ///< in the TCP checksum field
    static constexpr std::uint32_t kWindow = 65'535;

    void receive(const FrameBytes& frame);
    /// Segments of the server, without Ethernet and IP headers, with their client's port.
    struct Answer {
        std::uint16_t port;
        bool ip6;
        FrameBytes segment;
    };
    [[nodiscard]] std::vector<Answer> take_answers();

    /// The next byte that the server waits for; 0 without a connection.
    [[nodiscard]] std::uint32_t expects(std::uint16_t port) const;
    /// The server restarts: it knows nothing of the connection any more.
    void forget(std::uint16_t port) { connections_.erase(port); }

    std::uint64_t tokens = 0;         ///< of the application's requests and responses
    std::uint64_t payload_bytes = 0;  ///< of all TCP segments that arrived whole, accepted or not

  private:
    struct Connection {
        bool ip6 = false;
        bool established = false;
        std::uint32_t expected = 0;
        std::uint32_t sent = 0;
        std::map<std::uint32_t, std::uint8_t> beyond;  ///< by distance from the first byte
        std::uint32_t first = 0;
        std::string read;
    };
    struct Fragments {
        std::map<std::size_t, FrameBytes> parts;
        std::size_t whole = 0;
    };
    void receive_ip4(const FrameBytes& frame, std::size_t at);
    void receive_ip6(const FrameBytes& frame, std::size_t at);
    void reassemble(std::uint32_t id, std::size_t offset, bool more, const FrameBytes& part, bool ip6);
    void receive_tcp(const FrameBytes& segment, bool ip6);
    void accept(std::uint16_t port, Connection& connection, std::uint32_t seq, const FrameBytes& payload);
    void serve(std::uint16_t port, Connection& connection);
    void send(std::uint16_t port, Connection& connection, const std::string& bytes,
              std::uint8_t flags = kAck);

    std::map<std::uint16_t, Connection> connections_;
    std::map<std::uint32_t, Fragments> fragments_;
    std::vector<Answer> answers_;
    std::uint32_t next_first_ = 700'000;
};

}  // namespace weir::testing
