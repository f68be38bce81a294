// tcp_connection.h - two ends that send and receive messages over one TCP connection.
// Source: RFC 9293; RFC 2018; RFC 8257; docs/algorithms.md 13.1.
// Units: segments; payload bytes.
// Threads: one.
//
// An acknowledgement reports one segment beyond a hole (RFC 2018), and marks are echoed exactly (RFC 8257).
// Connections are established from the start and never closed, as the applications of the papers keep them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "bench/sim/tcp_sender.h"

namespace weir::sim {

class TcpConnection;

/// An application over connections.
class TcpApplication {
  public:
    /// A message that `side` wrote has arrived whole at the other one.
    virtual void message_arrived(TcpConnection& connection, unsigned side) = 0;

  protected:
    ~TcpApplication() = default;
};

/// The segments that one end has received. It acknowledges every second one, and at once a segment out of
/// order or the last of a run.
class TcpReceiver final : public TcpSender::AckWriter {
  public:
    /// @param window segments that may arrive out of order, a power of two
    explicit TcpReceiver(std::uint32_t window) : window_(window) {}

    /// @return messages that are whole now
    unsigned take(const Packet& packet);
    [[nodiscard]] bool ack_due() const { return urgent_ || unacked_ >= 2; }
    void write_ack(Packet& packet) override;
    /// Payload that has arrived in order.
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

  private:
    struct Early {
        std::uint16_t payload;
        bool present;
        bool end_of_message;
    };
    [[nodiscard]] Early& early(std::uint64_t sequence) { return early_[sequence & (window_ - 1)]; }
    void keep(const Packet& packet);

    std::uint32_t window_;
    std::vector<Early> early_;  // by sequence; allocated when the first one comes
    std::uint64_t early_count_ = 0;
    std::uint64_t expected_ = 0;
    std::uint64_t bytes_ = 0;
    std::uint64_t sack_ = 0;
    Nanos echo_ = 0;
    std::uint32_t unacked_ = 0;
    std::uint16_t marks_ = 0;
    bool urgent_ = false;
};

class TcpConnection final : public FlowEnd {
  public:
    /// Side 0 is at `from`, side 1 at `to`. @param tag the application's own word for the connection
    TcpConnection(World& world, const std::vector<Host*>& hosts, const TcpProfile& profile, EndpointId from,
                  EndpointId to, TcpApplication& application, std::uint32_t tag);
    TcpConnection(const TcpConnection&) = delete;
    TcpConnection& operator=(const TcpConnection&) = delete;

    /// Sends a message from that side.
    void write(unsigned side, std::uint64_t bytes) { ends_[side].sender.write(bytes); }
    void deliver(const Packet& packet) override;

    [[nodiscard]] const TcpSender& sender(unsigned side) const { return ends_[side].sender; }
    /// Payload of that side that has arrived in order at the other.
    [[nodiscard]] std::uint64_t delivered(unsigned side) const { return ends_[1 - side].receiver.bytes(); }
    [[nodiscard]] std::uint32_t tag() const { return tag_; }

  private:
    struct End {
        TcpReceiver receiver;
        TcpSender sender;
        End(World& world, const TcpProfile& profile, const TcpSender::Path& path)
            : receiver(profile.window), sender(world, profile, path, receiver) {}
    };

    TcpApplication& application_;
    std::uint32_t tag_;
    StreamId flow_;
    std::array<End, 2> ends_;
};

}  // namespace weir::sim
