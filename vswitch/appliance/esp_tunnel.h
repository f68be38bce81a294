// esp_tunnel.h - whole Ethernet frames of one VM through an ESP tunnel between two switches, and back.
// Source: RFC 4303 tunnel mode, over rte_ipsec and a cryptodev. Units: bytes.
// Threads: made on the control thread, then one worker's, as the queue pair is.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "vswitch/appliance/crypto_device.h"
#include "vswitch/appliance/esp_sa.h"

struct rte_crypto_op;
struct rte_mbuf;

namespace weir {

/// Why frames were dropped, and how many were not.
struct EspCounters {
    std::uint64_t encrypted = 0;
    std::uint64_t decrypted = 0;
    std::uint64_t not_carried = 0;  ///< outbound: no IP of the tunnel's family, tagged, or offloads undone
    std::uint64_t malformed = 0;    ///< truncated, no ESP of this SA, a wrong padding or inner packet
    std::uint64_t replayed = 0;
    std::uint64_t bad_tag = 0;
    std::uint64_t no_buffer = 0;  ///< had to be copied and the pool was empty
    std::uint64_t too_long = 0;   ///< does not fit into one buffer
    std::uint64_t exhausted = 0;  ///< outbound: all 2^32 - 1 sequence numbers are used; new keys are due
    std::uint64_t device = 0;     ///< the crypto device did not do it
};

using MacBytes = std::array<std::uint8_t, 6>;

struct EspTunnelParameters {
    EspAlgorithm algorithm = EspAlgorithm::kAesGcm;
    InnerIp inner = InnerIp::kIpv4;
    EspKeys out;
    EspKeys in;                          ///< other keys than out's: the same would repeat nonces
    std::uint32_t replay_window = 1024;  ///< packets; 0 = no check
    std::uint32_t local = 0;             ///< tunnel ends, IPv4, host order
    std::uint32_t remote = 0;
    MacBytes local_mac{};  ///< Ethernet between the ends
    MacBytes remote_mac{};
    MacBytes vm_mac{};       ///< who gets what is decrypted
    MacBytes gateway_mac{};  ///< and from whom it seems to come
};

class EspTunnel {
  public:
    /// @param pool for copies of frames that are chained or have no room around them
    /// @throws HostError as EspSa does, and for equal keys in both directions
    EspTunnel(const CryptoDevice& device, std::uint16_t queue_pair, rte_mempool* pool,
              const EspTunnelParameters& parameters);
    ~EspTunnel();
    EspTunnel(const EspTunnel&) = delete;
    EspTunnel& operator=(const EspTunnel&) = delete;

    /// Any number of frames, each owned; drops what fails. @return how many of the first are the tunnel's
    /// frames, in order; the rest of `frames` is void
    std::size_t encrypt_burst(std::span<rte_mbuf*> frames);
    /// Frames of the tunnel to frames for the VM; likewise.
    std::size_t decrypt_burst(std::span<rte_mbuf*> frames);

    [[nodiscard]] const EspCounters& counters() const { return counters_; }

  private:
    using Burst = std::span<rte_mbuf*>;

    std::uint16_t encrypt_some(Burst frames);
    std::uint16_t decrypt_some(Burst frames);
    bool accept_outbound(rte_mbuf*& frame);
    bool accept_inbound(rte_mbuf*& frame);
    bool make_room(rte_mbuf*& frame, std::uint32_t head, std::uint32_t tail);
    bool deliver(rte_mbuf* frame);
    std::uint16_t run(Burst frames);
    void fresh_ivs(std::uint16_t count);
    template <class Accept>
    std::uint16_t keep(Burst frames, Accept accept);
    void drop(Burst frames, std::uint64_t& counter);

    rte_mempool* pool_;
    EspAlgorithm algorithm_;
    InnerIp inner_;
    std::uint8_t device_;
    std::uint16_t queue_pair_;
    std::uint32_t spi_in_;
    std::array<std::uint8_t, 34> header_;     ///< Ethernet and IPv4 of what we send
    std::array<std::uint8_t, 14> vm_header_;  ///< Ethernet of what the VM gets
    EspSa out_;
    EspSa in_;
    std::array<rte_crypto_op*, kCryptoBurst> operations_{};
    std::array<std::uint8_t, 32> iv_key_{};
    std::uint64_t iv_bursts_ = 0;
    EspCounters counters_;
};

}  // namespace weir
