// flow_hash.h - a hash of a flow's addresses and ports, to keep it on one of a guest's rings.
// Source: RFC 791, 8200. Threads: any (pure).
//
// Addresses and ports of TCP and UDP; addresses alone of other protocols, of fragments and of IPv6 with
// extension headers; else MAC addresses. Example: all that a router sends on over IPv6 has one MAC address,
// and is spread by the addresses inside.
#pragma once

#include <rte_hash_crc.h>

#include <cstdint>
#include <cstring>
#include <span>

namespace weir {

class FlowHash {
  public:
    /// @param frame at least an Ethernet header, untagged
    [[nodiscard]] static std::uint32_t of(std::span<const std::uint8_t> frame) {
        const auto type = static_cast<std::uint16_t>(frame[12] << 8 | frame[13]);
        if (type == 0x0800 && frame.size() >= kIp + 20)
            return ip4(frame);
        if (type == 0x86DD && frame.size() >= kIp + kIp6Bytes)
            return ip6(frame);
        return word(frame, 8, doubleword(frame, 0, 0));
    }
    /// @return one of `rings`, without a division
    [[nodiscard]] static std::uint16_t ring(std::uint32_t hash, std::uint16_t rings) {
        return static_cast<std::uint16_t>(std::uint64_t{hash} * rings >> 32);
    }

  private:
    static constexpr std::size_t kIp = 14;
    static constexpr std::size_t kIp6Bytes = 40;

    static std::uint32_t word(std::span<const std::uint8_t> frame, std::size_t at, std::uint32_t hash) {
        std::uint32_t value;
        std::memcpy(&value, frame.data() + at, sizeof(value));
        return rte_hash_crc_4byte(value, hash);
    }
    static std::uint32_t doubleword(std::span<const std::uint8_t> frame, std::size_t at, std::uint32_t hash) {
        std::uint64_t value;
        std::memcpy(&value, frame.data() + at, sizeof(value));
        return rte_hash_crc_8byte(value, hash);
    }
    static bool has_ports(std::uint8_t protocol) {
        constexpr std::uint8_t kTcpProtocol = 6;
        constexpr std::uint8_t kUdpProtocol = 17;
        return protocol == kTcpProtocol || protocol == kUdpProtocol;
    }
    static std::uint32_t ports(std::span<const std::uint8_t> frame, std::size_t at, std::uint32_t hash) {
        return frame.size() >= at + 4 ? word(frame, at, hash) : hash;
    }
    static std::uint32_t ip4(std::span<const std::uint8_t> frame) {
        const std::uint32_t hash = doubleword(frame, kIp + 12, 0);
        const bool fragment = ((frame[kIp + 6] & 0x3F) | frame[kIp + 7]) != 0;
        const std::size_t header = (frame[kIp] & 0x0FU) * 4;
        return !fragment && has_ports(frame[kIp + 9]) ? ports(frame, kIp + header, hash) : hash;
    }
    static std::uint32_t ip6(std::span<const std::uint8_t> frame) {
        std::uint32_t hash = 0;
        for (std::size_t at = kIp + 8; at < kIp + kIp6Bytes; at += 8)
            hash = doubleword(frame, at, hash);
        return has_ports(frame[kIp + 6]) ? ports(frame, kIp + kIp6Bytes, hash) : hash;
    }
};

}  // namespace weir
