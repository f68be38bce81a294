// ip_address.cc - parsers of addresses, by inet_pton(), and of networks; prefixes as masks of bytes.
#include "common/ip_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

namespace weir {
namespace {

constexpr std::size_t kV4Bytes = 4;
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
    const std::string whole(text);
    const bool has_null = text.find('\0') != std::string_view::npos;  // inet_pton() would end there
    const int family = address.v6 ? AF_INET6 : AF_INET;
    const bool good = !has_null && ::inet_pton(family, whole.c_str(), address.bytes.data()) == 1;
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

std::string IpAddress::to_string() const {
    std::array<char, INET6_ADDRSTRLEN> text{};
    ::inet_ntop(v6 ? AF_INET6 : AF_INET, bytes.data(), text.data(), text.size());
    return text.data();
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

IpAddress IpNetwork::last() const {
    IpAddress address = base;
    const unsigned bytes = base.v6 ? 16 : kV4Bytes;
    for (unsigned byte = 0; byte < bytes; ++byte)
        address.bytes[byte] |= static_cast<std::uint8_t>(~mask_of(bits, byte));
    return address;
}

std::string IpNetwork::to_string() const {
    const bool alone = bits == (base.v6 ? 128U : 32U);
    return base.to_string() + (alone ? "" : "/" + std::to_string(bits));
}

}  // namespace weir
