// esp_tunnel.cc - checks, has the device do the work at once, and rebuilds the frames.
#include "vswitch/appliance/esp_tunnel.h"

#include <rte_byteorder.h>
#include <rte_cryptodev.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "common/error.h"

namespace weir {
namespace {

constexpr std::uint16_t kEthernetBytes = 14;
constexpr std::uint16_t kIpv4Bytes = 20;
constexpr std::uint16_t kIpv6Bytes = 40;
constexpr std::uint32_t kEspBytes = 8;
constexpr std::uint8_t kEsp = 50;
constexpr std::uint32_t kIvOffset = sizeof(rte_crypto_op) + sizeof(rte_crypto_sym_op);
/// Behind the frame: padding (up to 17 with its two fields), ICV, and the AAD that rte_ipsec builds there.
constexpr std::uint32_t kTail = 17 + kIcvBytes + 16;
/// Requests to finish a checksum or to cut segments, which nobody can do once the packet is encrypted.
constexpr std::uint64_t kUndone = RTE_MBUF_F_TX_L4_MASK | RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_IP_CKSUM;

std::uint16_t be16(const std::uint8_t* at) {
    return static_cast<std::uint16_t>(at[0] << 8 | at[1]);
}
std::uint32_t be32(const std::uint8_t* at) {
    return static_cast<std::uint32_t>(be16(at)) << 16 | be16(at + 2);
}

std::uint16_t ether_type(InnerIp inner) {
    return inner == InnerIp::kIpv4 ? 0x0800 : 0x86DD;
}

std::array<std::uint8_t, 14> ethernet(const MacBytes& to, const MacBytes& from, std::uint16_t type) {
    std::array<std::uint8_t, 14> header{};
    std::copy(to.begin(), to.end(), header.begin());
    std::copy(from.begin(), from.end(), header.begin() + 6);
    header[12] = static_cast<std::uint8_t>(type >> 8);
    header[13] = static_cast<std::uint8_t>(type & 0xFF);
    return header;
}

std::array<std::uint8_t, 34> outer(const EspTunnelParameters& parameters) {
    std::array<std::uint8_t, 34> header{};
    const auto front = ethernet(parameters.remote_mac, parameters.local_mac, 0x0800);
    std::copy(front.begin(), front.end(), header.begin());
    rte_ipv4_hdr ip{};
    ip.version_ihl = 0x45;
    ip.time_to_live = 64;
    ip.next_proto_id = kEsp;
    ip.src_addr = rte_cpu_to_be_32(parameters.local);
    ip.dst_addr = rte_cpu_to_be_32(parameters.remote);
    std::memcpy(header.data() + kEthernetBytes, &ip, sizeof(ip));
    return header;
}

const EspTunnelParameters& checked(const EspTunnelParameters& parameters) {
    if (parameters.out.cipher == parameters.in.cipher && parameters.out.auth == parameters.in.auth)
        throw HostError("SPI " + std::to_string(parameters.out.spi) + " and " +
                        std::to_string(parameters.in.spi) +
                        ": the same keys in both directions; give each direction its own");
    return parameters;
}

/// `op->sym` is an array of no elements, which compilers rightly distrust.
rte_mbuf* frame_of(rte_crypto_op* operation) {
    return rte_crypto_op_ctod_offset(operation, rte_crypto_sym_op*, sizeof(rte_crypto_op))->m_src;
}

/// The packet behind the Ethernet header, of the length that its own header tells; 0 when there is none.
std::uint32_t packet_bytes(const std::uint8_t* ip, std::uint32_t present, InnerIp family) {
    const bool v4 = family == InnerIp::kIpv4;
    if (present < (v4 ? kIpv4Bytes : kIpv6Bytes) || ip[0] >> 4 != (v4 ? 4 : 6))
        return 0;
    const std::uint32_t bytes = v4 ? be16(ip + 2) : kIpv6Bytes + std::uint32_t{be16(ip + 4)};
    return bytes <= present && bytes >= (v4 ? kIpv4Bytes : kIpv6Bytes) ? bytes : 0;
}

}  // namespace

EspTunnel::EspTunnel(const CryptoDevice& device, std::uint16_t queue_pair, rte_mempool* pool,
                     const EspTunnelParameters& parameters)
    : pool_(pool),
      algorithm_(checked(parameters).algorithm),
      inner_(parameters.inner),
      device_(device.id()),
      queue_pair_(queue_pair),
      spi_in_(parameters.in.spi),
      header_(outer(parameters)),
      vm_header_(ethernet(parameters.vm_mac, parameters.gateway_mac, ether_type(parameters.inner))),
      out_(device, parameters.out, {parameters.algorithm, parameters.inner, true, 0, header_}),
      in_(device, parameters.in,
          {parameters.algorithm, parameters.inner, false, parameters.replay_window, {}}) {
    if (sodium_init() < 0)
        throw HostError("libsodium does not start; it has no source of random bytes");
    randombytes_buf(iv_key_.data(), iv_key_.size());
    if (rte_crypto_op_bulk_alloc(device.operations(), RTE_CRYPTO_OP_TYPE_SYMMETRIC, operations_.data(),
                                 kCryptoBurst) != kCryptoBurst)
        throw HostError("'" + device.name() + "' has no operations left; make it with more sessions");
}

EspTunnel::~EspTunnel() {
    rte_mempool_put_bulk(operations_[0]->mempool, reinterpret_cast<void* const*>(operations_.data()),
                         kCryptoBurst);
    sodium_memzero(iv_key_.data(), iv_key_.size());
}

void EspTunnel::drop(Burst frames, std::uint64_t& counter) {
    counter += frames.size();
    rte_pktmbuf_free_bulk(frames.data(), static_cast<unsigned>(frames.size()));
}

/// Moves what `accept` takes to the front, in order; it has freed and counted the rest.
template <class Accept>
std::uint16_t EspTunnel::keep(Burst frames, Accept accept) {
    std::uint16_t kept = 0;
    for (rte_mbuf* frame : frames)
        if (accept(frame))
            frames[kept++] = frame;
    return kept;
}

/// One buffer that nobody else reads, with room on both sides; copies where it is not so.
bool EspTunnel::make_room(rte_mbuf*& frame, std::uint32_t head, std::uint32_t tail) {
    if (frame->nb_segs == 1 && RTE_MBUF_DIRECT(frame) && rte_mbuf_refcnt_read(frame) == 1 &&
        rte_pktmbuf_headroom(frame) >= head && rte_pktmbuf_tailroom(frame) >= tail)
        return true;
    if (frame->pkt_len + RTE_PKTMBUF_HEADROOM + tail > rte_pktmbuf_data_room_size(pool_)) {
        drop({&frame, 1}, counters_.too_long);
        return false;
    }
    rte_mbuf* copy = rte_pktmbuf_copy(frame, pool_, 0, UINT32_MAX);
    if (copy == nullptr) {
        drop({&frame, 1}, counters_.no_buffer);
        return false;
    }
    rte_pktmbuf_free(frame);
    frame = copy;
    return true;
}

bool EspTunnel::accept_outbound(rte_mbuf*& frame) {
    constexpr std::uint32_t kHead = kIpv4Bytes + kEspBytes + 16;
    if (frame->pkt_len <= kEthernetBytes || (frame->ol_flags & kUndone) != 0) {
        drop({&frame, 1}, counters_.not_carried);
        return false;
    }
    if (!make_room(frame, kHead, kTail))
        return false;
    const auto* bytes = rte_pktmbuf_mtod(frame, const std::uint8_t*);
    const std::uint32_t present = frame->pkt_len - kEthernetBytes;
    const std::uint32_t length =
        be16(bytes + 12) == ether_type(inner_) ? packet_bytes(bytes + kEthernetBytes, present, inner_) : 0;
    if (length == 0) {
        drop({&frame, 1}, counters_.not_carried);
        return false;
    }
    rte_pktmbuf_trim(frame, static_cast<std::uint16_t>(present - length));
    frame->tx_offload = 0;
    frame->l2_len = kEthernetBytes;
    return true;
}

bool EspTunnel::accept_inbound(rte_mbuf*& frame) {
    if (!make_room(frame, 0, kTail))
        return false;
    const auto* ip = rte_pktmbuf_mtod_offset(frame, const std::uint8_t*, kEthernetBytes);
    const std::uint32_t present = frame->pkt_len > kEthernetBytes ? frame->pkt_len - kEthernetBytes : 0;
    const std::uint32_t length = packet_bytes(ip, present, InnerIp::kIpv4);
    const std::uint32_t around = kIpv4Bytes + kEspBytes + iv_bytes(algorithm_) + kIcvBytes;
    // Options and fragments: no Weir sends them in a tunnel.
    if (length <= around || be16(ip - 2) != 0x0800 || ip[0] != 0x45 || ip[9] != kEsp ||
        (be16(ip + 6) & 0x3FFF) != 0 || be32(ip + kIpv4Bytes) != spi_in_ ||
        (length - around) % block_bytes(algorithm_) != 0) {
        drop({&frame, 1}, counters_.malformed);
        return false;
    }
    rte_pktmbuf_trim(frame, static_cast<std::uint16_t>(present - length));
    frame->tx_offload = 0;
    frame->l2_len = kEthernetBytes;
    frame->l3_len = kIpv4Bytes;
    frame->ol_flags &= ~RTE_MBUF_F_RX_SEC_OFFLOAD_FAILED;
    return true;
}

/// The IV of AES-CBC must not be foreseeable (RFC 3602 section 3). rte_ipsec has the device encrypt the
/// packet's IV field too, under the operation's IV, and numbers them: the same IVs again after a restart with
/// the same keys. Random bytes in the one and zeros in the other put E(random) on the wire.
void EspTunnel::fresh_ivs(std::uint16_t count) {
    constexpr std::size_t kIv = 16;
    std::array<std::uint8_t, kCryptoBurst * kIv> stream;
    std::array<std::uint8_t, crypto_stream_chacha20_NONCEBYTES> nonce{};
    static_assert(sizeof(iv_bursts_) == crypto_stream_chacha20_NONCEBYTES);
    std::memcpy(nonce.data(), &iv_bursts_, sizeof(iv_bursts_));
    ++iv_bursts_;
    crypto_stream_chacha20(stream.data(), count * kIv, nonce.data(), iv_key_.data());
    for (std::uint16_t i = 0; i < count; ++i) {
        std::memcpy(rte_pktmbuf_mtod_offset(frame_of(operations_[i]), std::uint8_t*,
                                            kEthernetBytes + kIpv4Bytes + kEspBytes),
                    stream.data() + i * kIv, kIv);
        std::memset(rte_crypto_op_ctod_offset(operations_[i], std::uint8_t*, kIvOffset), 0, kIv);
    }
}

/// Has the device do the prepared operations of `frames` and waits for them; the device keeps their order.
std::uint16_t EspTunnel::run(Burst frames) {
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
    drop(frames.subspan(taken), counters_.device);
    std::uint16_t good = 0;
    for (std::uint16_t i = 0; i < taken; ++i) {
        rte_mbuf* frame = frame_of(done[i]);
        if (done[i]->status == RTE_CRYPTO_OP_STATUS_SUCCESS)
            frames[good++] = frame;
        else
            drop({&frame, 1},
                 done[i]->status == RTE_CRYPTO_OP_STATUS_AUTH_FAILED ? counters_.bad_tag : counters_.device);
    }
    return good;
}

std::uint16_t EspTunnel::encrypt_some(Burst frames) {
    std::uint16_t count = keep(frames, [this](rte_mbuf*& frame) { return accept_outbound(frame); });
    const std::uint16_t prepared =
        count == 0 ? count
                   : rte_ipsec_pkt_crypto_prepare(out_.session(), frames.data(), operations_.data(), count);
    drop(frames.subspan(prepared, count - prepared), counters_.exhausted);
    if (prepared == 0)
        return 0;
    if (algorithm_ == EspAlgorithm::kAesCbcHmacSha256)
        fresh_ivs(prepared);
    count = run(frames.first(prepared));
    const std::uint16_t good =
        count == 0 ? count : rte_ipsec_pkt_process(out_.session(), frames.data(), count);
    drop(frames.subspan(good, count - good), counters_.device);
    for (rte_mbuf* frame : frames.first(good)) {
        auto* ip = rte_pktmbuf_mtod_offset(frame, rte_ipv4_hdr*, kEthernetBytes);
        ip->hdr_checksum = 0;
        ip->hdr_checksum = rte_ipv4_cksum(ip);
        frame->ol_flags = 0;
    }
    counters_.encrypted += good;
    return good;
}

/// Puts the VM's Ethernet header before the decrypted packet.
bool EspTunnel::deliver(rte_mbuf* frame) {
    const std::uint32_t length =
        packet_bytes(rte_pktmbuf_mtod(frame, const std::uint8_t*), frame->pkt_len, inner_);
    if (length == 0) {
        drop({&frame, 1}, counters_.malformed);
        return false;
    }
    rte_pktmbuf_trim(frame, static_cast<std::uint16_t>(frame->pkt_len - length));
    std::memcpy(rte_pktmbuf_prepend(frame, kEthernetBytes), vm_header_.data(), vm_header_.size());
    frame->ol_flags = 0;
    frame->tx_offload = 0;
    return true;
}

std::uint16_t EspTunnel::decrypt_some(Burst frames) {
    std::uint16_t count = keep(frames, [this](rte_mbuf*& frame) { return accept_inbound(frame); });
    const std::uint16_t prepared =
        count == 0 ? count
                   : rte_ipsec_pkt_crypto_prepare(in_.session(), frames.data(), operations_.data(), count);
    drop(frames.subspan(prepared, count - prepared), counters_.replayed);
    count = prepared == 0 ? prepared : run(frames.first(prepared));
    std::uint16_t good = count == 0 ? count : rte_ipsec_pkt_process(in_.session(), frames.data(), count);
    // A packet whose twin came in the same burst is unpacked before it is found out; one with a wrong padding
    // is not.
    for (rte_mbuf* frame : frames.subspan(good, count - good))
        drop({&frame, 1}, frame->l2_len == kEthernetBytes ? counters_.malformed : counters_.replayed);
    good = keep(frames.first(good), [this](rte_mbuf*& frame) { return deliver(frame); });
    counters_.decrypted += good;
    return good;
}

std::size_t EspTunnel::encrypt_burst(std::span<rte_mbuf*> frames) {
    std::size_t good = 0;
    for (std::size_t first = 0; first < frames.size(); first += kCryptoBurst) {
        const Burst some = frames.subspan(first, std::min<std::size_t>(kCryptoBurst, frames.size() - first));
        const std::uint16_t done = encrypt_some(some);
        std::copy_n(some.begin(), done, frames.begin() + static_cast<std::ptrdiff_t>(good));
        good += done;
    }
    return good;
}

std::size_t EspTunnel::decrypt_burst(std::span<rte_mbuf*> frames) {
    std::size_t good = 0;
    for (std::size_t first = 0; first < frames.size(); first += kCryptoBurst) {
        const Burst some = frames.subspan(first, std::min<std::size_t>(kCryptoBurst, frames.size() - first));
        const std::uint16_t done = decrypt_some(some);
        std::copy_n(some.begin(), done, frames.begin() + static_cast<std::ptrdiff_t>(good));
        good += done;
    }
    return good;
}

}  // namespace weir
