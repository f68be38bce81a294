// traffic_class.h - the byte of an IP header with DSCP and ECN: read, set, marked for congestion.
// Source: RFC 2474; RFC 3168; RFC 1624. Threads: any; no state.
#pragma once

#include <rte_ip.h>
#include <rte_mbuf.h>

#include <cstdint>

#include "vswitch/datapath/frame/frame.h"

namespace weir {

/// Where the byte is in an IPv4 or IPv6 frame with or without one VLAN tag; false when it is in neither.
class TrafficClass {
  public:
    static constexpr std::uint8_t kCongested = 3;  ///< CE; any other ECN value but 0 is "capable"
    static constexpr unsigned kDscpShift = 2;

    explicit TrafficClass(rte_mbuf* frame) {
        FrameHead head = read_head(frame);
        auto* ip = rte_pktmbuf_mtod_offset(frame, std::uint8_t*, kEthernetHeaderBytes);
        if (head.tagged()) {
            std::memcpy(&head.type, ip + 2, sizeof(head.type));
            ip += kVlanTagBytes;
        }
        const auto before = static_cast<std::uint32_t>(ip - rte_pktmbuf_mtod(frame, std::uint8_t*));
        v6_ = head.type == kTypeIp6 && frame->data_len >= before + sizeof(rte_ipv6_hdr);
        if (v6_ || (head.type == kTypeIp4 && frame->data_len >= before + sizeof(rte_ipv4_hdr)))
            ip_ = ip;
    }
    explicit operator bool() const { return ip_ != nullptr; }

    [[nodiscard]] std::uint8_t get() const {
        return v6_ ? static_cast<std::uint8_t>(ip_[0] << 4 | ip_[1] >> 4) : ip_[1];
    }
    [[nodiscard]] std::uint8_t ecn() const { return get() & kCongested; }

    void set(std::uint8_t value) {
        if (v6_) {  // it straddles the first two bytes
            ip_[0] = static_cast<std::uint8_t>((ip_[0] & 0xF0) | value >> 4);
            ip_[1] = static_cast<std::uint8_t>((ip_[1] & 0x0F) | value << 4);
            return;
        }
        const std::uint16_t old_word = word_at(0);
        ip_[1] = value;
        std::uint32_t sum = static_cast<std::uint16_t>(~word_at(kChecksumAt)) +
                            static_cast<std::uint32_t>(static_cast<std::uint16_t>(~old_word)) + word_at(0);
        sum = (sum & 0xFFFF) + (sum >> 16);
        const auto checksum = static_cast<std::uint16_t>(~((sum & 0xFFFF) + (sum >> 16)));
        std::memcpy(ip_ + kChecksumAt, &checksum, sizeof(checksum));
    }

  private:
    static constexpr std::size_t kChecksumAt = 10;
    [[nodiscard]] std::uint16_t word_at(std::size_t offset) const {
        std::uint16_t word;
        std::memcpy(&word, ip_ + offset, sizeof(word));
        return word;
    }

    std::uint8_t* ip_ = nullptr;
    bool v6_ = false;
};

/// Sets CE where the sender is ECN-capable. @return whether the frame is marked now
inline bool mark_congestion(rte_mbuf* frame) {
    TrafficClass byte(frame);
    if (!byte || byte.ecn() == 0)
        return false;
    byte.set(byte.get() | TrafficClass::kCongested);
    return true;
}

/// The network met congestion on the frame's way.
[[nodiscard]] inline bool congestion_marked(rte_mbuf* frame) {
    const TrafficClass byte(frame);
    return byte && byte.ecn() == TrafficClass::kCongested;
}

/// @param dscp 0..63
inline void set_dscp(rte_mbuf* frame, std::uint8_t dscp) {
    TrafficClass byte(frame);
    if (byte)
        byte.set(static_cast<std::uint8_t>(dscp << TrafficClass::kDscpShift | byte.ecn()));
}

}  // namespace weir
