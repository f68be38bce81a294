// esp_engine.cc - wraps or checks, has the device do the work at once, and says what became of each frame.
#include "vswitch/appliance/esp_engine.h"

#include <rte_byteorder.h>
#include <rte_cryptodev.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <sodium.h>

#include <algorithm>
#include <cstring>

#include "common/error.h"

namespace weir {
namespace {

constexpr std::uint16_t kIpv6Bytes = 40;
constexpr std::uint8_t kEsp = 50;
constexpr std::uint8_t kEtherIp = 97;
constexpr unsigned kCongestion = 3;                // ECN: CE (RFC 3168)
constexpr std::uint16_t kEtherIpVersion = 0x3000;  // RFC 3378 section 3
constexpr std::uint32_t kIvOffset = sizeof(rte_crypto_op) + sizeof(rte_crypto_sym_op);
/// Behind the frame: padding (up to 17 with its two fields), ICV, and the AAD that rte_ipsec builds there.
constexpr std::uint32_t kTail = 17 + kIcvBytes + 16;
constexpr std::uint32_t kTailInbound = 16;

std::uint16_t be16(const std::uint8_t* at) {
    return static_cast<std::uint16_t>(at[0] << 8 | at[1]);
}

/// `op->sym` is an array of no elements, which compilers rightly distrust.
rte_mbuf* frame_of(rte_crypto_op* operation) {
    return rte_crypto_op_ctod_offset(operation, rte_crypto_sym_op*, sizeof(rte_crypto_op))->m_src;
}

/// DSCP and ECN of the packet in the frame, which the outer header repeats (RFC 6040); 0 for what is not IP.
std::uint8_t traffic_class(const std::uint8_t* frame, std::uint32_t bytes) {
    const std::uint32_t tag = bytes > 18 && be16(frame + 12) == 0x8100 ? 4 : 0;
    if (bytes < 16 + tag)
        return 0;
    const std::uint16_t type = be16(frame + 12 + tag);
    if (type == 0x0800)
        return frame[15 + tag];
    return type == 0x86DD ? static_cast<std::uint8_t>(be16(frame + 14 + tag) >> 4) : std::uint8_t{0};
}

/// Those of `frames` that are in `bad` have ended so. Rare.
void note(std::span<rte_mbuf* const> frames, EspOutcomes& outcomes, std::span<rte_mbuf* const> bad,
          EspOutcome outcome) {
    for (const rte_mbuf* frame : bad)
        outcomes[static_cast<std::size_t>(std::ranges::find(frames, frame) - frames.begin())] = outcome;
}

/// The protocol of the outer header.
std::uint8_t protocol_of(const rte_mbuf* frame, bool v6) {
    return *rte_pktmbuf_mtod_offset(frame, const std::uint8_t*, kEspFrontBytes + (v6 ? 6 : 9));
}

/// Takes what is around the frame off, and remembers whether the network has marked it. @return false when it is no EtherIP
bool unwrap(rte_mbuf* frame, bool v6) {
    const std::uint32_t front = kEspFrontBytes + outer_ip_bytes(v6);
    constexpr std::uint32_t kLeast = kEtherIpBytes + 14;
    if (frame->pkt_len < front + kLeast || protocol_of(frame, v6) != kEtherIp ||
        be16(rte_pktmbuf_mtod_offset(frame, const std::uint8_t*, front)) != kEtherIpVersion)
        return false;
    const auto* ip = rte_pktmbuf_mtod_offset(frame, const std::uint8_t*, kEspFrontBytes);
    frame->hash.usr = ((v6 ? ip[1] >> 4 : ip[1]) & kCongestion) == kCongestion;
    rte_pktmbuf_adj(frame, static_cast<std::uint16_t>(front + kEtherIpBytes));
    frame->ol_flags = 0;
    frame->tx_offload = 0;
    return true;
}

}  // namespace

EspEngine::EspEngine(const CryptoDevice& device, std::uint16_t queue_pair, rte_mempool* pool)
    : pool_(pool), device_(device.id()), queue_pair_(queue_pair) {
    if (sodium_init() < 0)
        throw HostError("libsodium does not start; it has no source of random bytes");
    randombytes_buf(iv_key_.data(), iv_key_.size());
    if (rte_crypto_op_bulk_alloc(device.operations(), RTE_CRYPTO_OP_TYPE_SYMMETRIC, operations_.data(),
                                 kCryptoBurst) != kCryptoBurst)
        throw HostError("'" + device.name() + "' has no operations left; make it with more queue pairs");
}

EspEngine::~EspEngine() {
    rte_mempool_put_bulk(operations_[0]->mempool, reinterpret_cast<void* const*>(operations_.data()),
                         kCryptoBurst);
    sodium_memzero(iv_key_.data(), iv_key_.size());
}

/// One buffer that nobody else reads, with room on both sides; copies where it is not so.
EspOutcome EspEngine::make_room(rte_mbuf*& frame, std::uint32_t head, std::uint32_t tail) {
    if (frame->nb_segs == 1 && RTE_MBUF_DIRECT(frame) && rte_mbuf_refcnt_read(frame) == 1 &&
        rte_pktmbuf_headroom(frame) >= head && rte_pktmbuf_tailroom(frame) >= tail) [[likely]]
        return EspOutcome::kDone;
    if (frame->pkt_len + RTE_PKTMBUF_HEADROOM + tail > rte_pktmbuf_data_room_size(pool_))
        return EspOutcome::kTooLong;
    rte_mbuf* copy = rte_pktmbuf_copy(frame, pool_, 0, UINT32_MAX);
    if (copy == nullptr)
        return EspOutcome::kNoBuffer;
    rte_pktmbuf_free(frame);
    frame = copy;
    return EspOutcome::kDone;
}

/// Puts Ethernet, IP and EtherIP in front of the frame.
EspOutcome EspEngine::wrap(const EspSa& sa, rte_mbuf*& frame) {
    const std::span<const std::uint8_t> header = sa.header();
    const auto front = static_cast<std::uint16_t>(header.size());
    const EspOutcome room = make_room(frame, front + kEspHeaderBytes + iv_bytes(sa.algorithm()), kTail);
    if (room != EspOutcome::kDone) [[unlikely]]
        return room;
    const std::uint8_t tos =
        traffic_class(rte_pktmbuf_mtod(frame, const std::uint8_t*), frame->pkt_len);
    auto* bytes = reinterpret_cast<std::uint8_t*>(rte_pktmbuf_prepend(frame, front));
    std::memcpy(bytes, header.data(), front);
    std::uint8_t* ip = bytes + kEspFrontBytes;
    if (sa.outer_v6()) {
        ip[0] = static_cast<std::uint8_t>(ip[0] | tos >> 4);
        ip[1] = static_cast<std::uint8_t>(ip[1] | tos << 4);
    } else {
        ip[1] = tos;
    }
    frame->ol_flags = 0;
    frame->tx_offload = 0;
    frame->l2_len = kEspFrontBytes;
    frame->l3_len = outer_ip_bytes(sa.outer_v6()) & 0x1FF;
    return EspOutcome::kDone;
}

/// Options, extension headers and fragments: no Weir sends them in a tunnel.
EspOutcome EspEngine::accept(const EspSa& sa, rte_mbuf*& frame) {
    const EspOutcome room = make_room(frame, 0, kTailInbound);
    if (room != EspOutcome::kDone) [[unlikely]]
        return room;
    const auto* ip = rte_pktmbuf_mtod_offset(frame, const std::uint8_t*, kEspFrontBytes);
    const std::uint32_t present = frame->pkt_len > kEspFrontBytes ? frame->pkt_len - kEspFrontBytes : 0;
    const std::uint32_t around = esp_around_bytes(sa.algorithm(), sa.outer_v6());
    if (present <= around || protocol_of(frame, sa.outer_v6()) != kEsp)
        return EspOutcome::kMalformed;
    const std::uint32_t length = sa.outer_v6() ? kIpv6Bytes + std::uint32_t{be16(ip + 4)} : be16(ip + 2);
    const bool plain = sa.outer_v6() ? ip[0] >> 4 == 6 : ip[0] == 0x45 && (be16(ip + 6) & 0x3FFF) == 0;
    if (!plain || length > present || length <= around ||
        (length - around) % block_bytes(sa.algorithm()) != 0)
        return EspOutcome::kMalformed;
    rte_pktmbuf_trim(frame, static_cast<std::uint16_t>(present - length));
    frame->tx_offload = 0;
    frame->l2_len = kEspFrontBytes;
    frame->l3_len = outer_ip_bytes(sa.outer_v6()) & 0x1FF;
    frame->ol_flags &= ~RTE_MBUF_F_RX_SEC_OFFLOAD_FAILED;
    return EspOutcome::kDone;
}

/// The IV of AES-CBC must not be foreseeable (RFC 3602 section 3). rte_ipsec has the device encrypt the
/// packet's IV field too, under the operation's IV, and numbers them. Random bytes in the one and zeros in
/// the other put E(random) on the wire. AES-GCM asks only that they differ, as sequence numbers do.
void EspEngine::fresh_ivs(const EspSa& sa, std::uint16_t count) {
    constexpr std::size_t kIv = 16;
    const std::uint32_t at = kEspFrontBytes + outer_ip_bytes(sa.outer_v6()) + kEspHeaderBytes;
    std::array<std::uint8_t, kCryptoBurst * kIv> stream;
    std::array<std::uint8_t, crypto_stream_chacha20_NONCEBYTES> nonce{};
    static_assert(sizeof(iv_bursts_) == crypto_stream_chacha20_NONCEBYTES);
    std::memcpy(nonce.data(), &iv_bursts_, sizeof(iv_bursts_));
    ++iv_bursts_;
    crypto_stream_chacha20(stream.data(), count * kIv, nonce.data(), iv_key_.data());
    for (std::uint16_t i = 0; i < count; ++i) {
        std::memcpy(rte_pktmbuf_mtod_offset(frame_of(operations_[i]), std::uint8_t*, at),
                    stream.data() + i * kIv, kIv);
        std::memset(rte_crypto_op_ctod_offset(operations_[i], std::uint8_t*, kIvOffset), 0, kIv);
    }
}

/// Has the device do the prepared operations of `frames` and waits for them; the device keeps their order.
/// @return how many it did well; these are the first then
std::uint16_t EspEngine::run(Burst frames, Burst all, EspOutcomes& outcomes) {
    const auto count = static_cast<std::uint16_t>(frames.size());
    std::array<rte_crypto_op*, kCryptoBurst> done;
    std::uint16_t given = 0;
    std::uint16_t taken = 0;
    while (taken < count) {
        const std::uint16_t more = rte_cryptodev_enqueue_burst(
            device_, queue_pair_, operations_.data() + given, static_cast<std::uint16_t>(count - given));
        given = static_cast<std::uint16_t>(given + more);
        if (given == taken)  // it refuses one although it has nothing to do
            break;
        taken = static_cast<std::uint16_t>(
            taken + rte_cryptodev_dequeue_burst(device_, queue_pair_, done.data() + taken,
                                                static_cast<std::uint16_t>(given - taken)));
    }
    note(all, outcomes, frames.subspan(taken), EspOutcome::kFailed);
    std::uint16_t good = 0;
    for (std::uint16_t i = 0; i < taken; ++i) {
        rte_mbuf* frame = frame_of(done[i]);
        if (done[i]->status == RTE_CRYPTO_OP_STATUS_SUCCESS) [[likely]]
            frames[good++] = frame;
        else
            note(all, outcomes, {&frame, 1},
                 done[i]->status == RTE_CRYPTO_OP_STATUS_AUTH_FAILED ? EspOutcome::kBadTag
                                                                      : EspOutcome::kFailed);
    }
    return good;
}

void EspEngine::encrypt(EspSa& sa, Burst frames, EspOutcomes& outcomes) {
    std::array<rte_mbuf*, kCryptoBurst> work;
    std::uint16_t count = 0;
    for (std::size_t i = 0; i < frames.size(); ++i) {
        outcomes[i] = wrap(sa, frames[i]);
        if (outcomes[i] == EspOutcome::kDone) [[likely]]
            work[count++] = frames[i];
    }
    if (count == 0)
        return;
    const Burst all(work.data(), count);
    const std::uint16_t prepared =
        rte_ipsec_pkt_crypto_prepare(sa.session(), work.data(), operations_.data(), count);
    note(frames, outcomes, all.subspan(prepared), EspOutcome::kFailed);
    sa.count(prepared);
    if (prepared == 0)
        return;
    if (!is_gcm(sa.algorithm()))
        fresh_ivs(sa, prepared);
    count = run(all.first(prepared), frames, outcomes);
    const std::uint16_t good = count == 0 ? count : rte_ipsec_pkt_process(sa.session(), work.data(), count);
    note(frames, outcomes, all.subspan(good, count - good), EspOutcome::kFailed);
    for (rte_mbuf* frame : all.first(good)) {
        if (!sa.outer_v6()) {
            auto* ip = rte_pktmbuf_mtod_offset(frame, rte_ipv4_hdr*, kEspFrontBytes);
            ip->hdr_checksum = 0;
            ip->hdr_checksum = rte_ipv4_cksum(ip);
        }
        frame->ol_flags = 0;
    }
}

void EspEngine::decrypt(EspSa& sa, Burst frames, EspOutcomes& outcomes) {
    std::array<rte_mbuf*, kCryptoBurst> work;
    std::uint16_t count = 0;
    for (std::size_t i = 0; i < frames.size(); ++i) {
        outcomes[i] = accept(sa, frames[i]);
        if (outcomes[i] == EspOutcome::kDone) [[likely]]
            work[count++] = frames[i];
    }
    if (count == 0)
        return;
    const Burst all(work.data(), count);
    const std::uint16_t prepared =
        rte_ipsec_pkt_crypto_prepare(sa.session(), work.data(), operations_.data(), count);
    note(frames, outcomes, all.subspan(prepared), EspOutcome::kReplayed);
    count = prepared == 0 ? prepared : run(all.first(prepared), frames, outcomes);
    const std::uint16_t good = count == 0 ? count : rte_ipsec_pkt_process(sa.session(), work.data(), count);
    // A packet whose twin came in the same burst is unpacked before it is found out; one with a wrong padding
    // is not.
    for (rte_mbuf* frame : all.subspan(good, count - good))
        note(frames, outcomes, {&frame, 1},
             protocol_of(frame, sa.outer_v6()) == kEsp ? EspOutcome::kMalformed : EspOutcome::kReplayed);
    sa.count(good);
    for (rte_mbuf* frame : all.first(good))
        if (!unwrap(frame, sa.outer_v6())) [[unlikely]]
            note(frames, outcomes, {&frame, 1}, EspOutcome::kMalformed);
}

}  // namespace weir
