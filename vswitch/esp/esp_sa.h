// esp_sa.h - one direction of an ESP tunnel: its keys, its crypto session; outbound what it puts around
// frames, inbound its rte_ipsec state. Source: RFC 4303 (ESP), 4106 (AES-GCM), 3602 (AES-CBC), 4868
// (HMAC-SHA-256-128). Units: bytes, packets. Threads: made and unmade on the control thread, used by one
// worker; packets() by any.
#pragma once

#include <rte_ipsec.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "common/metrics.h"
#include "vswitch/esp/crypto_device.h"
#include "vswitch/esp/esp_front.h"
#include "vswitch/esp/esp_sizes.h"

namespace weir {

/// Where the IV is in a crypto operation.
inline constexpr std::uint16_t kIvOffset = sizeof(rte_crypto_op) + sizeof(rte_crypto_sym_op);

struct EspKeys {
    std::uint32_t spi = 0;                  ///< 256 or more (RFC 4303 section 2.1)
    std::array<std::uint8_t, 32> cipher{};  ///< AES: the first 16, or all
    std::array<std::uint8_t, 32> auth{};    ///< HMAC; AES-GCM: the salt, the first 4
};

class EspSa {
  public:
    struct Parameters {
        EspAlgorithm algorithm = EspAlgorithm::kAes128Gcm;
        bool outer_v6 = false;
        bool outbound = true;
        std::uint32_t replay_window = 0;  ///< packets, inbound
        /// Outbound: Ethernet and IP (protocol 50, checksum 0) in front of each packet; lengths are filled
        /// in.
        std::span<const std::uint8_t> header;
    };

    /// @throws HostError for a reserved SPI, or what the device cannot do
    EspSa(const CryptoDevice& device, const EspKeys& keys, const Parameters& parameters);
    ~EspSa();
    EspSa(const EspSa&) = delete;
    EspSa& operator=(const EspSa&) = delete;

    /// Inbound: what checks and unpacks.
    [[nodiscard]] const rte_ipsec_session* session() const { return &session_; }
    [[nodiscard]] auto* crypto_session() const { return session_.crypto.ses; }
    /// Outbound.
    [[nodiscard]] const EspFront& front() const { return *front_; }
    [[nodiscard]] const std::array<std::uint8_t, 4>& salt() const { return salt_; }
    /// Takes the next sequence numbers, which never repeat: `first` and on. @return how many there were left,
    /// of these
    [[nodiscard]] std::uint16_t number(std::uint16_t wanted, std::uint32_t& first) {
        const std::uint64_t used = packets_.value();
        const std::uint64_t left = UINT32_MAX - used;
        const std::uint16_t given = left < wanted ? static_cast<std::uint16_t>(left) : wanted;
        first = static_cast<std::uint32_t>(used + 1);
        packets_.add(given);
        return given;
    }
    [[nodiscard]] EspAlgorithm algorithm() const { return algorithm_; }
    [[nodiscard]] bool outbound() const { return front_.has_value(); }
    [[nodiscard]] bool outer_v6() const { return outer_v6_; }
    [[nodiscard]] std::uint32_t spi() const { return spi_; }

    /// Sequence numbers used, or packets that were let in.
    [[nodiscard]] std::uint64_t packets() const { return packets_.value(); }
    void count(std::uint64_t packets) { packets_.add(packets); }

  private:
    void make_session(const CryptoDevice& device, const EspKeys& keys, const Parameters& parameters);
    void make_ipsec(const EspKeys& keys, const Parameters& parameters);
    void must(bool good, const char* what) const;
    void release();

    std::string device_name_;
    EspAlgorithm algorithm_;
    bool outer_v6_;
    std::uint32_t spi_;
    std::array<std::uint8_t, 4> salt_{};  ///< AES-GCM's
    std::optional<EspFront> front_;
    rte_ipsec_session session_{};
    std::array<rte_crypto_sym_xform, 2> transforms_{};
    Counter packets_;
};

}  // namespace weir
