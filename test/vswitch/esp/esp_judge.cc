// esp_judge.cc - ESP exactly as in the RFCs.
#include "test/vswitch/esp/esp_judge.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <memory>

namespace weir::testing {
namespace {

using Context = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

std::optional<FrameBytes> gcm(EspAlgorithm algorithm, const EspKeys& keys, const FrameBytes& esp) {
    FrameBytes nonce(keys.auth.begin(), keys.auth.begin() + 4);
    nonce.insert(nonce.end(), esp.begin() + 8, esp.begin() + 16);
    FrameBytes tag(esp.end() - 16, esp.end());
    const int bytes = static_cast<int>(esp.size()) - 32;
    FrameBytes plain(static_cast<std::size_t>(bytes));
    int written = 0;
    Context context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
    const EVP_CIPHER* cipher = cipher_key_bytes(algorithm) == 16 ? EVP_aes_128_gcm() : EVP_aes_256_gcm();
    EVP_DecryptInit_ex(context.get(), cipher, nullptr, keys.cipher.data(), nonce.data());
    EVP_DecryptUpdate(context.get(), nullptr, &written, esp.data(), 8);
    EVP_DecryptUpdate(context.get(), plain.data(), &written, esp.data() + 16, bytes);
    EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, 16, tag.data());
    if (EVP_DecryptFinal_ex(context.get(), plain.data() + written, &written) != 1)
        return {};
    return plain;
}

std::optional<FrameBytes> cbc(EspAlgorithm algorithm, const EspKeys& keys, const FrameBytes& esp) {
    FrameBytes mac(EVP_MAX_MD_SIZE);
    unsigned mac_bytes = 0;
    HMAC(EVP_sha256(), keys.auth.data(), static_cast<int>(keys.auth.size()), esp.data(), esp.size() - 16,
         mac.data(), &mac_bytes);
    if (!std::equal(esp.end() - 16, esp.end(), mac.begin()))
        return {};
    const int bytes = static_cast<int>(esp.size()) - 40;
    FrameBytes plain(static_cast<std::size_t>(bytes) + 16);
    int written = 0;
    Context context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
    const EVP_CIPHER* cipher = cipher_key_bytes(algorithm) == 16 ? EVP_aes_128_cbc() : EVP_aes_256_cbc();
    EVP_DecryptInit_ex(context.get(), cipher, nullptr, keys.cipher.data(), esp.data() + 8);
    EVP_CIPHER_CTX_set_padding(context.get(), 0);
    if (EVP_DecryptUpdate(context.get(), plain.data(), &written, esp.data() + 24, bytes) != 1 ||
        written != bytes)
        return {};
    plain.resize(static_cast<std::size_t>(bytes));
    return plain;
}

}  // namespace

std::optional<OpenedEsp> open_esp(EspAlgorithm algorithm, const EspKeys& keys, const FrameBytes& esp) {
    auto plain = is_gcm(algorithm) ? gcm(algorithm, keys, esp) : cbc(algorithm, keys, esp);
    if (!plain || plain->size() < 2)
        return {};
    const std::size_t padding = plain->at(plain->size() - 2);
    if (padding + 2 > plain->size())
        return {};
    const std::size_t bytes = plain->size() - 2 - padding;
    for (std::size_t i = 0; i < padding; ++i)
        if (plain->at(bytes + i) != i + 1)
            return {};
    OpenedEsp opened{read32(esp, 0), read32(esp, 4), plain->back(), *plain};
    opened.packet.resize(bytes);
    return opened;
}

}  // namespace weir::testing
