// esp_sa.h - a security association (SA): keys of one direction, worker and session, and its header template.
// Source: RFC 4303; RFC 4106; RFC 3602; RFC 4868; RFC 6040; RFC 8986; docs/algorithms.md 11.1.
// Units: bytes, packets. Threads: made and unmade on the control thread, used by one worker; packets() by
// any.
//
// Outbound the SA writes ESP itself, because only the length, the sequence number, DSCP, ECN and the IPv4
// checksum differ between two packets: the rest is copied from a template. Inbound rte_ipsec checks packets
// with its replay window: the 1,024 highest sequence numbers, each of which it accepts once. With the window
// at 5,000 a packet 3,976 is too old, and a second packet 4,500 is a replay.
#pragma once

#include "vswitch/base/dpdk_versions.h"
// Behind it, since rte_ipsec.h declares a function without C linkage.
#include <rte_ipsec.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "common/metrics.h"
#include "vswitch/esp/crypto_device.h"
#include "vswitch/esp/esp_sizes.h"

struct rte_mbuf;

namespace weir {

/// Offset of the IV in a crypto operation.
inline constexpr std::uint16_t kIvOffset = sizeof(rte_crypto_op) + sizeof(rte_crypto_sym_op);

struct EspKeys {
    std::uint32_t spi = 0;                  ///< 256 or more (RFC 4303 2.1)
    std::array<std::uint8_t, 32> cipher{};  ///< of AES: the first 16, or all
    std::array<std::uint8_t, 32> auth{};    ///< of HMAC; of AES-GCM the first 4 are the salt
};

/// Outer headers, padding and trailer of outbound packets. Immutable once built.
class EspFront {
  public:
    /// @param header Ethernet and IP (protocol 50, checksum and lengths 0) of each packet
    EspFront(EspAlgorithm algorithm, bool outer_v6, std::uint32_t spi, std::span<const std::uint8_t> header);

    struct Packet {
        std::uint8_t* esp;        ///< start of SPI, sequence number, IV, encrypted part, ICV
        std::uint32_t encrypted;  ///< bytes of the encrypted part
    };
    /// Writes header and trailer around a frame of one buffer with head_bytes() of headroom and kTailBytes of
    /// tailroom. The IV field gets the sequence number.
    Packet wrap(rte_mbuf* frame, std::uint32_t sequence) const;

    [[nodiscard]] std::uint32_t head_bytes() const { return front_bytes_ + iv_bytes_; }
    /// Padding, its length, next header and ICV.
    static constexpr std::uint32_t kTailBytes = 17 + kIcvBytes;

  private:
    static constexpr std::size_t kFrontMax = kEspFrontBytes + 40 + kEspHeaderBytes;

    void finish_ip4(std::uint8_t* ip, std::uint32_t sequence, std::uint32_t bytes,
                    std::uint8_t traffic_class) const;

    std::array<std::uint8_t, kFrontMax> front_{};  ///< the template, up to the sequence number
    std::uint32_t front_bytes_;
    std::uint32_t iv_bytes_;
    std::uint32_t block_mask_;
    std::uint32_t checksum_base_;  ///< sum of the IPv4 template's words
    bool outer_v6_;
};

class EspSa {
  public:
    struct Parameters {
        EspAlgorithm algorithm = EspAlgorithm::kAes128Gcm;
        bool outer_v6 = false;
        bool outbound = true;
        std::uint32_t replay_window = 0;  ///< packets; inbound only
        /// Outbound only: Ethernet and IP (protocol 50, checksum and lengths 0) of each packet.
        std::span<const std::uint8_t> header;
    };

    /// @throws HostError for a reserved SPI, or an algorithm that the device does not have
    EspSa(const CryptoDevice& device, const EspKeys& keys, const Parameters& parameters);
    ~EspSa();
    EspSa(const EspSa&) = delete;
    EspSa& operator=(const EspSa&) = delete;

    /// Inbound: the rte_ipsec session that checks and unwraps packets.
    [[nodiscard]] const rte_ipsec_session* session() const { return &session_; }
    [[nodiscard]] auto* crypto_session() const { return session_.crypto.ses; }
    /// Outbound: the header template.
    [[nodiscard]] const EspFront& front() const { return *front_; }
    [[nodiscard]] const std::array<std::uint8_t, 4>& salt() const { return salt_; }
    /// Takes the next `wanted` sequence numbers, from `first`. No number is used twice.
    /// @return how many it got: fewer when 2^32 - 1 are used up
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

    /// Outbound: sequence numbers used. Inbound: packets accepted.
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
    std::array<std::uint8_t, 4> salt_{};  ///< of AES-GCM
    std::optional<EspFront> front_;
    rte_ipsec_session session_{};
    std::array<rte_crypto_sym_xform, 2> transforms_{};
    Counter packets_;
};

}  // namespace weir
