// esp_front.cc - few stores per frame: headers from a template, a trailer.
#include "vswitch/esp/esp_front.h"

#include <rte_byteorder.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <cstring>

#include "common/byte_order.h"

namespace weir {
namespace {

constexpr std::uint32_t kIp4Front = kEspFrontBytes + 20 + kEspHeaderBytes;
constexpr std::uint32_t kIp6Front = kEspFrontBytes + 40 + kEspHeaderBytes;
/// RFC 4303 section 2.4; one more than there can be.
constexpr std::array<std::uint8_t, 16> kPadding{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

/// Of the 16-bit words of the IPv4 header as it stands there, in their order in memory.
std::uint32_t header_sum(std::span<const std::uint8_t> header) {
    std::uint32_t sum = 0;
    for (std::size_t at = kEspFrontBytes; at + 1 < header.size() && at < kEspFrontBytes + 20; at += 2) {
        std::uint16_t word = 0;
        std::memcpy(&word, header.data() + at, sizeof(word));
        sum += word;
    }
    return sum;
}

/// DSCP and ECN of the packet in the frame, which the outer header repeats; 0 for what is not IP.
std::uint8_t traffic_class(const std::uint8_t* frame, std::uint32_t bytes) {
    if (bytes < 20)
        return 0;
    std::uint32_t type = 0;
    std::memcpy(&type, frame + 12,
                sizeof(type));  // and the first two bytes behind it, in their order in memory
    if ((type & 0xFFFF) == 0x0081)
        std::memcpy(&type, frame + 16, sizeof(type));
    if ((type & 0xFFFF) == 0x0008)
        return static_cast<std::uint8_t>(type >> 24);
    return (type & 0xFFFF) == 0xDD86 ? static_cast<std::uint8_t>((type >> 12 & 0xF0) | type >> 28)
                                     : std::uint8_t{0};
}

}  // namespace

EspFront::EspFront(EspAlgorithm algorithm, bool outer_v6, std::uint32_t spi,
                   std::span<const std::uint8_t> header)
    : front_bytes_(outer_v6 ? kIp6Front : kIp4Front),
      iv_bytes_(weir::iv_bytes(algorithm)),
      block_mask_(block_bytes(algorithm) - 1),
      checksum_base_(header_sum(header)),
      outer_v6_(outer_v6) {
    const std::uint32_t before = front_bytes_ - kEspHeaderBytes;
    std::ranges::copy(header.first(std::min<std::size_t>(header.size(), before)), front_.begin());
    put_be32(front_.data() + before, spi);
}

void EspFront::finish_ip4(std::uint8_t* ip, std::uint32_t sequence, std::uint32_t bytes,
                          std::uint8_t traffic_class) const {
    const rte_be16_t length = rte_cpu_to_be_16(static_cast<std::uint16_t>(bytes));
    const rte_be16_t identification = rte_cpu_to_be_16(static_cast<std::uint16_t>(sequence));
    ip[1] = traffic_class;
    std::memcpy(ip + 2, &length, sizeof length);
    std::memcpy(ip + 4, &identification, sizeof identification);
    std::uint32_t sum = checksum_base_ + length + identification + (std::uint32_t{traffic_class} << 8);
    sum = (sum & 0xFFFF) + (sum >> 16);
    const auto checksum = static_cast<std::uint16_t>(~((sum & 0xFFFF) + (sum >> 16)));
    std::memcpy(ip + 10, &checksum, sizeof checksum);
}

/// AES-GCM asks only that IVs differ, as sequence numbers do. The IV of AES-CBC must not be foreseeable (RFC
/// 3602 section 3): its field gets the sequence number, and the device encrypts that too, under an IV of
/// zero. So the wire gets E(sequence number), which NIST SP 800-38A recommends (appendix C): it never repeats
/// with one key, and nobody without the key can tell it before.
EspFront::Packet EspFront::wrap(rte_mbuf* frame, std::uint32_t sequence) const {
    const std::uint32_t inside = frame->data_len;
    const std::uint32_t encrypted = (inside + kEspTrailerBytes + block_mask_) & ~block_mask_;
    auto* const clear = rte_pktmbuf_mtod(frame, std::uint8_t*);
    const std::uint8_t tos = traffic_class(clear, inside);
    std::memcpy(clear + inside, kPadding.data(), kPadding.size());
    clear[encrypted - 2] = static_cast<std::uint8_t>(encrypted - inside - kEspTrailerBytes);
    clear[encrypted - 1] = kEthernetNextHeader;

    std::uint8_t* const iv = clear - iv_bytes_;
    std::uint8_t* const start = iv - front_bytes_;
    std::uint8_t* const ip = start + kEspFrontBytes;
    const std::uint32_t bytes = front_bytes_ + iv_bytes_ + encrypted + kIcvBytes;
    if (outer_v6_) {
        std::memcpy(start, front_.data(), kIp6Front);
        ip[0] = static_cast<std::uint8_t>(0x60 | tos >> 4);
        ip[1] = static_cast<std::uint8_t>(tos << 4);
        put_be16(ip + 4, bytes - kEspFrontBytes - 40);
    } else {
        std::memcpy(start, front_.data(), kIp4Front);
        finish_ip4(ip, sequence, bytes - kEspFrontBytes, tos);
    }
    put_be32(iv - 4, sequence);
    std::memset(iv, 0, 4);
    put_be32(iv + 4, sequence);
    if (iv_bytes_ > 8)
        std::memset(iv + 8, 0, 8);
    frame->data_off = static_cast<std::uint16_t>(frame->data_off - head_bytes());
    frame->data_len = static_cast<std::uint16_t>(bytes);
    frame->pkt_len = bytes;
    return {iv - kEspHeaderBytes, encrypted};
}

}  // namespace weir
