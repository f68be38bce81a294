// config_fields.h - what several objects of the switch's configuration share. Internal to the configuration's
// sources. Threads: any; never used on a poll thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/config/config_reader.h"
#include "common/config/field_kinds.h"
#include "vswitch/config/config.h"

namespace weir {

/// Bounds that several objects share.
inline constexpr Range kMtuRange{68, 9600};
inline constexpr Range kSharesRange{1, 10'000};
inline constexpr Range kTokensRange{1, 1'000'000'000'000};  // tokens, and tokens per second
inline constexpr std::uint64_t kRateMax = 400'000'000'000;  // bit/s: the fastest port of today

/// A PCI address or a vdev string (driver and number, then arguments after commas).
bool read_device(ObjectReader& reader, std::string_view key, std::string& out);

/// `appliances` of the switch, each checked against those before it.
void read_appliances(ObjectReader& root, std::vector<ApplianceConfig>& out, Faults& faults);
/// `appliances` of a vNIC, against the switch's.
void read_vnic_appliances(ObjectReader& vnic, std::vector<VnicApplianceConfig>& out, const SwitchConfig& base,
                          Faults& faults);
[[nodiscard]] nlohmann::json vnic_appliances_to_json(const std::vector<VnicApplianceConfig>& appliances);
/// A change at run time: its entries first, each with what it leaves alone of the part that it names; then
/// the other parts.
[[nodiscard]] nlohmann::json merge_vnic_appliances(const nlohmann::json& change,
                                                   const std::vector<VnicApplianceConfig>& current);
/// Such a change names parts that the vNIC has; they are put into its own order.
void check_vnic_appliances(std::vector<VnicApplianceConfig>& changed,
                           const std::vector<VnicApplianceConfig>& current, const std::string& path,
                           Faults& faults);
/// Paths in the configuration are meant from its own folder.
void resolve_files(SwitchConfig& config, const std::string& config_file);

/// A host's address, as it stands there. @return whether it is one
bool read_host_address(ObjectReader& reader, std::string_view key, std::string& out);
/// A unicast MAC address.
bool read_mac_address(ObjectReader& reader, std::string_view key, std::optional<MacAddress>& out);

/// `tunnels` of the switch, each checked against those before it and the uplink.
void read_tunnels(ObjectReader& root, const UplinkConfig& uplink, std::vector<TunnelConfig>& out,
                  Faults& faults);
/// `encrypt` and `encrypt_limit` of a vNIC; its MTU, unless it is given, becomes what the tunnels carry.
void read_encryption(ObjectReader& vnic, VnicConfig& out, const SwitchConfig& base);

/// Reads one vNIC and checks it against `others` in all but the total of the reservations. Faults go to
/// `faults`; the vNIC is returned all the same so that later ones are checked against it.
[[nodiscard]] VnicConfig read_vnic(const nlohmann::json& object, const std::string& path,
                                   const SwitchConfig& base, const std::vector<VnicConfig>& others,
                                   Faults& faults);
/// What the reservations would need beyond the uplink's capacity, in bit/s; 0 when they fit or overcommit is
/// allowed.
[[nodiscard]] std::uint64_t reservation_excess(const SwitchConfig& base, std::uint64_t total_bps);
/// The rule that reservation_excess checks, for a fault's `allowed`.
[[nodiscard]] std::string reservation_rule(const SwitchConfig& base);

}  // namespace weir
