// text.h - parts shared by the parsers of text protocols: lines, words, numbers, hashes of keys.
// Units: bytes. Threads: any (pure). No function reads beyond its span.
//
// Most lines are short. Marks holds the blanks and newlines of the first 64 bytes as bits, found 16 bytes at
// a time; for "get key\r\n" these are blanks = 1 << 3 and newlines = 1 << 8.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "common/types.h"
#include "cost_functions/tracker/protocol.h"

namespace weir::text {

static_assert(std::endian::native == std::endian::little, "words are compared as little-endian numbers");

template <class T>
T load(const std::uint8_t* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

/// Bit i is set when byte i is a blank, or a newline.
struct Marks {
    static constexpr std::size_t kBytes = 64;
    std::uint64_t blanks = 0;
    std::uint64_t newlines = 0;

    /// Bytes of the first line, its newline included; 0 when it is longer than 64 bytes.
    [[nodiscard]] std::size_t line() const {
        return newlines == 0 ? 0 : static_cast<std::size_t>(std::countr_zero(newlines)) + 1;
    }
    /// Blanks of the first line; none when the line is longer than 64 bytes or has two blanks side by side.
    [[nodiscard]] std::uint64_t single_blanks() const {
        const std::uint64_t of_line = newlines == 0 ? 0 : blanks & (newlines ^ (newlines - 1));
        return (of_line & of_line >> 1) == 0 ? of_line : 0;
    }
};

/// Position of the third bit when exactly three are set; else 0.
inline std::size_t third(std::uint64_t bits) {
    const std::uint64_t two = bits & (bits - 1);
    const std::uint64_t one = two & (two - 1);
    return one == 0 || (one & (one - 1)) != 0 ? 0 : static_cast<std::size_t>(std::countr_zero(one));
}

/// Bit i is set when byte i of the eight equals `c`.
constexpr std::uint64_t equal_bytes(std::uint64_t bytes, std::uint8_t c) {
    constexpr std::uint64_t kOnes = 0x0101'0101'0101'0101;
    constexpr std::uint64_t kLow = kOnes * 0x7f;
    const std::uint64_t differ = bytes ^ kOnes * c;
    const std::uint64_t equal = ~(((differ & kLow) + kLow) | differ | kLow);
    return (equal >> 7) * 0x0102'0408'1020'4080 >> 56;
}

/// Adds the marks of kBytes bytes, 8 or 16, that start at `where`.
template <std::size_t kBytes>
void mark(Marks& marks, const std::uint8_t* from, std::size_t where) {
#ifdef __SSE2__
    if constexpr (kBytes == 16) {
        const __m128i part = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + where));
        const auto equal = [&](char c) {
            return static_cast<std::uint16_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(part, _mm_set1_epi8(c))));
        };
        marks.blanks |= std::uint64_t{equal(' ')} << where;
        marks.newlines |= std::uint64_t{equal('\n')} << where;
        return;
    }
#endif
    for (std::size_t at = where; at < where + kBytes; at += 8) {
        const auto part = load<std::uint64_t>(from + at);
        marks.blanks |= equal_bytes(part, ' ') << at;
        marks.newlines |= equal_bytes(part, '\n') << at;
    }
}

/// Marks of at least the first line. The last bytes are marked in overlapping groups instead of one by one.
inline Marks marks(Bytes bytes) {
    Marks result;
    const std::uint8_t* const from = bytes.data();
    const std::size_t size = std::min(bytes.size(), Marks::kBytes);
    std::size_t at = 0;
    for (; at + 16 <= size; at += 16) {
        mark<16>(result, from, at);
        if (result.newlines != 0)
            return result;
    }
    if (at == size)
        return result;
    if (size >= 16) {
        mark<16>(result, from, size - 16);
    } else if (size >= 8) {
        mark<8>(result, from, 0);
        mark<8>(result, from, size - 8);
    } else {
        for (; at < size; ++at) {
            result.blanks |= std::uint64_t{from[at] == ' '} << at;
            result.newlines |= std::uint64_t{from[at] == '\n'} << at;
        }
    }
    return result;
}

/// Bytes of the first line, its newline included; 0 when it does not end within `bytes`.
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

constexpr bool is_alpha(std::uint8_t c) {
    return static_cast<std::uint8_t>((c | 0x20) - 'a') < 26;
}
constexpr bool is_digit(std::uint8_t c) {
    return static_cast<std::uint8_t>(c - '0') < 10;
}
/// Has no control characters. Bytes of UTF-8 are text.
inline bool is_text(Bytes bytes) {
    return std::ranges::none_of(bytes, [](std::uint8_t c) { return c < ' ' || c == 0x7f; });
}

/// The text of a line that has not ended: without a last carriage return, which may belong to the line's end.
inline Bytes so_far(Bytes bytes) {
    return !bytes.empty() && bytes.back() == '\r' ? bytes.first(bytes.size() - 1) : bytes;
}

/// Takes words from the start of a line, one after the other.
class Words {
  public:
    explicit Words(Bytes line) : line_(line) {}
    /// The next word; empty at the end of the line.
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

/// A word of at most eight bytes as a number, for switch statements; 0 for longer words.
constexpr std::uint64_t word(std::string_view text) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < text.size() && i < 8; ++i)
        value |= std::uint64_t{static_cast<std::uint8_t>(text[i])} << 8 * i;
    return text.size() > 8 ? 0 : value;
}
inline std::uint64_t word(Bytes bytes) {
    const std::uint8_t* const at = bytes.data();
    const std::size_t size = bytes.size();
    if (size >= 4) {
        const std::uint64_t end = load<std::uint32_t>(at + size - 4);
        return size > 8 ? 0 : load<std::uint32_t>(at) | end << 8 * (size - 4);
    }
    if (size < 2)
        return size == 0 ? 0 : at[0];
    return load<std::uint16_t>(at) | std::uint64_t{at[size - 1]} << 8 * (size - 1);
}
inline bool is(Bytes bytes, std::string_view text) {
    return bytes.size() == text.size() && std::memcmp(bytes.data(), text.data(), text.size()) == 0;
}

/// Reads a number of one to ten digits. @return false when there is any other character
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

/// Hash of a key, to compare keys without storing them. Always odd, so never 0.
inline std::uint64_t hash(Bytes key) {
    constexpr std::uint64_t kOdd = 0x9E37'79B9'7F4A'7C15;
    const auto fold = [](std::uint64_t a, std::uint64_t b) {
        const Wide product = Wide{a} * b;
        return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
    };
    const std::size_t size = key.size();
    std::uint64_t value = size * kOdd;
    std::uint64_t last = 0;
    if (size < 8) {
        last = word(key);
    } else {
        for (std::size_t at = 0; at + 8 < size; at += 8)
            value = fold(value ^ load<std::uint64_t>(key.data() + at), kOdd);
        last = load<std::uint64_t>(key.data() + size - 8);
    }
    return fold(value ^ last, kOdd + 2) | 1;
}

}  // namespace weir::text
