// digest.cc - libsodium's.
#include "ctrl/billing/digest.h"

#include <sodium/crypto_hash_sha256.h>
#include <sodium/utils.h>

namespace weir {

static_assert(sizeof(Sha256) == crypto_hash_sha256_BYTES);

Sha256 sha256(std::string_view text) {
    Sha256 hash;
    crypto_hash_sha256(hash.data(), reinterpret_cast<const unsigned char*>(text.data()), text.size());
    return hash;
}

std::string to_hex(const Sha256& hash) {
    std::string text(2 * hash.size() + 1, '\0');  // and the end that it writes
    sodium_bin2hex(text.data(), text.size(), hash.data(), hash.size());
    text.pop_back();
    return text;
}

}  // namespace weir
