// exchange.h - clients of memcached and a server that does nothing but answer, both made of frames: requests
// and responses in TCP segments, as fast as the switch between two ports forwards them. Units: bytes; TSC
// cycles. Threads: one polling core.
//
// Each connection has one request outstanding; when its response is complete the next request is sent. There
// is no TCP stack: both sides count bytes, and acknowledge every second segment of a message that is not
// complete. By default the connections are so few that at most 384 segments are outstanding, so that no ring
// of 1,024 overflows.
#pragma once

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/load/virtio/port.h"

namespace weir::requests {

inline constexpr std::uint32_t kSegmentBytes = 1448;
inline constexpr std::uint16_t kHeaderBytes = 54;  // Ethernet, IPv4, TCP
inline constexpr std::uint16_t kServicePort = 11211;

struct Spec {
    std::size_t client = 0;  ///< port indices
    std::size_t server = 1;
    bool put = false;  ///< SETs instead of GETs
    std::uint32_t bytes = 512;
    std::uint32_t connections = 64;
    double warmup = 0.1;   ///< seconds
    double seconds = 0.5;  ///< counted
};

/// The only message of one side: a line, a value of arbitrary bytes, an end.
struct Message {
    std::string head;
    std::string tail;
    std::uint32_t bytes = 0;  ///< of head, value and tail

    /// Writes `count` bytes from offset `from` on; those of the value stay as they are in the buffer.
    void write(std::uint32_t from, std::uint32_t count, std::uint8_t* to) const;
};

struct Tally {
    std::uint64_t answered = 0;
    std::uint64_t frames = 0;  ///< received by either side
    std::uint64_t payload = 0;
    std::uint64_t idle_cycles = 0;  ///< of polls that received nothing
    std::uint64_t unexpected = 0;   ///< frames that were not the next of their connection: one was lost
};

class Exchange {
  public:
    /// @param serial sets this run's sequence numbers apart from those of earlier runs
    Exchange(const Spec& spec, load::Port& client, load::Port& server, rte_mempool* pool,
             std::uint32_t serial);
    ~Exchange();
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;

    /// Opens every connection and sends its first request.
    void start();
    /// Receives from both ports; sends acknowledgements, responses and next requests. @return frames received
    unsigned poll();
    /// Sends no new requests from now on.
    void stop() { stopping_ = true; }
    /// Connections whose request has no complete response.
    [[nodiscard]] std::uint32_t outstanding() const { return outstanding_; }
    /// Bursts that found a ring full.
    [[nodiscard]] std::uint64_t refused() const { return refused_; }

    Tally tally;

  private:
    enum Side : std::size_t { kClient, kServer };
    struct Connection {
        std::array<std::uint32_t, 2> seq{};       ///< of the next byte that a side sends
        std::array<std::uint32_t, 2> received{};  ///< by a side, of the message that is incomplete
        std::array<std::uint32_t, 2> unacknowledged{};
    };
    struct End {
        load::Port& port;
        Message message;  ///< that this side sends
        std::array<std::uint8_t, kHeaderBytes> header{};
        std::vector<rte_mbuf*> out{};
    };

    static Side other(Side side) { return side == kClient ? kServer : kClient; }
    void build_header(Side side);
    unsigned receive(Side side);
    void on_frame(Side side, rte_mbuf* frame);
    void send_message(Side side, std::uint32_t number, rte_mbuf* frame);
    void send_segment(Side side, std::uint32_t number, rte_mbuf* frame, std::uint8_t flags,
                      std::uint32_t payload);
    void flush(Side side);
    [[nodiscard]] rte_mbuf* allocate();

    Spec spec_;
    rte_mempool* pool_;
    std::array<End, 2> ends_;
    std::vector<Connection> connections_;
    bool stopping_ = false;
    std::uint32_t outstanding_ = 0;
    std::uint64_t refused_ = 0;
};

}  // namespace weir::requests
