// esp_engine.h - encryption and decryption of bursts on one worker's queue pair of a crypto device.
// Source: RFC 4303; RFC 8986; DPDK cryptodev guide; DPDK ipsec library guide; docs/algorithms.md 11.1.
// Units: bytes. Threads: made on the control thread, then used by one worker.
//
// Both calls are synchronous: a burst of at most 32 frames of one SA goes in, and returns with an outcome for
// each frame, in the same order. Software devices (CPU crypto) work on the caller's stack in one call; others
// get the burst through their queue pair and are polled until all of it is back.
#pragma once

#include <rte_crypto_sym.h>

#include <array>
#include <cstdint>
#include <span>

#include "vswitch/esp/crypto_device.h"
#include "vswitch/esp/esp_sa.h"

struct rte_crypto_op;
struct rte_mbuf;

namespace weir {

/// Result for one frame.
enum class EspOutcome : std::uint8_t {
    kDone,
    kMalformed,  ///< truncated, IP options or fragments, wrong padding, or no frame inside
    kReplayed,
    kBadTag,
    kNoBuffer,  ///< needed a copy and the pool was empty
    kTooLong,   ///< does not fit into one buffer
    kFailed     ///< the device failed, or all 2^32 - 1 sequence numbers are used
};
using EspOutcomes = std::array<EspOutcome, kCryptoBurst>;

class EspEngine {
  public:
    /// @param pool for copies of frames that are chained or lack headroom or tailroom
    /// @throws HostError when the device has no operations left
    EspEngine(const CryptoDevice& device, std::uint16_t queue_pair, rte_mempool* pool);
    ~EspEngine();
    EspEngine(const EspEngine&) = delete;
    EspEngine& operator=(const EspEngine&) = delete;

    /// Turns Ethernet frames without open offload requests into ESP packets to the other end, in place. At
    /// most kCryptoBurst. All stay the caller's, with any outcome; a copy replaces the frame that it was made
    /// of.
    void encrypt(EspSa& sa, std::span<rte_mbuf*> frames, EspOutcomes& outcomes);
    /// The reverse. hash.usr of a frame with kDone is 1 if the network marked its packet with CE. The caller
    /// has checked the SPI, and that the packet is at least as long as the SA's headers.
    void decrypt(EspSa& sa, std::span<rte_mbuf*> frames, EspOutcomes& outcomes);

  private:
    using Burst = std::span<rte_mbuf*>;

    EspOutcome make_room(rte_mbuf*& frame, std::uint32_t head, std::uint32_t tail);
    EspOutcome accept(const EspSa& sa, rte_mbuf*& frame);
    std::uint16_t run(const EspSa& sa, Burst frames, Burst all, EspOutcomes& outcomes);
    std::uint16_t run_queued(Burst frames, Burst all, EspOutcomes& outcomes);
    std::uint16_t run_at_once(const EspSa& sa, Burst frames, Burst all, EspOutcomes& outcomes);
    void put(std::uint16_t at, std::uint8_t* data, std::uint32_t bytes, std::uint8_t* tag,
             std::uint8_t* header);
    void gather(const EspSa& sa, std::uint16_t count);
    void prepare_call(const EspSa& sa, std::uint16_t at, const EspFront::Packet& packet);
    void prepare_operation(const EspSa& sa, std::uint16_t at, rte_mbuf* frame,
                           const EspFront::Packet& packet);

    /// Arguments of a CPU crypto call, by operation; the constructor links the lists to the data.
    struct Call {
        std::array<rte_crypto_vec, kCryptoBurst> data{};
        std::array<rte_crypto_sgl, kCryptoBurst> lists{};
        std::array<rte_crypto_va_iova_ptr, kCryptoBurst> ivs{};
        std::array<rte_crypto_va_iova_ptr, kCryptoBurst> tags{};
        std::array<rte_crypto_va_iova_ptr, kCryptoBurst> headers{};
        std::array<std::int32_t, kCryptoBurst> status{};
    };

    rte_mempool* pool_;
    std::uint8_t device_;
    std::uint16_t queue_pair_;
    bool at_once_;  ///< CPU crypto: the device works on the caller's stack
    std::array<rte_crypto_op*, kCryptoBurst> operations_{};
    Call call_;
    std::array<std::array<std::uint8_t, 16>, kCryptoBurst> nonces_{};
};

}  // namespace weir
