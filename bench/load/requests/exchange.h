// exchange.h - clients of memcached and a server that only answers, both made of frames: requests and
// responses in TCP segments, as fast as the switch between the two ports carries them. Units: bytes; TSC
// cycles. Threads: one polling core.
//
// Each connection has one request under way; when its response is whole the next one goes out. There is no
// TCP: both sides count bytes, and acknowledge every second segment of a message that is not whole yet. So
// few frames are under way that no ring of 1024 can overflow.
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
    std::size_t client = 0;  ///< ports, by index
    std::size_t server = 1;
    bool put = false;  ///< SETs instead of GETs
    std::uint32_t bytes = 512;
    std::uint32_t connections = 64;
    double warmup = 0.1;
    double seconds = 0.5;
};

/// What one side says, again and again: a line, a value that nobody looks at, an end.
struct Message {
    std::string head;
    std::string tail;
    std::uint32_t bytes = 0;  ///< in all

    void write(std::uint32_t from, std::uint32_t count, std::uint8_t* to) const;
};

struct Tally {
    std::uint64_t answered = 0;
    std::uint64_t frames = 0;  ///< received by either side
    std::uint64_t payload = 0;
    std::uint64_t idle_cycles = 0;  ///< of turns in which nothing came
    std::uint64_t strays = 0;       ///< frames that were not the next of their connection: one was lost
};

class Exchange {
  public:
    /// @param serial sets this run's sequence numbers apart from those of earlier ones
    Exchange(const Spec& spec, load::Port& client, load::Port& server, rte_mempool* pool,
             std::uint32_t serial);
    ~Exchange();
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;

    /// Connects all, and lets them ask.
    void start();
    /// One turn: takes what has come, says what follows. @return frames that came
    unsigned turn();
    /// No new requests from now on.
    void stop() { stopping_ = true; }
    [[nodiscard]] std::uint32_t under_way() const { return under_way_; }
    [[nodiscard]] std::uint64_t refused() const { return refused_; }

    Tally tally;

  private:
    enum Side : std::size_t { kClient, kServer };
    struct Connection {
        std::array<std::uint32_t, 2> seq{};       ///< of the next byte that a side says
        std::array<std::uint32_t, 2> received{};  ///< by a side, of the message that is under way
        std::array<std::uint32_t, 2> unacknowledged{};
    };
    struct End {
        load::Port& port;
        Message message;  ///< what it says
        std::array<std::uint8_t, kHeaderBytes> header{};
        std::vector<rte_mbuf*> out{};
    };

    static Side other(Side side) { return side == kClient ? kServer : kClient; }
    void build_header(Side side);
    unsigned receive(Side side);
    void take(Side side, rte_mbuf* frame);
    void say(Side side, std::uint32_t number, rte_mbuf* frame);
    void send(Side side, std::uint32_t number, rte_mbuf* frame, std::uint8_t flags, std::uint32_t payload);
    void flush(Side side);
    [[nodiscard]] rte_mbuf* fresh();

    Spec spec_;
    rte_mempool* pool_;
    std::array<End, 2> ends_;
    std::vector<Connection> connections_;
    bool stopping_ = false;
    std::uint32_t under_way_ = 0;
    std::uint64_t refused_ = 0;
};

}  // namespace weir::requests
