// config_addresses.cc - the addresses of a vNIC's guest, and its part in DHCP and routing: read and checked.
#include <array>
#include <nlohmann/json.hpp>

#include "common/config/config_text.h"
#include "vswitch/base/limits.h"
#include "vswitch/config/config_fields.h"

namespace weir {
namespace {

using nlohmann::json;

constexpr std::array kRoles{Word<DhcpRole>{"client", DhcpRole::kClient},
                            Word<DhcpRole>{"server", DhcpRole::kServer}};
constexpr const char* kAddresses =
    "a list of 1 to 16 addresses and networks of hosts, such as [\"10.0.0.5\", \"fd00:5::/64\"]; null: none";

bool is_null(ObjectReader& reader, std::string_view key) {
    const json* value = reader.take(key);
    return value != nullptr && value->is_null();
}

/// An address of the vNIC that another one of its VLAN may use too, as the fault's message; empty: none.
std::string owner_of(const IpNetwork& network, const VnicConfig& vnic,
                     const std::vector<VnicConfig>& others) {
    for (const VnicConfig& other : others)
        for (const IpNetwork& taken : other.addresses)
            if (other.vlan == vnic.vlan && taken.overlaps(network))
                return "vNIC \"" + other.name + "\" of VLAN " + std::to_string(vnic.vlan) + " has " +
                       taken.to_string();
    return "";
}

void read_list_of_networks(ObjectReader& reader, VnicConfig& vnic, const std::vector<VnicConfig>& others,
                           Faults& faults) {
    const json* list = reader.take("addresses");
    if (list == nullptr || list->is_null())
        return;
    if (!list->is_array() || list->empty() || list->size() > limits::kVnicAddressesMax) {
        reader.fault("addresses", kAddresses,
                     !list->is_array() ? "this is no list"
                     : list->empty()   ? "the guest could send nothing"
                                       : "there are too many");
        return;
    }
    for (std::size_t i = 0; i < list->size(); ++i) {
        const json& each = (*list)[i];
        const std::string path = reader.path_of("addresses") + '[' + std::to_string(i) + ']';
        const auto network =
            each.is_string() ? IpNetwork::parse(each.get<std::string>()) : std::optional<IpNetwork>();
        if (!network || !network->base.is_host() || !network->last().is_host()) {
            faults.push_back({path, show_value(each), kAddresses,
                              network ? "no host has these addresses" : "this is no address and no network"});
            continue;
        }
        if (const std::string owner = owner_of(*network, vnic, others); !owner.empty())
            faults.push_back(
                {path, show_value(each), "addresses that no other vNIC of the VLAN may use", owner});
        vnic.addresses.push_back(*network);
    }
}

}  // namespace

void read_addresses(ObjectReader& reader, VnicConfig& vnic, const std::vector<VnicConfig>& others,
                    Faults& faults) {
    read_list_of_networks(reader, vnic, others, faults);
    if (!is_null(reader, "dhcp"))
        reader.read_word<DhcpRole>("dhcp", vnic.dhcp, kRoles);
    bool router = false;
    if (!is_null(reader, "router") && reader.read_flag("router", router))
        vnic.router = router;
    if (vnic.anti_spoofing)
        return;
    for (const std::string_view key : {"addresses", "dhcp", "router"})
        if (reader.has(key) && !is_null(reader, key))
            reader.fault(key, "null, or \"anti_spoofing\": true",
                         "addresses are bound to the guest's MAC address, which it may choose");
}

void write_addresses(const VnicConfig& vnic, json& out) {
    for (const IpNetwork& network : vnic.addresses)
        out["addresses"].push_back(network.to_string());
    if (vnic.dhcp)
        out["dhcp"] = std::string(*vnic.dhcp == DhcpRole::kClient ? kRoles[0].text : kRoles[1].text);
    if (vnic.router)
        out["router"] = *vnic.router;
}

}  // namespace weir
