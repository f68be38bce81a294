// esp_engine.cc - preparation of bursts, the two ways to run them on the device, and outcomes by frame.
#include "vswitch/esp/esp_engine.h"

#include <rte_cryptodev.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common/byte_order.h"
#include "common/error.h"

namespace weir {
namespace {

constexpr std::uint16_t kIpv6Bytes = 40;
constexpr std::uint32_t kGcmIvBytes = 8;
constexpr std::uint32_t kCbcIvBytes = 16;
constexpr std::uint8_t kEsp = 50;
constexpr unsigned kCongestion = 3;  // ECN: CE (RFC 3168)
/// Tailroom for the AAD that rte_ipsec builds behind the frame.
constexpr std::uint32_t kTailInbound = 16;

/// The operation's symmetric part; `op->sym` is an array without elements, which compilers warn about.
rte_crypto_sym_op* symmetric(rte_crypto_op* operation) {
    return rte_crypto_op_ctod_offset(operation, rte_crypto_sym_op*, sizeof(rte_crypto_op));
}
rte_mbuf* frame_of(rte_crypto_op* operation) {
    return symmetric(operation)->m_src;
}

bool works_at_once(std::uint8_t device) {
    rte_cryptodev_info info{};
    rte_cryptodev_info_get(device, &info);
    return (info.feature_flags & RTE_CRYPTODEV_FF_SYM_CPU_CRYPTO) != 0;
}

/// Sets the outcome of those of `frames` that are in `bad`. Rare.
void note(std::span<rte_mbuf* const> frames, EspOutcomes& outcomes, std::span<rte_mbuf* const> bad,
          EspOutcome outcome) {
    for (const rte_mbuf* frame : bad)
        outcomes[static_cast<std::size_t>(std::ranges::find(frames, frame) - frames.begin())] = outcome;
}

/// Protocol of the outer IP header.
std::uint8_t protocol_of(const rte_mbuf* frame, bool v6) {
    return *rte_pktmbuf_mtod_offset(frame, const std::uint8_t*, kEspFrontBytes + (v6 ? 6 : 9));
}

/// Removes the outer headers, and notes a CE mark in hash.usr. @return false when no Ethernet frame is inside
bool unwrap(rte_mbuf* frame, bool v6) {
    const std::uint32_t front = kEspFrontBytes + outer_ip_bytes(v6);
    constexpr std::uint32_t kLeast = 14;
    if (frame->pkt_len < front + kLeast || protocol_of(frame, v6) != kEthernetNextHeader)
        return false;
    const auto* ip = rte_pktmbuf_mtod_offset(frame, const std::uint8_t*, kEspFrontBytes);
    frame->hash.usr = ((v6 ? ip[1] >> 4 : ip[1]) & kCongestion) == kCongestion;
    rte_pktmbuf_adj(frame, static_cast<std::uint16_t>(front));
    frame->ol_flags = 0;
    frame->tx_offload = 0;
    return true;
}

}  // namespace

EspEngine::EspEngine(const CryptoDevice& device, std::uint16_t queue_pair, rte_mempool* pool)
    : pool_(pool), device_(device.id()), queue_pair_(queue_pair), at_once_(works_at_once(device.id())) {
    if (rte_crypto_op_bulk_alloc(device.operations(), RTE_CRYPTO_OP_TYPE_SYMMETRIC, operations_.data(),
                                 kCryptoBurst) != kCryptoBurst)
        throw HostError("'" + device.name() + "' has no operations left; make it with more queue pairs");
    for (std::size_t i = 0; i < kCryptoBurst; ++i)
        call_.lists[i] = {&call_.data[i], 1};
}

EspEngine::~EspEngine() {
    rte_mempool_put_bulk(operations_[0]->mempool, reinterpret_cast<void* const*>(operations_.data()),
                         kCryptoBurst);
}

/// Makes the frame one unshared buffer with room on both sides, by a copy if needed.
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

/// Checks the outer header. Options, extension headers and fragments are refused: no Weir switch sends them.
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

/// Runs the prepared operations of `frames` through the queue pair, which keeps their order, and waits for
/// them.
/// @return number of successes, which are then the first of `frames`
std::uint16_t EspEngine::run_queued(Burst frames, Burst all, EspOutcomes& outcomes) {
    const auto count = static_cast<std::uint16_t>(frames.size());
    std::array<rte_crypto_op*, kCryptoBurst> done;
    std::uint16_t given = 0;
    std::uint16_t taken = 0;
    while (taken < count) {
        const std::uint16_t more = rte_cryptodev_enqueue_burst(
            device_, queue_pair_, operations_.data() + given, static_cast<std::uint16_t>(count - given));
        given = static_cast<std::uint16_t>(given + more);
        if (given == taken)  // an idle device refuses an operation
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

/// The same as one CPU crypto call on the prepared arguments.
std::uint16_t EspEngine::run_at_once(const EspSa& sa, Burst frames, Burst all, EspOutcomes& outcomes) {
    const auto count = static_cast<std::uint16_t>(frames.size());
    rte_crypto_sym_ofs around{};  // the authenticated part starts before the encrypted one; both end together
    around.ofs.cipher.head = static_cast<std::uint16_t>(
        is_gcm(sa.algorithm()) ? 0 : kEspHeaderBytes + (sa.outbound() ? 0 : kCbcIvBytes));
    rte_crypto_sym_vec work{};
    work.num = count;
    work.src_sgl = call_.lists.data();
    work.iv = call_.ivs.data();
    work.digest = call_.tags.data();
    work.aad = call_.headers.data();
    work.status = call_.status.data();
    if (rte_cryptodev_sym_cpu_crypto_process(device_, sa.crypto_session(), around, &work) == count) [[likely]]
        return count;
    std::uint16_t good = 0;
    for (std::uint16_t i = 0; i < count; ++i) {
        rte_mbuf* frame = frames[i];
        if (call_.status[i] == 0)
            frames[good++] = frame;
        else
            note(all, outcomes, {&frame, 1},
                 call_.status[i] == EBADMSG ? EspOutcome::kBadTag : EspOutcome::kFailed);
    }
    return good;
}

/// Makes the arguments of a CPU crypto call from the operations that rte_ipsec prepared.
void EspEngine::gather(const EspSa& sa, std::uint16_t count) {
    const bool gcm = is_gcm(sa.algorithm());
    for (std::uint16_t i = 0; i < count; ++i) {
        const rte_crypto_sym_op* operation = symmetric(operations_[i]);
        const std::uint32_t at = gcm ? operation->aead.data.offset : operation->auth.data.offset;
        put(i, rte_pktmbuf_mtod_offset(operation->m_src, std::uint8_t*, at),
            gcm ? operation->aead.data.length : operation->auth.data.length,
            gcm ? operation->aead.digest.data : operation->auth.digest.data, operation->aead.aad.data);
        call_.ivs[i].va = rte_crypto_op_ctod_offset(operations_[i], void*, kIvOffset);
    }
}

void EspEngine::put(std::uint16_t at, std::uint8_t* data, std::uint32_t bytes, std::uint8_t* tag,
                    std::uint8_t* header) {
    call_.data[at].base = data;
    call_.data[at].len = bytes;
    call_.data[at].tot_len = bytes;
    call_.tags[at].va = tag;
    call_.headers[at].va = header;
}

/// Prepares one outbound packet for the CPU crypto call.
void EspEngine::prepare_call(const EspSa& sa, std::uint16_t at, const EspFront::Packet& packet) {
    std::uint8_t* const iv = packet.esp + kEspHeaderBytes;
    call_.ivs[at].va = nonces_[at].data();
    if (is_gcm(sa.algorithm())) {
        std::memcpy(nonces_[at].data(), sa.salt().data(), sa.salt().size());
        std::memcpy(nonces_[at].data() + sa.salt().size(), iv, kGcmIvBytes);
        put(at, iv + kGcmIvBytes, packet.encrypted, iv + kGcmIvBytes + packet.encrypted, packet.esp);
        return;
    }
    nonces_[at].fill(0);
    const std::uint32_t bytes = kEspHeaderBytes + kCbcIvBytes + packet.encrypted;
    put(at, packet.esp, bytes, packet.esp + bytes, packet.esp);
}

/// Prepares one outbound packet for the queue pair.
void EspEngine::prepare_operation(const EspSa& sa, std::uint16_t at, rte_mbuf* frame,
                                  const EspFront::Packet& packet) {
    rte_crypto_op* const operation = operations_[at];
    rte_crypto_sym_op* const work = symmetric(operation);
    auto* const nonce = rte_crypto_op_ctod_offset(operation, std::uint8_t*, kIvOffset);
    const auto esp = static_cast<std::uint32_t>(packet.esp - rte_pktmbuf_mtod(frame, std::uint8_t*));
    const auto place = [frame](std::uint32_t offset) { return rte_pktmbuf_iova_offset(frame, offset); };
    operation->type = RTE_CRYPTO_OP_TYPE_SYMMETRIC;
    operation->status = RTE_CRYPTO_OP_STATUS_NOT_PROCESSED;
    rte_crypto_op_attach_sym_session(operation, sa.crypto_session());
    work->m_src = frame;
    work->m_dst = nullptr;
    if (is_gcm(sa.algorithm())) {
        std::memcpy(nonce, sa.salt().data(), sa.salt().size());
        std::memcpy(nonce + sa.salt().size(), packet.esp + kEspHeaderBytes, kGcmIvBytes);
        const std::uint32_t data = esp + kEspHeaderBytes + kGcmIvBytes;
        work->aead.data = {data, packet.encrypted};
        work->aead.digest = {packet.esp + (data - esp) + packet.encrypted, place(data + packet.encrypted)};
        work->aead.aad = {packet.esp, place(esp)};
        return;
    }
    std::memset(nonce, 0, kCbcIvBytes);
    const std::uint32_t bytes = kEspHeaderBytes + kCbcIvBytes + packet.encrypted;
    work->cipher.data = {esp + kEspHeaderBytes, bytes - kEspHeaderBytes};
    work->auth.data = {esp, bytes};
    work->auth.digest = {packet.esp + bytes, place(esp + bytes)};
}

void EspEngine::encrypt(EspSa& sa, Burst frames, EspOutcomes& outcomes) {
    std::array<rte_mbuf*, kCryptoBurst> work;
    std::uint16_t count = 0;
    const EspFront& front = sa.front();
    for (std::size_t i = 0; i < frames.size(); ++i) {
        outcomes[i] = make_room(frames[i], front.head_bytes(), EspFront::kTailBytes);
        if (outcomes[i] == EspOutcome::kDone) [[likely]] {
            work[count++] = frames[i];
            const char* bytes = rte_pktmbuf_mtod(frames[i], const char*);
            rte_prefetch0_write(bytes - RTE_CACHE_LINE_SIZE);  // where header and trailer go
            rte_prefetch0_write(bytes + frames[i]->data_len);
        }
    }
    if (count == 0)
        return;
    const Burst all(work.data(), count);
    std::uint32_t sequence = 0;
    const std::uint16_t numbered = sa.number(count, sequence);
    note(frames, outcomes, all.subspan(numbered), EspOutcome::kFailed);
    if (numbered == 0)
        return;
    for (std::uint16_t i = 0; i < numbered; ++i) {
        work[i]->ol_flags = 0;
        work[i]->tx_offload = 0;
        const EspFront::Packet packet = front.wrap(work[i], sequence + i);
        if (at_once_)
            prepare_call(sa, i, packet);
        else
            prepare_operation(sa, i, work[i], packet);
    }
    (void)run(sa, all.first(numbered), frames, outcomes);
}

std::uint16_t EspEngine::run(const EspSa& sa, Burst frames, Burst all, EspOutcomes& outcomes) {
    return at_once_ ? run_at_once(sa, frames, all, outcomes) : run_queued(frames, all, outcomes);
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
    if (at_once_)
        gather(sa, prepared);
    count = prepared == 0 ? prepared : run(sa, all.first(prepared), frames, outcomes);
    const std::uint16_t good = count == 0 ? count : rte_ipsec_pkt_process(sa.session(), work.data(), count);
    // rte_ipsec unwraps a packet whose duplicate is in the same burst before it refuses it, and does not
    // unwrap one with wrong padding: the outer protocol distinguishes them.
    for (rte_mbuf* frame : all.subspan(good, count - good))
        note(frames, outcomes, {&frame, 1},
             protocol_of(frame, sa.outer_v6()) == kEsp ? EspOutcome::kMalformed : EspOutcome::kReplayed);
    sa.count(good);
    for (rte_mbuf* frame : all.first(good))
        if (!unwrap(frame, sa.outer_v6())) [[unlikely]]
            note(frames, outcomes, {&frame, 1}, EspOutcome::kMalformed);
}

}  // namespace weir
