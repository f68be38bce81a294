// ip_network.cc - parsing and matching, bit by bit where they matter.
#include "common/ip_network.h"

#include <algorithm>
#include <charconv>

namespace weir {
namespace {

constexpr unsigned kByteBits = 8;

std::uint8_t mask_of(unsigned bits, unsigned byte) {
    const unsigned before = byte * kByteBits;
    const unsigned set = std::min(bits > before ? bits - before : 0, kByteBits);
    return static_cast<std::uint8_t>(0xFF00U >> set);
}

}  // namespace

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
