// frame.h - frames as bytes: Ethernet, IPv4, UDP or TCP.
// Units: bytes. Threads: any (pure).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace weir::hostile {

using Frame = std::vector<std::uint8_t>;
using Mac = std::array<std::uint8_t, 6>;

inline constexpr Mac kBroadcast{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
inline constexpr std::uint16_t kEthernetBytes = 14;
inline constexpr std::uint16_t kIpv4Bytes = 20;
inline constexpr std::uint16_t kTcpBytes = 20;
inline constexpr std::uint16_t kTcpChecksumAt = 16;
inline constexpr std::uint16_t kUdpBytes = 8;

/// 52:54:00:00:00:nn
[[nodiscard]] constexpr Mac vm_mac(std::uint8_t number) {
    return {0x52, 0x54, 0, 0, 0, number};
}

inline void put16(Frame& frame, std::size_t at, std::size_t value) {
    frame[at] = static_cast<std::uint8_t>(value >> 8);
    frame[at + 1] = static_cast<std::uint8_t>(value);
}

/// An IPv4 frame of `bytes` (at least 54), TCP or UDP, whose length fields are right; the transport's
/// checksum is zero.
[[nodiscard]] inline Frame ipv4_frame(const Mac& to, const Mac& from, std::size_t bytes, bool tcp) {
    Frame frame(std::max<std::size_t>(bytes, kEthernetBytes + kIpv4Bytes + kTcpBytes));
    std::copy(to.begin(), to.end(), frame.begin());
    std::copy(from.begin(), from.end(), frame.begin() + 6);
    put16(frame, 12, 0x0800);
    const std::size_t ip = kEthernetBytes;
    frame[ip] = 0x45;
    put16(frame, ip + 2, frame.size() - kEthernetBytes);
    frame[ip + 8] = 64;
    frame[ip + 9] = tcp ? 6 : 17;
    for (const std::size_t address : {ip + 12, ip + 16}) {
        frame[address] = 10;
        frame[address + 3] = address == ip + 12 ? from[5] : to[5];
    }
    std::uint32_t sum = 0;
    for (std::size_t at = ip; at < ip + kIpv4Bytes; at += 2)
        sum += static_cast<std::uint32_t>(frame[at] << 8 | frame[at + 1]);
    sum = (sum & 0xFFFF) + (sum >> 16);
    put16(frame, ip + 10, ~((sum & 0xFFFF) + (sum >> 16)) & 0xFFFF);
    const std::size_t transport = ip + kIpv4Bytes;
    put16(frame, transport, 1000);
    put16(frame, transport + 2, 2000);
    if (tcp) {
        frame[transport + 12] = 5 << 4;
        frame[transport + 13] = 0x10;
    } else {
        put16(frame, transport + 4, frame.size() - transport);
    }
    return frame;
}

}  // namespace weir::hostile
