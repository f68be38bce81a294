// config_fields.cc - DPDK devices, host addresses and MAC addresses.
#include "vswitch/config/config_fields.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdio>

#include "common/ip_address.h"

namespace weir {
namespace {

bool is_lower(char c) {
    return c >= 'a' && c <= 'z';
}
bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/// Compares character by character: in `shape`, 'h' stands for a hexadecimal digit and 'o' for an octal
/// digit.
bool matches(std::string_view text, std::string_view shape) {
    const auto fits = [](char c, char want) {
        if (want == 'h')
            return std::isxdigit(static_cast<unsigned char>(c)) != 0;
        return want == 'o' ? c >= '0' && c <= '7' : c == want;
    };
    return text.size() == shape.size() && std::equal(text.begin(), text.end(), shape.begin(), fits);
}

std::string_view device_head(std::string_view device) {
    return device.substr(0, device.find(','));
}

bool is_pci_address(std::string_view head) {
    return matches(head, "hhhh:hh:hh.o") || matches(head, "hh:hh.o");
}

bool is_vdev_name(std::string_view head) {
    const auto allowed = [](char c) { return is_lower(c) || is_digit(c) || c == '_'; };
    return !head.empty() && is_lower(head.front()) && head.find('_') != std::string_view::npos &&
           std::all_of(head.begin(), head.end(), allowed);
}

}  // namespace

bool read_device(ObjectReader& reader, std::string_view key, std::string& out) {
    const auto is_device = [](std::string_view text) {
        return is_pci_address(device_head(text)) || is_vdev_name(device_head(text));
    };
    return read_valid(reader, key, out, is_device,
                      "a PCI address (\"0000:03:00.0\") or a vdev (\"net_tap0,iface=tap0\")",
                      "this cannot be a DPDK device");
}

bool read_host_address(ObjectReader& reader, std::string_view key, std::string& out) {
    constexpr const char* kAllowed = "a host's IPv4 or IPv6 address, such as \"10.0.0.5\" or \"fd00::5\"";
    std::string text;
    if (!reader.read_text(key, text))
        return false;
    const std::optional<IpAddress> address = IpAddress::parse(text);
    if (!address || !address->is_host()) {
        reader.fault(key, kAllowed,
                     address ? "no host has this address on a network" : "this is not an address");
        return false;
    }
    out = std::move(text);
    return true;
}

bool read_mac_address(ObjectReader& reader, std::string_view key, std::optional<MacAddress>& out) {
    std::string text;
    if (!reader.read_text(key, text))
        return false;
    constexpr const char* kAllowed = "a unicast address, such as \"52:54:00:00:00:01\"";
    const std::optional<MacAddress> mac = MacAddress::parse(text);
    if (!mac)
        reader.fault(key, kAllowed, "this is not a MAC address");
    else if (mac->bits == 0)
        reader.fault(key, kAllowed, "the zero address belongs to no host");
    else if ((mac->bits & 1) != 0)
        reader.fault(key, kAllowed, "this is a multicast or broadcast address");
    else
        out = mac;
    return out == mac && mac.has_value();
}

std::string device_identity(std::string_view device) {
    std::string head(device_head(device));
    std::transform(head.begin(), head.end(), head.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return matches(head, "hh:hh.o") ? "0000:" + head : head;
}

std::optional<MacAddress> MacAddress::parse(std::string_view text) {
    if (!matches(text, "hh:hh:hh:hh:hh:hh"))
        return std::nullopt;
    MacAddress mac;
    for (std::size_t octet = 0; octet < 6; ++octet) {
        std::uint64_t value = 0;
        std::from_chars(text.data() + octet * 3, text.data() + octet * 3 + 2, value, 16);
        mac.bits |= value << (8 * octet);
    }
    return mac;
}

std::string MacAddress::to_string() const {
    const auto octet = [this](unsigned i) { return static_cast<unsigned>(bits >> (8 * i) & 0xFF); };
    std::array<char, 18> text{};
    std::snprintf(text.data(), text.size(), "%02x:%02x:%02x:%02x:%02x:%02x", octet(0), octet(1), octet(2),
                  octet(3), octet(4), octet(5));
    return text.data();
}

}  // namespace weir
