// frontend.h - a vhost-user front-end: one connection, messages with file descriptors, well-formed or not.
// Source: vhost-user protocol. Units: bytes; ms. Threads: one.
//
// Nothing here waits for the switch longer than patience(), and nothing depends on its answers: a switch that
// is deaf, or closes, is counted.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "test/hostile/guest_memory.h"
#include "test/hostile/protocol.h"
#include "test/support/sanitized.h"

namespace weir::hostile {

/// Counts of the acts, and of the switch's reactions to them.
struct Tally {
    std::uint64_t steps = 0;
    std::uint64_t connects = 0;
    std::uint64_t refused = 0;        ///< connects that failed
    std::uint64_t closed = 0;         ///< connections that the switch closed
    std::uint64_t messages = 0;       ///< sent
    std::uint64_t unanswered = 0;     ///< that ask for a reply
    std::uint64_t frames = 0;         ///< put into a ring in the honest way
    std::uint64_t bytes_changed = 0;  ///< beside the rings and in the guards; in every step anew
};

/// Where the switch is: a socket that the switch listens on, or connects to.
class Endpoint {
  public:
    /// @param listens whether this side makes the socket. @throws std::system_error
    Endpoint(std::string path, bool listens);
    ~Endpoint();
    Endpoint(const Endpoint&) = delete;
    Endpoint& operator=(const Endpoint&) = delete;

    /// A new connection, or none within the patience.
    [[nodiscard]] File open() const;

  private:
    std::string path_;
    File listener_;
};

template <typename T>
[[nodiscard]] std::span<const std::uint8_t> bytes_of(const T& value) {
    return {reinterpret_cast<const std::uint8_t*>(&value), sizeof(T)};
}

class Frontend {
  public:
    /// Valgrind runs one thread at a time, and a worker that polls has most of the turns.
    static std::chrono::milliseconds patience() {
        using namespace std::chrono_literals;
        return testing::under_valgrind() ? 2s : 200ms;
    }

    Frontend(const Endpoint& endpoint, Tally& tally) : endpoint_(endpoint), tally_(tally) {}

    /// Ends the connection, if there is one, and makes another. @return whether there is one
    bool reconnect();
    void close() { socket_ = File(); }
    /// Whether there is a connection that the switch has not closed.
    [[nodiscard]] bool connected();

    using Files = std::span<const int>;
    /// A message as the specification has it. @return whether all of it was sent
    bool send(Request request, std::span<const std::uint8_t> payload = {}, Files files = {});
    template <typename T>
    bool send(Request request, const T& payload, std::initializer_list<int> files = {}) {
        return send(request, bytes_of(payload), Files(files.begin(), files.size()));
    }
    bool send_ring(Request request, std::uint32_t ring, std::uint32_t value) {
        return send(request, RingState{ring, value});
    }
    /// Any bytes, header included.
    bool send_raw(std::span<const std::uint8_t> bytes, Files files = {});
    /// Sends and waits for the 64-bit reply.
    std::optional<std::uint64_t> ask(Request request);
    /// Reads and forgets the bytes that the switch has sent.
    void drain();

  private:
    const Endpoint& endpoint_;
    Tally& tally_;
    File socket_;
};

}  // namespace weir::hostile
