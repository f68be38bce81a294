// config_fields.h - readers of the configuration's objects, shared by the parts of the parser (config.cc,
// config_vnic.cc, config_addresses.cc, config_appliance.cc, config_tunnel.cc). Threads: any; never used on a
// poll thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/config/config_reader.h"
#include "common/config/field_kinds.h"
#include "vswitch/config/config.h"

namespace weir {

// Bounds of keys in several objects.
inline constexpr Range kMtuRange{68, 9600};
inline constexpr Range kSharesRange{1, 10'000};
inline constexpr Range kTokensRange{1, 1'000'000'000'000};  // tokens, and tokens per second
inline constexpr std::uint64_t kRateMax = 400'000'000'000;  // bit/s: the fastest NIC port

/// Reads a PCI address, or a vdev string: driver and number, then arguments after commas.
/// @return whether `out` was set, as of all readers
bool read_device(ObjectReader& reader, std::string_view key, std::string& out);

/// Reads `appliances` of the switch, and checks each against those before it.
void read_appliances(ObjectReader& root, std::vector<ApplianceConfig>& out, Faults& faults);
/// Reads `appliances` of a vNIC, and checks them against the switch's.
void read_vnic_appliances(ObjectReader& vnic, std::vector<VnicApplianceConfig>& out, const SwitchConfig& base,
                          Faults& faults);
[[nodiscard]] nlohmann::json vnic_appliances_to_json(const std::vector<VnicApplianceConfig>& appliances);
/// The vNIC's appliances after a change at run time: first the parts that the change names, each with its
/// unchanged keys, then the others.
[[nodiscard]] nlohmann::json merge_vnic_appliances(const nlohmann::json& change,
                                                   const std::vector<VnicApplianceConfig>& current);
/// Checks that a change names only parts that the vNIC has, and restores their order.
void check_vnic_appliances(std::vector<VnicApplianceConfig>& changed,
                           const std::vector<VnicApplianceConfig>& current, const std::string& path,
                           Faults& faults);
/// Puts the configuration's folder in front of relative paths.
void resolve_files(SwitchConfig& config, const std::string& config_file);

/// Reads the IPv4 or IPv6 address of a host.
bool read_host_address(ObjectReader& reader, std::string_view key, std::string& out);
/// Reads a unicast MAC address.
bool read_mac_address(ObjectReader& reader, std::string_view key, std::optional<MacAddress>& out);

/// Reads `addresses`, `dhcp` and `router` of a vNIC, and checks the addresses against those of its VLAN.
/// After `vlan` and `anti_spoofing`.
void read_addresses(ObjectReader& vnic, VnicConfig& out, const std::vector<VnicConfig>& others,
                    Faults& faults);
/// Adds those of the three keys that the vNIC has.
void write_addresses(const VnicConfig& vnic, nlohmann::json& out);

/// Reads `tunnels` of the switch, and checks each against those before it and the uplink.
void read_tunnels(ObjectReader& root, const UplinkConfig& uplink, std::vector<TunnelConfig>& out,
                  Faults& faults);
/// Reads `encrypt` and `encrypt_limit` of a vNIC. An MTU that is not given becomes the largest that all
/// tunnels carry.
void read_encryption(ObjectReader& vnic, VnicConfig& out, const SwitchConfig& base);

/// Checks `buffers` of the switch, if given, against the sum that all vNICs, rings and workers may hold.
void check_buffers(const SwitchConfig& config, Faults& faults);
/// Checks that the pool of a running switch, base.buffers, has room for one more vNIC.
void check_buffers(const VnicConfig& vnic, const std::string& path, const SwitchConfig& base,
                   const std::vector<VnicConfig>& others, Faults& faults);

/// Reads one vNIC, and checks it against `others`, except for the sum of the reservations. The vNIC is
/// returned with faults too, so that later ones are checked against it.
[[nodiscard]] VnicConfig read_vnic(const nlohmann::json& object, const std::string& path,
                                   const SwitchConfig& base, const std::vector<VnicConfig>& others,
                                   Faults& faults);
/// Reservations beyond the uplink's capacity, in bit/s; 0 when they fit, or `overcommit` allows it.
[[nodiscard]] std::uint64_t reservation_excess(const SwitchConfig& base, std::uint64_t total_bps);
/// The rule of reservation_excess() as the text `allowed` of a fault.
[[nodiscard]] std::string reservation_rule(const SwitchConfig& base);

}  // namespace weir
