// config_tunnel.cc - tunnels to other switches, and `encrypt` of vNICs: read and checked.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "common/config/config_text.h"
#include "common/ip_address.h"
#include "vswitch/base/limits.h"
#include "vswitch/config/config_fields.h"

namespace weir {
namespace {

using limits::kEthernetHeaderBytes;
using limits::kVlanTagBytes;
using nlohmann::json;

constexpr Range kSpiRange{4096, 0xFFFFF000};
constexpr Range kRekeyRange{kNanosPerSec, 86'400 * kNanosPerSec};
constexpr std::uint32_t kSpiStep = 4096;
constexpr std::size_t kKeyDigits = 64;
constexpr std::uint32_t kMtuMin = 68;
constexpr std::array kDevices{Word<std::string_view>{"auto", "auto"},
                              Word<std::string_view>{"crypto_openssl", "crypto_openssl"},
                              Word<std::string_view>{"crypto_aesni_gcm", "crypto_aesni_gcm"},
                              Word<std::string_view>{"crypto_aesni_mb", "crypto_aesni_mb"}};

bool is_v6(const TunnelConfig& tunnel) {
    return tunnel.local.find(':') != std::string::npos;
}

void read_ends(ObjectReader& reader, TunnelConfig& tunnel) {
    constexpr const char* kAddress = "an IPv4 or IPv6 address on the wire, such as \"192.0.2.1\"";
    require(reader, "local", kAddress);
    require(reader, "remote", kAddress);
    bool both = read_host_address(reader, "local", tunnel.local);
    both = read_host_address(reader, "remote", tunnel.remote) && both;
    if (both && is_v6(tunnel) != (tunnel.remote.find(':') != std::string::npos))
        reader.fault("remote", "an address of the family of \"local\"", "one end is IPv4, the other IPv6");
    if (both && IpAddress::parse(tunnel.local) == IpAddress::parse(tunnel.remote))
        reader.fault("remote", "the other end's address", "this is the same end");
    std::optional<MacAddress> remote_mac;
    require(reader, "remote_mac", "the other end's MAC address, or that of the router to it");
    read_mac_address(reader, "remote_mac", remote_mac);
    tunnel.remote_mac = remote_mac.value_or(MacAddress{});
    read_mac_address(reader, "local_mac", tunnel.local_mac);
}

void read_spi(ObjectReader& reader, std::string_view key, std::uint32_t& out) {
    constexpr const char* kAllowed =
        "a multiple of 4096, such as 4096, 8192; the other end has it the other way";
    require(reader, key, kAllowed);
    if (reader.read_integer(key, out, kSpiRange) && out % kSpiStep != 0)
        reader.fault(key, kAllowed, "the low 12 bits distinguish sessions and workers");
}

void read_key(ObjectReader& reader, TunnelConfig& tunnel) {
    const bool in_file = reader.has("key_file");
    if (reader.has("key") == in_file)
        reader.fault(in_file ? "key_file" : "key", "a key or a key_file",
                     in_file ? "there is a key too" : "both ends need the same secret");
    const auto is_key = [](std::string_view text) {
        return text.size() == kKeyDigits &&
               std::ranges::all_of(text, [](unsigned char c) { return std::isxdigit(c) != 0; });
    };
    read_valid(reader, "key", tunnel.key, is_key, "64 hexadecimal digits: openssl rand -hex 32",
               "this is no key of 32 bytes");
    read_file_path(reader, "key_file", tunnel.key_file);
}

void read_networks(ObjectReader& reader, const std::vector<TunnelConfig>& others, TunnelConfig& tunnel) {
    constexpr const char* kAllowed =
        "a list such as [\"10.1.2.0/24\", \"fd00:2::/64\"], without bits behind the prefix";
    require(reader, "networks", kAllowed);
    const json* list = reader.take("networks");
    if (list == nullptr)
        return;
    std::size_t before = 0;
    for (const TunnelConfig& other : others)
        before += other.networks.size();
    if (!list->is_array() || list->empty() || list->size() + before > limits::kTunnelNetworksMax) {
        reader.fault("networks", kAllowed,
                     list->is_array() && !list->empty()
                         ? "with those of the other tunnels there are more than " +
                               std::to_string(limits::kTunnelNetworksMax)
                         : "this is no list of networks");
        return;
    }
    for (const json& each : *list) {
        const std::optional<IpNetwork> network =
            each.is_string() ? IpNetwork::parse(each.get<std::string>()) : std::nullopt;
        if (!network) {
            reader.fault("networks", kAllowed, show_value(each) + " is not a network");
            continue;
        }
        const auto same = [&](const std::string& text) { return IpNetwork::parse(text) == network; };
        for (const TunnelConfig& other : others)
            if (std::ranges::any_of(other.networks, same))
                reader.fault("networks", "each network in one tunnel",
                             show_value(each) + " is behind tunnel \"" + other.name + "\" already");
        tunnel.networks.push_back(each.get<std::string>());
    }
}

void check_unique(ObjectReader& reader, const TunnelConfig& tunnel, const std::vector<TunnelConfig>& others) {
    if (tunnel.spi_in != 0 && tunnel.spi_in == tunnel.spi_out)
        reader.fault("spi_out", "another SPI than spi_in", "each direction has keys of its own");
    for (const TunnelConfig& other : others) {
        const std::string owner = "tunnel \"" + other.name + "\" has it already";
        if (!tunnel.name.empty() && other.name == tunnel.name)
            reader.fault("name", "a name of its own", owner);
        if (tunnel.spi_in != 0 && other.spi_in == tunnel.spi_in)
            reader.fault("spi_in", "an SPI of its own", owner);
        if (tunnel.spi_out != 0 && other.spi_out == tunnel.spi_out && other.remote == tunnel.remote)
            reader.fault("spi_out", "an SPI of its own towards this end", owner);
    }
}

TunnelConfig read_tunnel(ObjectReader& reader, const UplinkConfig& uplink,
                         const std::vector<TunnelConfig>& others) {
    TunnelConfig tunnel;
    require(reader, "name", "a name, such as \"to-h2\"");
    read_name(reader, "name", tunnel.name);
    read_ends(reader, tunnel);
    read_spi(reader, "spi_out", tunnel.spi_out);
    read_spi(reader, "spi_in", tunnel.spi_in);
    const EspAlgorithmText* algorithm = kEspAlgorithmTexts.data();
    reader.read_entry<EspAlgorithmText>("algorithm", algorithm, kEspAlgorithmTexts);
    tunnel.algorithm = static_cast<EspAlgorithm>(algorithm - kEspAlgorithmTexts.data());
    read_key(reader, tunnel);
    reader.read_word<std::string_view>("device", tunnel.device, kDevices);
    if (tunnel.device == "crypto_aesni_gcm" && !is_gcm(tunnel.algorithm))
        reader.fault("device", "auto, crypto_openssl or crypto_aesni_mb", "this device does AES-GCM alone");
    read_networks(reader, others, tunnel);
    tunnel.cost = algorithm->cost;
    if (reader.read_text("cost", tunnel.cost) && tunnel.cost.empty())
        reader.fault("cost", "a file, or the name of a table that comes with the switch", "this is neither");
    reader.read_quantity("rekey", Quantity::kDuration, tunnel.rekey, kRekeyRange);
    check_unique(reader, tunnel, others);
    if (esp_frame_max(tunnel.algorithm, is_v6(tunnel), uplink.mtu) <
        kEthernetHeaderBytes + kVlanTagBytes + kMtuMin)
        reader.fault("algorithm", "a larger mtu of the uplink", "no packet would fit through the tunnel");
    return tunnel;
}

/// Length of the largest IP packet that fits through every tunnel. @param tags that its frame has
std::uint32_t carried_mtu(const SwitchConfig& base, std::uint32_t tags) {
    std::uint32_t frame = kEspFrameMax;
    for (const TunnelConfig& tunnel : base.tunnels)
        frame = std::min(frame, esp_frame_max(tunnel.algorithm, is_v6(tunnel), base.uplink.mtu));
    const std::uint32_t around = kEthernetHeaderBytes + tags * kVlanTagBytes;
    return frame > around ? frame - around : 0;
}

}  // namespace

void read_tunnels(ObjectReader& root, const UplinkConfig& uplink, std::vector<TunnelConfig>& out,
                  Faults& faults) {
    const auto read = [&](ObjectReader& entry, const std::string& /*path*/) {
        out.push_back(read_tunnel(entry, uplink, out));
    };
    read_objects(root, "tunnels", limits::kTunnelsMax, faults, read, " tunnels");
    if (!out.empty() && uplink.device.empty())
        root.fault("tunnels", "an \"uplink\"", "tunnels lead over the wire, and there is none");
}

void read_encryption(ObjectReader& vnic, VnicConfig& out, const SwitchConfig& base) {
    vnic.read_flag("encrypt", out.encrypt);
    vnic.read_limit("encrypt_limit", Quantity::kTokenRate, out.encrypt_limit, kTokensRange);
    vnic.read_quantity("encrypt_reservation", Quantity::kTokenRate, out.encrypt_reservation,
                       {0, kTokensRange.max});
    if (out.encrypt_limit && !out.encrypt)
        vnic.fault("encrypt_limit", "\"encrypt\": true, or null", "nothing of this vNIC is encrypted");
    if (out.encrypt_reservation != 0 && !out.encrypt)
        vnic.fault("encrypt_reservation", "\"encrypt\": true, or \"0tokens\"",
                   "nothing of this vNIC is encrypted");
    if (out.encrypt_limit && out.encrypt_reservation > *out.encrypt_limit)
        vnic.fault("encrypt_reservation",
                   "at most encrypt_limit, " + format_quantity(Quantity::kTokenRate, *out.encrypt_limit),
                   "the reservation is above the limit");
    if (!out.encrypt)
        return;
    if (base.tunnels.empty()) {
        vnic.fault("encrypt", "false, or \"tunnels\"", "there is no tunnel that its frames could take");
        return;
    }
    const std::uint32_t tags = out.vlan != 0 ? 1 : 0;
    const std::uint32_t most = carried_mtu(base, tags);
    if (!vnic.has("mtu"))  // a guest that may send tags has room for them
        out.mtu = std::min(out.mtu, carried_mtu(base, tags + (out.anti_spoofing ? 0 : limits::kFreeTags)));
    else if (out.mtu > most)
        vnic.fault("mtu", "at most " + std::to_string(most) + ", or nothing",
                   "more does not fit through the tunnels");
}

}  // namespace weir
