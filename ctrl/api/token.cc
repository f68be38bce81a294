// token.cc - random tokens, their hashes, and the file of these.
#include "ctrl/api/token.h"

#include <sodium.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "common/config/field_kinds.h"
#include "common/error.h"
#include "common/private_file.h"

namespace weir {
namespace {

constexpr std::size_t kTokensMax = 1'000;
constexpr std::size_t kSecretBytes = 32;

void start_sodium() {
    if (sodium_init() < 0)
        throw HostError("libsodium does not start; it has no source of random bytes");
}

Token parse_line(const std::string& line, const std::string& place) {
    std::istringstream words(line);
    std::string name;
    std::string role;
    std::string hash;
    std::string rest;
    words >> name >> role >> hash >> rest;
    Token token{.name = name, .role = role_of(role).value_or(Role::kView)};
    std::size_t bytes = 0;
    const char* end = nullptr;
    const bool is_hash = sodium_hex2bin(token.hash.data(), token.hash.size(), hash.data(), hash.size(),
                                        nullptr, &bytes, &end) == 0 &&
                         bytes == token.hash.size() && end == hash.data() + hash.size();
    if (!is_name(name) || !role_of(role) || !is_hash || !rest.empty())
        throw HostError(place +
                        ": a line has a name, a role (view or operate) and 64 hexadecimal digits; "
                        "`weirctl token create NAME --role view` prints one");
    return token;
}

}  // namespace

const char* name_of(Role role) {
    return role == Role::kOperate ? "operate" : "view";
}

std::optional<Role> role_of(std::string_view name) {
    if (name == "view")
        return Role::kView;
    if (name == "operate")
        return Role::kOperate;
    return {};
}

std::string Token::to_line() const {
    std::string digits(hash.size() * 2 + 1, '\0');
    sodium_bin2hex(digits.data(), digits.size(), hash.data(), hash.size());
    digits.pop_back();
    return name + ' ' + name_of(role) + ' ' + digits;
}

NewToken make_token(const std::string& name, Role role) {
    start_sodium();
    constexpr int kVariant = sodium_base64_VARIANT_URLSAFE_NO_PADDING;
    std::array<std::uint8_t, kSecretBytes> random{};
    randombytes_buf(random.data(), random.size());
    std::string text(sodium_base64_encoded_len(random.size(), kVariant), '\0');
    sodium_bin2base64(text.data(), text.size(), random.data(), random.size(), kVariant);
    text.pop_back();
    NewToken made{"weir_" + text, {.name = name, .role = role}};
    made.token.hash = hash_of(made.secret);
    return made;
}

std::array<std::uint8_t, 32> hash_of(std::string_view secret) {
    std::array<std::uint8_t, crypto_hash_sha256_BYTES> hash{};
    crypto_hash_sha256(hash.data(), reinterpret_cast<const unsigned char*>(secret.data()), secret.size());
    return hash;
}

TokenFile::TokenFile(std::string path) : path_(std::move(path)) {
    start_sodium();
    version_ = version();
    Lines lines = read();
    if (!lines.fault.empty())
        throw HostError(lines.fault);
    tokens_ = std::move(lines.tokens);
}

std::string TokenFile::refresh() {
    const Version now = version();
    if (now == version_)
        return {};
    version_ = now;
    fault_.clear();
    try {
        Lines lines = read();
        fault_ = std::move(lines.fault);
        if (!fault_.empty())
            std::erase_if(lines.tokens, [this](const Token& token) { return !has(token); });
        tokens_ = std::move(lines.tokens);
    } catch (const HostError& error) {
        tokens_.clear();
        fault_ = error.what();
    }
    return fault_;
}

const Token* TokenFile::find(std::string_view secret) const {
    const std::array<std::uint8_t, 32> hash = hash_of(secret);
    const Token* found = nullptr;
    for (const Token& token : tokens_)
        if (sodium_memcmp(token.hash.data(), hash.data(), hash.size()) == 0)
            found = &token;
    return found;
}

bool TokenFile::has(const Token& token) const {
    return std::ranges::find(tokens_, token) != tokens_.end();
}

TokenFile::Version TokenFile::version() const {
    struct stat state {};
    if (::stat(path_.c_str(), &state) != 0)
        return {};
    return {state.st_ctim.tv_sec, state.st_ctim.tv_nsec, state.st_ino, state.st_size};
}

TokenFile::Lines TokenFile::read() const {
    std::istringstream text(read_private_file(path_, "api.token_file"));
    Lines lines;
    std::set<std::string> names;
    std::size_t number = 0;
    for (std::string line; std::getline(text, line);) {
        const std::string place = "api.token_file: " + path_ + " line " + std::to_string(++number);
        const std::size_t first = line.find_first_not_of(" \t\r");
        if (first == std::string::npos || line[first] == '#')
            continue;
        try {
            Token token = parse_line(line, place);
            if (!names.insert(token.name).second)
                throw HostError(place + ": there is a token " + token.name + " already; give each a name");
            if (lines.tokens.size() == kTokensMax)
                throw HostError(place + ": at most " + std::to_string(kTokensMax) + " tokens");
            lines.tokens.push_back(std::move(token));
        } catch (const HostError& error) {
            if (lines.fault.empty())
                lines.fault = error.what();
        }
    }
    return lines;
}

}  // namespace weir
