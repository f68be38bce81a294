// token.h - tokens of the HTTP API: secrets of clients, of which the controller keeps hashes alone.
// Source: RFC 6750; FIPS 180-4. Threads: TokenFile one owner; all others any.
//
// A token is random, of 256 bits: a hash without salt and rounds gives nothing away. The file has a line for
// each: name, role and the hash. It is read again when it changes, so that a removed line, or file, ends a
// token.
#pragma once

#include <array>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

enum class Role : std::uint8_t { kView, kOperate };
[[nodiscard]] const char* name_of(Role role);
[[nodiscard]] std::optional<Role> role_of(std::string_view name);
/// A role has all that the role `needed` has.
[[nodiscard]] inline bool includes(Role role, Role needed) {
    return role >= needed;
}

struct Token {
    std::string name{};
    Role role = Role::kView;
    std::array<std::uint8_t, 32> hash{};  ///< SHA-256 of the secret

    /// "grafana view 9f86d081..."
    [[nodiscard]] std::string to_line() const;
    bool operator==(const Token&) const = default;
};

struct NewToken {
    std::string secret;
    Token token;
};

/// @throws HostError: no source of random bytes
[[nodiscard]] NewToken make_token(const std::string& name, Role role);
[[nodiscard]] std::array<std::uint8_t, 32> hash_of(std::string_view secret);

class TokenFile {
  public:
    /// @throws HostError: unreadable, of other users too, or with a line that is no token
    explicit TokenFile(std::string path);
    /// Reads the file again if it changed. Without a file that can be read there are no tokens; of one with a
    /// line that is none, those stay that have their line still, and none is new. @return the fault, when it
    /// is another one; empty: none
    std::string refresh();
    /// Of the file as it is now; empty: none.
    [[nodiscard]] const std::string& fault() const { return fault_; }
    /// The comparison takes the same time for every secret. @return null: no token has it
    [[nodiscard]] const Token* find(std::string_view secret) const;
    [[nodiscard]] bool has(const Token& token) const;
    [[nodiscard]] std::size_t size() const { return tokens_.size(); }

  private:
    /// That of the file: another one means other lines.
    struct Version {
        std::int64_t seconds = 0;
        std::int64_t nanos = 0;
        std::uint64_t file = 0;
        std::int64_t bytes = -1;
        bool operator==(const Version&) const = default;
    };
    [[nodiscard]] Version version() const;
    struct Lines {
        std::vector<Token> tokens{};
        std::string fault{};  ///< of the first line that is no token
    };
    /// @throws HostError: the file cannot be read
    [[nodiscard]] Lines read() const;

    std::string path_;
    Version version_;
    std::vector<Token> tokens_;
    std::string fault_;
};

}  // namespace weir
