// header.h - the 32 bytes that begin every message between a switch and the controller.
// Source: docs/design.md 5.5; docs/protocol.md. Units: bytes. Threads: any (pure functions).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace weir::wire {

inline constexpr std::size_t kHeaderBytes = 32;
inline constexpr std::uint8_t kProtocolVersion = 1;
/// Bytes of a body: the largest JSON text that is read, and more than 65,536 demands.
inline constexpr std::size_t kBodyBytesMax = 4U << 20;

enum class Type : std::uint8_t {
    kHello = 1,
    kWelcome,
    kTables,
    kDemand,
    kAllocation,
    kHeartbeat,
    kUsage,
    kBilled,
    kAsk
};

namespace flags {
/// The records are the sender's whole table: the receiver removes flows that they do not name.
inline constexpr std::uint16_t kSnapshot = 1;
/// The sender has missed a message: the receiver's next message should be a snapshot.
inline constexpr std::uint16_t kAskSnapshot = 2;
/// The controller does not know this session: the switch should send HELLO.
inline constexpr std::uint16_t kAskHello = 4;
inline constexpr std::uint16_t kAll = kSnapshot | kAskSnapshot | kAskHello;
}  // namespace flags

struct Header {
    Type type = Type::kHeartbeat;
    std::uint16_t flags = 0;
    std::uint64_t epoch = 0;     ///< larger for each later start of a controller; 0 = not known yet
    std::uint32_t session = 0;   ///< a number that the switch chose for its HELLO
    std::uint32_t sequence = 0;  ///< of the sender's messages in the session, from 1
    std::uint32_t interval = 0;  ///< of the controller in its epoch, counted
    std::uint32_t count = 0;     ///< records in the body; with JSON, its bytes
    bool operator==(const Header&) const = default;

    [[nodiscard]] bool has(std::uint16_t flag) const { return (flags & flag) != 0; }
};

/// Why bytes are not a message; kNo: they are one.
enum class Malformed : std::uint8_t { kNo, kShort, kMagic, kVersion, kType, kFlags, kSize, kCount };
inline constexpr std::size_t kMalformedReasons = 8;
[[nodiscard]] const char* name_of(Malformed reason);
[[nodiscard]] const char* name_of(Type type);

/// The start of a header of another version. In every version magic, version and session stand where they
/// stand in version 1, so that a receiver can answer in words.
struct OtherVersion {
    std::uint8_t version = 0;
    std::uint32_t session = 0;
};
/// @return nothing: the bytes are of this version, or of no message
[[nodiscard]] std::optional<OtherVersion> other_version(std::span<const std::uint8_t> bytes);

using Bytes = std::vector<std::uint8_t>;
using HeaderBytes = std::array<std::uint8_t, kHeaderBytes>;

[[nodiscard]] HeaderBytes encode_header(const Header& header);
/// Checks the header, and the body's size against it. `header` is set when the result is kNo.
[[nodiscard]] Malformed decode_header(std::span<const std::uint8_t> bytes, std::size_t body_bytes,
                                      Header& header);

}  // namespace weir::wire
