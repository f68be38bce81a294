// esp_front.h - what ESP puts around a frame on its way out, before it is encrypted.
// Source: RFC 4303 (ESP, with the whole frame inside: RFC 8986), 4106 and 3602 (IVs), 6040 (DSCP and ECN).
// Units: bytes. Threads: any (immutable once built).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "vswitch/esp/esp_sizes.h"

struct rte_mbuf;

namespace weir {

class EspFront {
  public:
    /// @param header Ethernet and IP (protocol 50, checksum and lengths 0) in front of each packet
    EspFront(EspAlgorithm algorithm, bool outer_v6, std::uint32_t spi, std::span<const std::uint8_t> header);

    /// Where the parts of a packet lie.
    struct Packet {
        std::uint8_t* esp;        ///< SPI, sequence number, IV, then what is encrypted, then the ICV
        std::uint32_t encrypted;  ///< bytes behind the IV
    };
    /// The frame is one buffer with head_bytes() in front of it and kTailBytes behind.
    Packet wrap(rte_mbuf* frame, std::uint32_t sequence) const;

    [[nodiscard]] std::uint32_t head_bytes() const { return front_bytes_ + iv_bytes_; }
    /// Padding, its length, the next header, the ICV.
    static constexpr std::uint32_t kTailBytes = 17 + kIcvBytes;

  private:
    static constexpr std::size_t kFrontMax = kEspFrontBytes + 40 + kEspHeaderBytes;

    void finish_ip4(std::uint8_t* ip, std::uint32_t sequence, std::uint32_t bytes,
                    std::uint8_t traffic_class) const;

    std::array<std::uint8_t, kFrontMax> front_{};  ///< up to the sequence number
    std::uint32_t front_bytes_;
    std::uint32_t iv_bytes_;
    std::uint32_t block_mask_;
    std::uint32_t checksum_base_;  ///< of the IPv4 header's words, without what differs between packets
    bool outer_v6_;
};

}  // namespace weir
