// model.h - topology, tenants and constraints of a placement.
// Source: Pulsar 4.5; Hadrian (NSDI'13) 4.1; EyeQ 3.5; docs/algorithms.md 10
// Units: tokens/s; at links a token is a byte on the wire, in each direction. Threads: any (values).
//
// Hosts stand in racks, or directly below a core that is never short. Physical appliances stand behind a
// host's uplink or behind a link of their own. A tenant's guarantee is a hose: every vNIC and virtual
// appliance has a reservation to and from all others together.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace weir::placement {

using Tokens = std::uint64_t;
/// Counts as no bound. Sums of reservations stay below it.
inline constexpr Tokens kUnlimited = Tokens{1} << 62;

/// The index of no host, rack or appliance: "none", or "wherever it fits".
inline constexpr std::uint32_t kAnywhere = UINT32_MAX;

struct Host {
    std::string id;
    Tokens uplink = 0;                 ///< that may be promised, without the headroom
    std::uint32_t rack = kAnywhere;    ///< kAnywhere: directly below the core
    std::uint32_t slots = UINT32_MAX;  ///< the most vNICs
    Tokens encryption = kUnlimited;    ///< cost of encryption that its switch's workers can do
    bool drained = false;              ///< its slots are for vNICs that must be there
};

struct Rack {
    std::string id;
    Tokens uplink = 0;  ///< to the core
};

/// A service that tenants share; to the network it is a tenant with a single VM.
struct Appliance {
    std::string id;
    std::string type;                ///< virtual appliances ask for a type, or for this one by its id
    Tokens capacity = 0;             ///< in its own tokens/s, at the worst mix of requests
    std::uint32_t host = kAnywhere;  ///< behind that host's uplink
    std::uint32_t rack = kAnywhere;  ///< else behind that rack's uplink
    Tokens link = kUnlimited;        ///< its own link
};

struct Topology {
    std::vector<Host> hosts;
    std::vector<Rack> racks;
    std::vector<Appliance> appliances;
};

struct Vnic {
    std::string id;
    Tokens reservation = 0;
    std::uint32_t host = kAnywhere;  ///< where it must be
    Tokens encryption = 0;           ///< reserved of its host's
};

struct VirtualAppliance {
    std::string id;
    std::string type;                     ///< or the id of a physical appliance
    Tokens reservation = 0;               ///< in the appliance's own tokens
    Tokens bandwidth = kUnlimited;        ///< to and from it; at most the sum of the vNICs' reservations
    std::uint32_t appliance = kAnywhere;  ///< which it must be
};

struct Tenant {
    std::string id;
    std::vector<Vnic> vnics = {};
    std::vector<VirtualAppliance> appliances = {};
};

/// Hosts and physical appliances of a tenant's parts, in the order of the tenant's lists.
struct Layout {
    std::vector<std::uint32_t> hosts = {};
    std::vector<std::uint32_t> appliances = {};
};
/// All parts at kAnywhere.
[[nodiscard]] Layout unplaced(const Tenant& tenant);
/// Each part where it must be.
[[nodiscard]] Layout required_layout(const Tenant& tenant);

/// How a tenant's need of a link is counted.
enum class LinkNeed {
    kHose,  ///< the most that can flow through the link while each end keeps to its reservation (Hadrian)
    kSum,   ///< the sum of the reservations behind the link (EyeQ)
};

enum class ConstraintKind { kHostLink, kRackLink, kApplianceLink, kApplianceTokens, kEncryption, kSlots };
[[nodiscard]] const char* name_of(ConstraintKind kind);
/// Whether its tokens are bytes.
[[nodiscard]] constexpr bool is_link(ConstraintKind kind) {
    return kind < ConstraintKind::kApplianceTokens;
}

/// A link, an appliance's capacity, a host's encryption or its slots.
struct Constraint {
    ConstraintKind kind = ConstraintKind::kHostLink;
    std::uint32_t index = 0;  ///< of the host, rack or appliance

    auto operator<=>(const Constraint&) const = default;
};
[[nodiscard]] const std::string& id_of(const Topology& topology, Constraint constraint);

/// Why a tenant does not fit.
struct Shortfall {
    enum class Part { kVnic, kAppliance };

    Part part = Part::kVnic;
    std::uint32_t index = 0;     ///< of the vNIC or virtual appliance that exceeds the constraint
    bool nowhere = false;        ///< there is no host, or no appliance of the type; the rest is not set
    Constraint constraint = {};  ///< of several, the one that is exceeded least
    Tokens need = 0;             ///< of all tenants together, with this part
    Tokens have = 0;
    bool proven = false;  ///< no placement exists beside the present tenants; otherwise none was found
};

/// Writes an amount of a constraint.
using AmountText = std::function<std::string(ConstraintKind kind, Tokens amount)>;
/// "10Gbit" (of bytes/s), "5ktokens", or "12" slots.
[[nodiscard]] std::string amount_text(ConstraintKind kind, Tokens amount);
/// "the uplink of host h2", "the capacity of appliance kvs"
[[nodiscard]] std::string describe(const Topology& topology, Constraint constraint);
/// "vNIC a3 of tenant A (2Gbit): the uplink of host h2 would need 11Gbit of 10Gbit; ..."
[[nodiscard]] std::string explain(const Topology& topology, const Tenant& tenant, const Shortfall& why,
                                  const AmountText& text = amount_text);

}  // namespace weir::placement
