// esp_sizes.h - the algorithms of a tunnel and the bytes that they add to a frame: Ethernet in ESP in IP.
// Source: RFC 4303; RFC 8986; RFC 4106; RFC 3602; RFC 4868. Units: bytes; frames without FCS. Threads: any
// (values).
//
// AES-GCM (RFC 4106) over IPv4 with an MTU of 1,500: 1,500 - 52 rounded down to a multiple of 4 is 1,448;
// less the trailer of 2, the longest frame is 1,446. The sum with AES-CBC (RFC 3602, HMAC of RFC 4868) uses
// blocks of 16.
#pragma once

#include <array>
#include <cstdint>

namespace weir {

enum class EspAlgorithm : std::uint8_t { kAes128Gcm, kAes256Gcm, kAes128CbcSha256, kAes256CbcSha256 };

struct EspAlgorithmText {
    const char* name;  ///< in the configuration and in reports
    const char* cost;  ///< its default cost table
};
inline constexpr std::array<EspAlgorithmText, 4> kEspAlgorithmTexts{{
    {"aes-128-gcm", "encryption_aes_128_gcm"},
    {"aes-256-gcm", "encryption_aes_256_gcm"},
    {"aes-128-cbc-sha256", "encryption_aes_128_cbc_sha256"},
    {"aes-256-cbc-sha256", "encryption_aes_256_cbc_sha256"},
}};

inline constexpr std::uint8_t kEthernetNextHeader = 143;  ///< of ESP (RFC 8986 10.1)

inline constexpr std::uint32_t kEspHeaderBytes = 8;   ///< SPI and sequence number
inline constexpr std::uint32_t kEspTrailerBytes = 2;  ///< padding's length and next header
inline constexpr std::uint32_t kIcvBytes = 16;
inline constexpr std::uint32_t kEspFrontBytes = 14;  ///< the outer Ethernet header

[[nodiscard]] constexpr bool is_gcm(EspAlgorithm algorithm) {
    return algorithm == EspAlgorithm::kAes128Gcm || algorithm == EspAlgorithm::kAes256Gcm;
}
[[nodiscard]] constexpr std::uint16_t cipher_key_bytes(EspAlgorithm algorithm) {
    return algorithm == EspAlgorithm::kAes256Gcm || algorithm == EspAlgorithm::kAes256CbcSha256 ? 32 : 16;
}
[[nodiscard]] constexpr std::uint32_t iv_bytes(EspAlgorithm algorithm) {
    return is_gcm(algorithm) ? 8 : 16;
}
/// The length of the encrypted part is a multiple of this.
[[nodiscard]] constexpr std::uint32_t block_bytes(EspAlgorithm algorithm) {
    return is_gcm(algorithm) ? 4 : 16;
}
[[nodiscard]] constexpr std::uint32_t outer_ip_bytes(bool v6) {
    return v6 ? 40 : 20;
}
/// Bytes that ESP adds outside of the encrypted part, without the outer Ethernet header.
[[nodiscard]] constexpr std::uint32_t esp_around_bytes(EspAlgorithm algorithm, bool v6) {
    return outer_ip_bytes(v6) + kEspHeaderBytes + iv_bytes(algorithm) + kIcvBytes;
}

/// Length of the outer frame that carries a frame of `frame` bytes.
[[nodiscard]] constexpr std::uint32_t esp_frame_bytes(EspAlgorithm algorithm, bool v6, std::uint32_t frame) {
    const std::uint32_t block = block_bytes(algorithm);
    const std::uint32_t clear = frame + kEspTrailerBytes;
    return kEspFrontBytes + esp_around_bytes(algorithm, v6) + (clear + block - 1) / block * block;
}

/// The longest frame that a tunnel carries where the wire takes IP packets of `mtu` bytes; 0 when none.
[[nodiscard]] constexpr std::uint32_t esp_frame_max(EspAlgorithm algorithm, bool v6, std::uint32_t mtu) {
    const std::uint32_t around = esp_around_bytes(algorithm, v6);
    const std::uint32_t block = block_bytes(algorithm);
    const std::uint32_t clear = mtu > around ? (mtu - around) / block * block : 0;
    return clear > kEspTrailerBytes ? clear - kEspTrailerBytes : 0;
}
/// Longest frame that fits into one packet buffer (RTE_MBUF_DEFAULT_BUF_SIZE) with headroom, header and
/// trailer.
inline constexpr std::uint32_t kEspFrameMax = 1900;

}  // namespace weir
