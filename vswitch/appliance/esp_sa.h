// esp_sa.h - one direction of an ESP tunnel: its keys, its crypto session and its rte_ipsec state.
// Source: RFC 4303 (ESP), 4106 (AES-GCM), 3602 (AES-CBC), 4868 (HMAC-SHA-256-128). Units: bytes.
// Threads: made and unmade on the control thread, used by one worker.
#pragma once

#include <rte_ipsec.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "vswitch/appliance/crypto_device.h"

namespace weir {

enum class EspAlgorithm : std::uint8_t { kAesGcm, kAesCbcHmacSha256 };

/// Which packets an SA carries: rte_ipsec writes one next header per SA.
enum class InnerIp : std::uint8_t { kIpv4, kIpv6 };

struct EspKeys {
    std::uint32_t spi = 0;             ///< 256 or more (RFC 4303 section 2.1)
    std::vector<std::uint8_t> cipher;  ///< AES: 16 or 32 bytes
    std::vector<std::uint8_t> auth;    ///< HMAC: 32 bytes; AES-GCM: the salt, 4 bytes
};

inline constexpr std::uint32_t kIcvBytes = 16;

[[nodiscard]] constexpr std::uint32_t iv_bytes(EspAlgorithm algorithm) {
    return algorithm == EspAlgorithm::kAesGcm ? 8 : 16;
}
/// What the encrypted part is a multiple of.
[[nodiscard]] constexpr std::uint32_t block_bytes(EspAlgorithm algorithm) {
    return algorithm == EspAlgorithm::kAesGcm ? 4 : 16;
}

class EspSa {
  public:
    struct Parameters {
        EspAlgorithm algorithm = EspAlgorithm::kAesGcm;
        InnerIp inner = InnerIp::kIpv4;
        bool outbound = true;
        std::uint32_t replay_window = 0;       ///< packets, inbound; 0 = no check
        std::span<const std::uint8_t> header;  ///< outbound: Ethernet and IPv4 in front of each ESP header
    };

    /// @throws HostError for keys of a wrong length, a reserved SPI, or what the device cannot do
    EspSa(const CryptoDevice& device, const EspKeys& keys, const Parameters& parameters);
    ~EspSa();
    EspSa(const EspSa&) = delete;
    EspSa& operator=(const EspSa&) = delete;

    [[nodiscard]] const rte_ipsec_session* session() const { return &session_; }

  private:
    void make_session(const CryptoDevice& device, const EspKeys& keys, const Parameters& parameters);
    void release();

    rte_ipsec_session session_{};
    std::array<rte_crypto_sym_xform, 2> transforms_{};
};

}  // namespace weir
