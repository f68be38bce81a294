// feedback_frame.h - the frame in which a receiver's switch advertises a rate to a sender's switch, as bytes.
// Source: EyeQ 3.2; SipHash (INDOCRYPT'12); docs/algorithms.md 4.5. Units: accounted bytes per second; Mbit/s
// in the IP ID. Threads: any (no state but the key).
//
//   Ethernet  addresses of the frame that is answered, swapped; 802.1Q tag if its VLAN has one
//   IPv4      addresses swapped, TTL 64, protocol 143, ID = Mbit/s (0 = see payload, saturating)   or
//   IPv6      addresses swapped, hop limit 64, next header 143
//   payload   "WEIR", version 1, 3 bytes 0, sequence (4), rate (8), tag (8); integers big-endian
//
// The tag covers both MAC addresses, the VLAN and the payload before it, so a frame cannot be turned to
// another pair. The payload is authoritative; the ID is for packet traces.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace weir {

inline constexpr std::uint8_t kFeedbackProtocol = 143;
/// 128 bits, the same on all hosts of a cluster.
using FeedbackKey = std::array<std::uint8_t, 16>;

struct FeedbackMessage {
    std::uint64_t to = 0;    ///< MAC of the sender whose rate this is, first wire byte lowest
    std::uint64_t from = 0;  ///< MAC of the receiving vNIC
    std::uint16_t vlan = 0;
    std::uint64_t rate = 0;
    std::uint32_t sequence = 0;
};

enum class FeedbackVerdict : std::uint8_t { kValid, kMalformed, kForged };

/// Ethernet, tag, IPv6, payload.
inline constexpr std::size_t kFeedbackBytesMax = 14 + 4 + 40 + 32;
using FeedbackBuffer = std::array<std::uint8_t, kFeedbackBytesMax>;

/// Whether an untagged frame may be of this kind: guests have packets of the protocol, too (SRv6).
/// @param bytes at least 24 of them
[[nodiscard]] inline bool has_feedback_protocol(const std::uint8_t* bytes) {
    const bool v4 = bytes[12] == 0x08 && bytes[13] == 0x00 && bytes[23] == kFeedbackProtocol;
    const bool v6 = bytes[12] == 0x86 && bytes[13] == 0xDD && bytes[20] == kFeedbackProtocol;
    return v4 || v6;
}

/// Whether an untagged frame is of this kind, valid or not: its payload begins with "WEIR".
[[nodiscard]] bool is_feedback(std::span<const std::uint8_t> frame);

/// Writes the answer to an untagged IPv4 or IPv6 frame. @return bytes written; 0 when it is not IP
[[nodiscard]] std::size_t write_feedback(const FeedbackMessage& message,
                                         std::span<const std::uint8_t> answered, const FeedbackKey& key,
                                         FeedbackBuffer& out);

/// Reads an untagged frame for which is_feedback() holds; its VLAN comes from the tag that it had.
[[nodiscard]] FeedbackVerdict read_feedback(std::span<const std::uint8_t> frame, std::uint16_t vlan,
                                            const FeedbackKey& key, FeedbackMessage& out);

}  // namespace weir
