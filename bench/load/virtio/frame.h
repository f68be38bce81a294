// frame.h - the generator's frames: Ethernet, IPv4, UDP and a stamp with the stream and the time.
// Units: bytes; TSC cycles. Threads: any (no state).
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>

#include "bench/load/virtio/spec.h"

namespace weir::load {

/// The start of the UDP payload; fits a 64-byte frame, with a VLAN tag or without.
struct Stamp {
    std::uint32_t magic;
    std::uint32_t stream;
    std::uint64_t tsc;
};
static_assert(sizeof(Stamp) == 16);

inline constexpr std::uint32_t kStampMagic = 0x57454952;
inline constexpr std::uint16_t kMacBytes = 6;
inline constexpr std::uint16_t kEtherBytes = 14;
inline constexpr std::uint16_t kVlanBytes = 4;
inline constexpr std::uint16_t kIpBytes = 20;
inline constexpr std::uint16_t kUdpBytes = 8;
inline constexpr std::uint16_t kIp6Bytes = 40;
inline constexpr std::uint16_t kExtensionsMax = 64;
inline constexpr std::uint16_t kExtensionUnit = 8;  ///< bytes; each header is a multiple
inline constexpr std::uint16_t kUdpPortFirst = 1024;

/// Bytes before the IPv4 header.
constexpr std::uint16_t l2_bytes(bool tagged) {
    return static_cast<std::uint16_t>(kEtherBytes + (tagged ? kVlanBytes : 0));
}
/// Bytes before the stamp.
constexpr std::uint16_t stamp_offset(bool tagged) {
    return static_cast<std::uint16_t>(l2_bytes(tagged) + kIpBytes + kUdpBytes);
}
static_assert(stamp_offset(true) + sizeof(Stamp) <= 64);

/// The shortest frame with the extension headers of `spec`.
constexpr unsigned extension_frame_bytes_least(const StreamSpec& spec) {
    return l2_bytes(spec.vlan != 0) + kIp6Bytes + spec.extensions * kExtensionUnit + kUdpBytes;
}

/// Writes a whole frame of spec.size bytes: UDP over IPv4, with spec.extensions over IPv6.
void build_frame(std::uint8_t* frame, const StreamSpec& spec, std::uint32_t stream_id, const Mac& from,
                 const Mac& to);

/// Writes base + index into a MAC's low three bytes.
inline void write_mac(std::uint8_t* at, const Mac& base, std::uint32_t index) {
    const std::uint32_t low =
        ((std::uint32_t{base[3]} << 16) | (std::uint32_t{base[4]} << 8) | base[5]) + index;
    std::memcpy(at, base.data(), 3);
    at[3] = static_cast<std::uint8_t>(low >> 16);
    at[4] = static_cast<std::uint8_t>(low >> 8);
    at[5] = static_cast<std::uint8_t>(low);
}

/// Writes the source of an IPv4 header, and its checksum.
void write_source(std::uint8_t* ip, std::uint32_t address);

/// The stamp of a generator's frame, with a VLAN tag or without; nullopt for any other frame.
inline std::optional<Stamp> read_stamp(const std::uint8_t* frame, std::uint32_t length) {
    const bool tagged = frame[12] == 0x81 && frame[13] == 0x00;
    if (length < stamp_offset(tagged) + sizeof(Stamp))
        return std::nullopt;
    Stamp stamp;
    std::memcpy(&stamp, frame + stamp_offset(tagged), sizeof stamp);
    if (stamp.magic != kStampMagic || stamp.stream >= kStreamsMax)
        return std::nullopt;
    return stamp;
}

}  // namespace weir::load
