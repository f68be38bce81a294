// text.h - what the parsers of text protocols share: lines, words, numbers, hashes of keys.
// Threads: any (pure). Nothing reads beyond its span.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cost_functions/protocol.h"

namespace weir::text {

inline constexpr std::size_t kNowhere = SIZE_MAX;

/// Where the first line ends, its newline included; 0 when it does not.
inline std::size_t line_bytes(Bytes bytes) {
    const void* const end = bytes.empty() ? nullptr : std::memchr(bytes.data(), '\n', bytes.size());
    return end == nullptr
               ? 0
               : static_cast<std::size_t>(static_cast<const std::uint8_t*>(end) - bytes.data()) + 1;
}
/// A line without its newline and carriage return.
inline Bytes without_end(Bytes line) {
    const std::size_t size = line.size() - 1;
    return line.first(size != 0 && line[size - 1] == '\r' ? size - 1 : size);
}

constexpr bool is_letter(std::uint8_t c) {
    return static_cast<std::uint8_t>((c | 0x20) - 'a') < 26;
}
constexpr bool is_digit(std::uint8_t c) {
    return static_cast<std::uint8_t>(c - '0') < 10;
}
/// No control characters; bytes of UTF-8 are text.
inline bool is_text(Bytes bytes) {
    for (const std::uint8_t c : bytes)
        if (c < ' ' || c == 0x7f)
            return false;
    return true;
}

/// Takes words from the begin of a line, one after the other.
class Words {
  public:
    explicit Words(Bytes line) : line_(line) {}
    /// Empty at the end.
    Bytes next() {
        while (at_ < line_.size() && line_[at_] == ' ')
            ++at_;
        const std::size_t begin = at_;
        while (at_ < line_.size() && line_[at_] != ' ')
            ++at_;
        return line_.subspan(begin, at_ - begin);
    }

  private:
    Bytes line_;
    std::size_t at_ = 0;
};

/// A word of up to eight bytes as a number, to compare with word("..."); 0 for longer ones.
constexpr std::uint64_t word(std::string_view text) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < text.size(); ++i)
        value |= std::uint64_t{static_cast<std::uint8_t>(text[i])} << 8 * i;
    return text.size() > 8 ? 0 : value;
}
inline std::uint64_t word(Bytes bytes) {
    if (bytes.size() > 8)
        return 0;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i)
        value |= std::uint64_t{bytes[i]} << 8 * i;
    return value;
}
inline bool is(Bytes bytes, std::string_view text) {
    return bytes.size() == text.size() && std::memcmp(bytes.data(), text.data(), text.size()) == 0;
}

/// Digits and nothing else, at most ten. @return false: it is no such number
inline bool number(Bytes digits, std::uint64_t& value) {
    if (digits.empty() || digits.size() > 10)
        return false;
    value = 0;
    for (const std::uint8_t digit : digits) {
        if (!is_digit(digit))
            return false;
        value = value * 10 + (digit - '0');
    }
    return true;
}

/// Says whether two keys are the same, not what they are. Never 0.
inline std::uint64_t hash(Bytes key) {
    constexpr std::uint64_t kOdd = 0x9E37'79B9'7F4A'7C15;
    std::uint64_t value = key.size() * kOdd;
    const auto mix = [&](std::uint64_t part) {
        value = (value ^ part) * kOdd;
        value ^= value >> 32;
    };
    std::size_t at = 0;
    for (; at + 8 <= key.size(); at += 8) {
        std::uint64_t part;
        std::memcpy(&part, key.data() + at, sizeof part);
        mix(part);
    }
    if (at < key.size())
        mix(word(key.subspan(at)));
    mix(0);
    return value | 1;
}

}  // namespace weir::text
