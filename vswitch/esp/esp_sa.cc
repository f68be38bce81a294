// esp_sa.cc - translates keys to cryptodev transforms and, inbound, rte_ipsec parameters.
#include "vswitch/esp/esp_sa.h"

#include <rte_cryptodev.h>
#include <rte_errno.h>
#include <rte_malloc.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "common/error.h"

namespace weir {
namespace {

constexpr std::uint8_t kIpInIp = 4;
constexpr std::uint8_t kIpv6InIp = 41;

std::uint16_t key_bytes(EspAlgorithm algorithm) {
    return static_cast<std::uint16_t>(cipher_key_bytes(algorithm));
}

rte_crypto_sym_xform gcm(const EspKeys& keys, EspAlgorithm algorithm, bool outbound) {
    rte_crypto_sym_xform transform{};
    transform.type = RTE_CRYPTO_SYM_XFORM_AEAD;
    transform.aead.op = outbound ? RTE_CRYPTO_AEAD_OP_ENCRYPT : RTE_CRYPTO_AEAD_OP_DECRYPT;
    transform.aead.algo = RTE_CRYPTO_AEAD_AES_GCM;
    transform.aead.key = {keys.cipher.data(), key_bytes(algorithm)};
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
    transform.cipher.key = {keys.cipher.data(), key_bytes(algorithm)};
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
