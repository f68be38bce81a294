// learned_file.cc - LearnedFile: JSON in a file that is replaced as a whole.
#include "vswitch/agent/learned_file.h"

#include <array>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "common/config/field_kinds.h"
#include "common/config/json_text.h"
#include "vswitch/agent/kept_file.h"
#include "vswitch/base/limits.h"

namespace weir {
namespace {

using nlohmann::json;
using From = LearnedAddress::From;

constexpr std::uint64_t kVersion = 1;
constexpr std::size_t kAddressesMax = std::tuple_size_v<LearnedAddresses>;
constexpr std::array kFromWords{Word<From>{"dhcp", From::kDhcp}, Word<From>{"dhcpv6", From::kDhcp6},
                                Word<From>{"router", From::kRouter}};

/// Differs after each boot of the machine; empty where the kernel does not say.
std::string boot_id() {
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string id;
    file >> id;
    return id;
}

LearnedAddress read_address(ObjectReader& reader) {
    LearnedAddress learned;
    std::string text;
    std::optional<Nanos> until;
    reader.read_word("from", learned.from, std::span<const Word<From>>(kFromWords));
    reader.read_text("address", text);
    const bool has_end = reader.has("until_ns");
    reader.read_optional("until_ns", until, {0, kNever - 1});
    const std::optional<IpAddress> address = IpAddress::parse(text);
    if (learned.from == From::kNone || !has_end)
        reader.fault(learned.from == From::kNone ? "from" : "until_ns", "as the switch writes it", "missing");
    else if (!address || !address->is_host() || address->v6 == (learned.from == From::kDhcp))
        reader.fault("address", "an address of a host, IPv4 from dhcp alone", "not such an address");
    else
        learned.address = *address;
    learned.until = until.value_or(kNever);
    return learned;
}

LearnedVnic read_vnic(ObjectReader& reader, Faults& faults) {
    LearnedVnic vnic;
    std::string mac;
    read_name(reader, "name", vnic.name);
    reader.read_text("port", vnic.port);
    reader.read_text("mac", mac);
    reader.read_integer("vlan", vnic.vlan, {0, 4094});
    if (const auto parsed = MacAddress::parse(mac))
        vnic.mac = parsed->bits;
    else
        reader.fault("mac", "a MAC address", "not a MAC address");
    read_objects(reader, "addresses", kAddressesMax, faults, [&](ObjectReader& each, const std::string&) {
        vnic.addresses.push_back(read_address(each));
    });
    return vnic;
}

std::vector<LearnedVnic> read_document(const json& value, Faults& faults) {
    std::vector<LearnedVnic> vnics;
    ObjectReader root(value, "", faults);
    if (!value.is_object())
        return vnics;
    std::uint64_t version = 0;
    std::string boot;
    root.read_integer("weir_learned", version, {kVersion, kVersion});
    root.read_text("boot", boot);
    if (version != kVersion)
        root.fault("weir_learned", std::to_string(kVersion), "not a file of this version");
    else if (boot != boot_id())
        root.fault("boot", boot_id(), "of another boot of this machine, or of another machine");
    read_objects(root, "vnics", LearnedFile::kVnicsMax, faults,
                 [&](ObjectReader& each, const std::string&) { vnics.push_back(read_vnic(each, faults)); });
    root.finish();
    return vnics;
}

json vnic_json(const LearnedVnic& vnic) {
    json addresses = json::array();
    for (const LearnedAddress& each : vnic.addresses)
        for (const Word<From>& word : kFromWords)
            if (word.value == each.from)
                addresses.push_back({{"from", word.text},
                                     {"address", each.address.to_string()},
                                     {"until_ns", each.until == kNever ? json(nullptr) : json(each.until)}});
    return {{"name", vnic.name},
            {"port", vnic.port},
            {"mac", MacAddress{vnic.mac}.to_string()},
            {"vlan", vnic.vlan},
            {"addresses", std::move(addresses)}};
}

}  // namespace

LearnedVnic LearnedVnic::of(const VnicConfig& vnic) {
    return {.name = vnic.name,
            .port = vnic.device.empty() ? vnic.socket : vnic.device,
            .mac = vnic.mac ? vnic.mac->bits : 0,
            .vlan = vnic.vlan};
}

bool LearnedVnic::same_vnic(const LearnedVnic& other) const {
    return name == other.name && port == other.port && mac == other.mac && vlan == other.vlan;
}

Nanos time_since_boot() {
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    return static_cast<Nanos>(now.tv_sec) * kNanosPerSec + static_cast<Nanos>(now.tv_nsec);
}

std::variant<std::vector<LearnedVnic>, std::string> LearnedFile::read() const {
    KeptText kept = read_kept(path_, kBytesMax);
    if (!kept.refusal.empty())
        return std::move(kept.refusal);
    if (!kept.text)
        return std::vector<LearnedVnic>{};
    auto parsed = parse_document<std::vector<LearnedVnic>>(*kept.text, read_document);
    if (const Faults* faults = std::get_if<Faults>(&parsed))
        return faults->front().to_line();
    return std::get<std::vector<LearnedVnic>>(std::move(parsed));
}

std::string LearnedFile::write(const std::vector<LearnedVnic>& vnics) const {
    if (vnics.empty())
        return remove_kept(path_);
    json list = json::array();
    for (const LearnedVnic& vnic : vnics)
        if (list.size() < kVnicsMax)
            list.push_back(vnic_json(vnic));
    const json document{{"weir_learned", kVersion}, {"boot", boot_id()}, {"vnics", std::move(list)}};
    return replace_kept(path_, document.dump() + '\n', kBytesMax);
}

}  // namespace weir
