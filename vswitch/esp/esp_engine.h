// esp_engine.h - one worker's queue pair of a crypto device: bursts of frames into ESP and out of it, at
// once. Source: RFC 4303 over a cryptodev, inbound with rte_ipsec; Ethernet inside (next header 143, RFC
// 8986). Units: bytes. Threads: made on the control thread, then one worker's, as the queue pair is.
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

/// What became of a frame.
enum class EspOutcome : std::uint8_t {
    kDone,
    kMalformed,  ///< truncated, with options or fragments, a wrong padding, no frame inside
    kReplayed,
    kBadTag,
    kNoBuffer,  ///< had to be copied and the pool was empty
    kTooLong,   ///< does not fit into one buffer
    kFailed     ///< the device did not do it, or all 2^32 - 1 sequence numbers are used
};
using EspOutcomes = std::array<EspOutcome, kCryptoBurst>;

class EspEngine {
  public:
    /// @param pool for copies of frames that are chained or have no room around them
    /// @throws HostError when the device has no operations left
    EspEngine(const CryptoDevice& device, std::uint16_t queue_pair, rte_mempool* pool);
    ~EspEngine();
    EspEngine(const EspEngine&) = delete;
    EspEngine& operator=(const EspEngine&) = delete;

    /// Whole Ethernet frames without open offload requests become frames to the other end, each in its place;
    /// kCryptoBurst at most. All stay the caller's, done or not; copies take the place of what was copied.
    void encrypt(EspSa& sa, std::span<rte_mbuf*> frames, EspOutcomes& outcomes);
    /// And back; hash.usr of what is done says whether the network has marked it with CE. The SPI was looked
    /// at, and the frame has the length of the SA's headers at least.
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

    /// What a call is given; by operation, parts of it for good.
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
    bool at_once_;  ///< the device works on the caller's stack, without its queues
    std::array<rte_crypto_op*, kCryptoBurst> operations_{};
    Call call_;
    std::array<std::array<std::uint8_t, 16>, kCryptoBurst> nonces_{};
};

}  // namespace weir
