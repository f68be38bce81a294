// ip_address.cc - parsers of addresses and networks. IPv6 groups are read from the left; those behind a "::"
// are then moved to the end.
#include "common/ip_address.h"

#include <algorithm>
#include <charconv>

namespace weir {
namespace {

constexpr std::size_t kV4Bytes = 4;
constexpr std::size_t kV6Bytes = 16;

int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

bool parse_v4(std::string_view text, std::uint8_t* out) {
    for (std::size_t i = 0; i < kV4Bytes; ++i) {
        const std::size_t end = i + 1 < kV4Bytes ? text.find('.') : text.size();
        if (end == std::string_view::npos || end == 0 || end > 3 || (end > 1 && text.front() == '0'))
            return false;
        unsigned value = 0;
        for (const char c : text.substr(0, end)) {
            if (c < '0' || c > '9')
                return false;
            value = value * 10 + static_cast<unsigned>(c - '0');
        }
        if (value > 255)
            return false;
        out[i] = static_cast<std::uint8_t>(value);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return true;
}

bool parse_group(std::string_view text, std::uint8_t* out) {
    if (text.empty() || text.size() > 4)
        return false;
    unsigned value = 0;
    for (const char c : text) {
        const int digit = hex_digit(c);
        if (digit < 0)
            return false;
        value = value << 4 | static_cast<unsigned>(digit);
    }
    out[0] = static_cast<std::uint8_t>(value >> 8);
    out[1] = static_cast<std::uint8_t>(value);
    return true;
}

bool parse_v6(std::string_view text, std::array<std::uint8_t, kV6Bytes>& out) {
    constexpr std::size_t kNone = kV6Bytes + 1;
    std::size_t at = 0;
    std::size_t gap = kNone;  // where the "::" stands
    if (text.starts_with("::")) {
        gap = 0;
        text.remove_prefix(2);
    }
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(':'), text.size());
        const std::string_view group = text.substr(0, end);
        if (end == text.size() && group.find('.') != std::string_view::npos) {
            if (at + kV4Bytes > kV6Bytes || !parse_v4(group, &out[at]))
                return false;
            at += kV4Bytes;
            break;
        }
        if (at + 2 > kV6Bytes || !parse_group(group, &out[at]))
            return false;
        at += 2;
        text.remove_prefix(end);
        if (text.empty())
            break;
        text.remove_prefix(1);
        if (text.starts_with(':')) {
            if (gap != kNone)
                return false;
            gap = at;
            text.remove_prefix(1);
        } else if (text.empty()) {
            return false;
        }
    }
    if (gap == kNone)
        return at == kV6Bytes;
    std::rotate(out.begin() + static_cast<std::ptrdiff_t>(gap), out.begin() + static_cast<std::ptrdiff_t>(at),
                out.end());
    return at < kV6Bytes;
}

constexpr unsigned kByteBits = 8;

std::uint8_t mask_of(unsigned bits, unsigned byte) {
    const unsigned before = byte * kByteBits;
    const unsigned set = std::min(bits > before ? bits - before : 0, kByteBits);
    return static_cast<std::uint8_t>(0xFF00U >> set);
}

}  // namespace

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
    IpAddress address;
    address.v6 = text.find(':') != std::string_view::npos;
    const bool good = address.v6 ? parse_v6(text, address.bytes) : parse_v4(text, address.bytes.data());
    return good ? std::optional(address) : std::nullopt;
}

bool IpAddress::is_host() const {
    if (!v6)
        return bytes[0] != 0 && bytes[0] != 127 && (bytes[0] & 0xF0) != 0xE0 &&
               !std::all_of(bytes.begin(), bytes.begin() + kV4Bytes, [](std::uint8_t b) { return b == 255; });
    const auto zeros = std::find_if(bytes.begin(), bytes.end(), [](std::uint8_t b) { return b != 0; });
    const auto leading = zeros - bytes.begin();
    const bool loopback = leading == 15 && bytes[15] == 1;
    const bool mapped = leading == 10 && bytes[10] == 255 && bytes[11] == 255;
    return bytes[0] != 255 && leading != 16 && !loopback && !mapped;
}

std::optional<IpNetwork> IpNetwork::parse(std::string_view text) {
    const std::size_t slash = text.find('/');
    const std::optional<IpAddress> address = IpAddress::parse(text.substr(0, slash));
    if (!address)
        return std::nullopt;
    const unsigned most = address->v6 ? 128 : 32;
    IpNetwork network{*address, most};
    if (slash != std::string_view::npos) {
        const std::string_view digits = text.substr(slash + 1);
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), network.bits);
        if (error != std::errc() || end != digits.data() + digits.size() || network.bits > most ||
            (digits.size() > 1 && digits.front() == '0'))
            return std::nullopt;
    }
    for (unsigned byte = 0; byte < address->bytes.size(); ++byte)
        if ((address->bytes[byte] & ~mask_of(network.bits, byte)) != 0)
            return std::nullopt;
    return network;
}

bool IpNetwork::contains(const IpAddress& address) const {
    if (address.v6 != base.v6)
        return false;
    for (unsigned byte = 0; byte * kByteBits < bits; ++byte)
        if (((address.bytes[byte] ^ base.bytes[byte]) & mask_of(bits, byte)) != 0)
            return false;
    return true;
}

}  // namespace weir
