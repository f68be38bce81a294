// header.h - the 32 bytes that begin every message between a switch and the controller.
// Source: design section 5 ("Wire"), algorithms 10; byte by byte in docs/protocol.md.
// Threads: any (pure functions).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weir::wire {

inline constexpr std::size_t kHeaderBytes = 32;
inline constexpr std::uint8_t kProtocolVersion = 1;
/// Of a body: what the JSON reader takes, and 65,536 demands.
inline constexpr std::size_t kBodyBytesMax = 4U << 20;

enum class Type : std::uint8_t {
    kHello = 1,
    kWelcome,
    kTables,
    kDemand,
    kAllocation,
    kHeartbeat,
    kUsage,
    kBilled
};

namespace flags {
/// The records are all that the sender has; what they do not name is gone.
inline constexpr std::uint16_t kSnapshot = 1;
/// The sender has missed something: the other side's next message should be a snapshot.
inline constexpr std::uint16_t kAskSnapshot = 2;
/// The controller does not know this session: the switch should say HELLO.
inline constexpr std::uint16_t kAskHello = 4;
inline constexpr std::uint16_t kAll = kSnapshot | kAskSnapshot | kAskHello;
}  // namespace flags

struct Header {
    Type type = Type::kHeartbeat;
    std::uint16_t flags = 0;
    std::uint64_t epoch = 0;     ///< the controller's life, rising; 0 = none is known yet
    std::uint32_t session = 0;   ///< the switch chose it for its HELLO
    std::uint32_t sequence = 0;  ///< of the sender within the session, from 1
    std::uint32_t interval = 0;  ///< of the controller within the epoch
    std::uint32_t count = 0;     ///< records that follow; of JSON, its bytes
    bool operator==(const Header&) const = default;

    [[nodiscard]] bool has(std::uint16_t flag) const { return (flags & flag) != 0; }
};

/// Why bytes are no message of ours.
enum class Malformed : std::uint8_t { kNo, kShort, kMagic, kVersion, kType, kFlags, kSize, kCount };
inline constexpr std::size_t kMalformedReasons = 8;
[[nodiscard]] const char* name_of(Malformed reason);

using Bytes = std::vector<std::uint8_t>;
using HeaderBytes = std::array<std::uint8_t, kHeaderBytes>;

[[nodiscard]] HeaderBytes encode_header(const Header& header);
/// Checks everything that the header alone and the body's size can tell: `header` is set when kNo.
[[nodiscard]] Malformed decode_header(std::span<const std::uint8_t> bytes, std::size_t body_bytes,
                                      Header& header);

}  // namespace weir::wire
