// unfinished_bytes.h - bytes of a peer over tcp and CURVE that are no whole message yet.
// Source: ZeroMQ RFC 26; tcp(7). Units: bytes. Threads: any (values).
//
// The library shows a message when its last part has come, and keeps the parts until then, without a bound.
// The kernel counts the bytes of a connection (TCP_INFO). Those beyond the messages that were shown are in
// the library's memory: at most the messages that its queue takes, or else a message that does not end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace weir::zmtp {

/// On the wire: a MESSAGE command with nonce, box and flags, in a frame.
[[nodiscard]] constexpr std::size_t curve_bytes(std::size_t part) {
    constexpr std::size_t kCommand = 33;
    return part + kCommand + (part + kCommand > UINT8_MAX ? 9 : 2);
}

class UnfinishedBytes {
  public:
    UnfinishedBytes() = default;
    /// @param received before the account began
    explicit UnfinishedBytes(std::uint64_t received) : shown_(received) {}

    /// A whole message was shown. @param bytes of its parts, each as curve_bytes() says
    /// @param received by the library until now
    void on_message(std::size_t bytes, std::uint64_t received) {
        shown_ += bytes;
        // Handshake and heartbeats are no messages. They add up while nothing else is on the way.
        if (of(received) <= kOtherMax)
            shown_ = received;
    }
    [[nodiscard]] std::uint64_t of(std::uint64_t received) const {
        return received > shown_ ? received - shown_ : 0;
    }

  private:
    static constexpr std::uint64_t kOtherMax = 64 << 10;
    std::uint64_t shown_ = 0;
};

/// Bytes that this process has read of a tcp connection. Nothing: it is none, or has ended.
[[nodiscard]] std::optional<std::uint64_t> read_bytes(int descriptor);

}  // namespace weir::zmtp
