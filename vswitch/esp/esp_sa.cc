// esp_sa.cc - outbound headers from the template; keys as cryptodev transforms and rte_ipsec parameters.
#include "vswitch/esp/esp_sa.h"

#include <rte_byteorder.h>
#include <rte_cryptodev.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "common/byte_order.h"
#include "common/error.h"

namespace weir {
namespace {

constexpr std::uint32_t kIp4Front = kEspFrontBytes + 20 + kEspHeaderBytes;
constexpr std::uint32_t kIp6Front = kEspFrontBytes + 40 + kEspHeaderBytes;
/// Padding of RFC 4303 2.4; one byte more than the longest.
constexpr std::array<std::uint8_t, 16> kPadding{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

/// Sum of the 16-bit words of the IPv4 header, in their order in memory.
std::uint32_t header_sum(std::span<const std::uint8_t> header) {
    std::uint32_t sum = 0;
    for (std::size_t at = kEspFrontBytes; at + 1 < header.size() && at < kEspFrontBytes + 20; at += 2) {
        std::uint16_t word = 0;
        std::memcpy(&word, header.data() + at, sizeof(word));
        sum += word;
    }
    return sum;
}

/// DSCP and ECN of the IP packet in the frame, which the outer header repeats; 0 without one.
std::uint8_t traffic_class(const std::uint8_t* frame, std::uint32_t bytes) {
    if (bytes < 20)
        return 0;
    std::uint32_t type = 0;
    std::memcpy(&type, frame + 12,
                sizeof(type));  // and the first two bytes behind it, in their order in memory
    if ((type & 0xFFFF) == 0x0081)
        std::memcpy(&type, frame + 16, sizeof(type));
    if ((type & 0xFFFF) == 0x0008)
        return static_cast<std::uint8_t>(type >> 24);
    return (type & 0xFFFF) == 0xDD86 ? static_cast<std::uint8_t>((type >> 12 & 0xF0) | type >> 28)
                                     : std::uint8_t{0};
}

constexpr std::uint8_t kIpInIp = 4;
constexpr std::uint8_t kIpv6InIp = 41;

rte_crypto_sym_xform gcm(const EspKeys& keys, EspAlgorithm algorithm, bool outbound) {
    rte_crypto_sym_xform transform{};
    transform.type = RTE_CRYPTO_SYM_XFORM_AEAD;
    transform.aead.op = outbound ? RTE_CRYPTO_AEAD_OP_ENCRYPT : RTE_CRYPTO_AEAD_OP_DECRYPT;
    transform.aead.algo = RTE_CRYPTO_AEAD_AES_GCM;
    transform.aead.key = {keys.cipher.data(), cipher_key_bytes(algorithm)};
    transform.aead.iv = {kIvOffset, 12};
    transform.aead.aad_length = 8;
    transform.aead.digest_length = kIcvBytes;
    return transform;
}

rte_crypto_sym_xform cbc(const EspKeys& keys, EspAlgorithm algorithm, bool outbound) {
    rte_crypto_sym_xform transform{};
    transform.type = RTE_CRYPTO_SYM_XFORM_CIPHER;
    transform.cipher.op = outbound ? RTE_CRYPTO_CIPHER_OP_ENCRYPT : RTE_CRYPTO_CIPHER_OP_DECRYPT;
    transform.cipher.algo = RTE_CRYPTO_CIPHER_AES_CBC;
    transform.cipher.key = {keys.cipher.data(), cipher_key_bytes(algorithm)};
    transform.cipher.iv = {kIvOffset, 16};
    return transform;
}

rte_crypto_sym_xform hmac(const EspKeys& keys, bool outbound) {
    rte_crypto_sym_xform transform{};
    transform.type = RTE_CRYPTO_SYM_XFORM_AUTH;
    transform.auth.op = outbound ? RTE_CRYPTO_AUTH_OP_GENERATE : RTE_CRYPTO_AUTH_OP_VERIFY;
    transform.auth.algo = RTE_CRYPTO_AUTH_SHA256_HMAC;
    transform.auth.key = {keys.auth.data(), static_cast<std::uint16_t>(keys.auth.size())};
    transform.auth.digest_length = kIcvBytes;
    return transform;
}

}  // namespace

EspFront::EspFront(EspAlgorithm algorithm, bool outer_v6, std::uint32_t spi,
                   std::span<const std::uint8_t> header)
    : front_bytes_(outer_v6 ? kIp6Front : kIp4Front),
      iv_bytes_(weir::iv_bytes(algorithm)),
      block_mask_(block_bytes(algorithm) - 1),
      checksum_base_(header_sum(header)),
      outer_v6_(outer_v6) {
    const std::uint32_t before = front_bytes_ - kEspHeaderBytes;
    std::ranges::copy(header.first(std::min<std::size_t>(header.size(), before)), front_.begin());
    put_be32(front_.data() + before, spi);
}

void EspFront::finish_ip4(std::uint8_t* ip, std::uint32_t sequence, std::uint32_t bytes,
                          std::uint8_t traffic_class) const {
    const rte_be16_t length = rte_cpu_to_be_16(static_cast<std::uint16_t>(bytes));
    const rte_be16_t identification = rte_cpu_to_be_16(static_cast<std::uint16_t>(sequence));
    ip[1] = traffic_class;
    std::memcpy(ip + 2, &length, sizeof length);
    std::memcpy(ip + 4, &identification, sizeof identification);
    std::uint32_t sum = checksum_base_ + length + identification + (std::uint32_t{traffic_class} << 8);
    sum = (sum & 0xFFFF) + (sum >> 16);
    const auto checksum = static_cast<std::uint16_t>(~((sum & 0xFFFF) + (sum >> 16)));
    std::memcpy(ip + 10, &checksum, sizeof checksum);
}

/// IVs of AES-GCM need only differ, as sequence numbers do. An IV of AES-CBC must be unpredictable (RFC 3602
/// 3): the IV field gets the sequence number and is encrypted with the rest, under an IV of zero. So the wire
/// carries E(sequence number), as NIST SP 800-38A recommends in appendix C: it never repeats under one key,
/// and cannot be predicted without the key.
EspFront::Packet EspFront::wrap(rte_mbuf* frame, std::uint32_t sequence) const {
    const std::uint32_t inside = frame->data_len;
    const std::uint32_t encrypted = (inside + kEspTrailerBytes + block_mask_) & ~block_mask_;
    auto* const clear = rte_pktmbuf_mtod(frame, std::uint8_t*);
    const std::uint8_t tos = traffic_class(clear, inside);
    std::memcpy(clear + inside, kPadding.data(), kPadding.size());
    clear[encrypted - 2] = static_cast<std::uint8_t>(encrypted - inside - kEspTrailerBytes);
    clear[encrypted - 1] = kEthernetNextHeader;

    std::uint8_t* const iv = clear - iv_bytes_;
    std::uint8_t* const start = iv - front_bytes_;
    std::uint8_t* const ip = start + kEspFrontBytes;
    const std::uint32_t bytes = front_bytes_ + iv_bytes_ + encrypted + kIcvBytes;
    if (outer_v6_) {
        std::memcpy(start, front_.data(), kIp6Front);
        ip[0] = static_cast<std::uint8_t>(0x60 | tos >> 4);
        ip[1] = static_cast<std::uint8_t>(tos << 4);
        put_be16(ip + 4, bytes - kEspFrontBytes - 40);
    } else {
        std::memcpy(start, front_.data(), kIp4Front);
        finish_ip4(ip, sequence, bytes - kEspFrontBytes, tos);
    }
    put_be32(iv - 4, sequence);
    std::memset(iv, 0, 4);
    put_be32(iv + 4, sequence);
    if (iv_bytes_ > 8)
        std::memset(iv + 8, 0, 8);
    frame->data_off = static_cast<std::uint16_t>(frame->data_off - head_bytes());
    frame->data_len = static_cast<std::uint16_t>(bytes);
    frame->pkt_len = bytes;
    return {iv - kEspHeaderBytes, encrypted};
}

EspSa::EspSa(const CryptoDevice& device, const EspKeys& keys, const Parameters& parameters)
    : device_name_(device.name()),
      algorithm_(parameters.algorithm),
      outer_v6_(parameters.outer_v6),
      spi_(keys.spi) {
    if (keys.spi < 256)
        throw HostError("SPI " + std::to_string(keys.spi) + ": the first 256 are reserved; take another");
    std::copy_n(keys.auth.begin(), salt_.size(), salt_.begin());
    try {
        if (parameters.outbound)
            front_.emplace(algorithm_, outer_v6_, spi_, parameters.header);
        make_session(device, keys, parameters);
    } catch (...) {
        release();
        throw;
    }
}

void EspSa::must(bool good, const char* what) const {
    if (!good)
        throw HostError("SPI " + std::to_string(spi_) + " on '" + device_name_ + "': " + what +
                        " fails; give a device that can do its algorithm and has sessions left");
}

void EspSa::make_session(const CryptoDevice& device, const EspKeys& keys, const Parameters& parameters) {
    const bool out = parameters.outbound;
    if (is_gcm(algorithm_)) {
        transforms_[0] = gcm(keys, algorithm_, out);
    } else {
        // Encrypt-then-MAC: the order of work is the order of the chain.
        transforms_[out ? 0 : 1] = cbc(keys, algorithm_, out);
        transforms_[out ? 1 : 0] = hmac(keys, out);
        transforms_[0].next = &transforms_[1];
    }
    if (!out)
        make_ipsec(keys, parameters);
    session_.type = RTE_SECURITY_ACTION_TYPE_NONE;
    session_.crypto.dev_id = device.id();
    session_.crypto.ses = static_cast<rte_cryptodev_sym_session*>(
        rte_cryptodev_sym_session_create(device.id(), transforms_.data(), device.sessions()));
    must(session_.crypto.ses != nullptr, "its crypto session");
    if (!out)
        must(rte_ipsec_session_prepare(&session_) == 0, "preparing it");
}

void EspSa::make_ipsec(const EspKeys& keys, const Parameters& parameters) {
    rte_ipsec_sa_prm wanted{};
    wanted.ipsec_xform.spi = keys.spi;
    if (is_gcm(algorithm_))
        std::memcpy(&wanted.ipsec_xform.salt, salt_.data(), sizeof(wanted.ipsec_xform.salt));
    wanted.ipsec_xform.direction = RTE_SECURITY_IPSEC_SA_DIR_INGRESS;
    wanted.ipsec_xform.proto = RTE_SECURITY_IPSEC_SA_PROTO_ESP;
    wanted.ipsec_xform.replay_win_sz = parameters.replay_window;
    wanted.crypto_xform = transforms_.data();
    wanted.ipsec_xform.mode = RTE_SECURITY_IPSEC_SA_MODE_TRANSPORT;
    wanted.trs.proto = outer_v6_ ? kIpv6InIp : kIpInIp;
    const int bytes = rte_ipsec_sa_size(&wanted);
    must(bytes > 0, "sizing its state");
    session_.sa = static_cast<rte_ipsec_sa*>(
        rte_zmalloc("weir_esp_sa", static_cast<std::size_t>(bytes), RTE_CACHE_LINE_SIZE));
    must(session_.sa != nullptr, "memory for its state");
    must(rte_ipsec_sa_init(session_.sa, &wanted, static_cast<std::uint32_t>(bytes)) > 0, "making its state");
}

void EspSa::release() {
    if (session_.crypto.ses != nullptr)
        rte_cryptodev_sym_session_free(session_.crypto.dev_id, session_.crypto.ses);
    if (session_.sa != nullptr) {
        rte_ipsec_sa_fini(session_.sa);
        rte_free(session_.sa);
    }
}

EspSa::~EspSa() {
    release();
}

}  // namespace weir
