// model.h - what is placed on what: a tree of hosts and optional racks below a core without bottlenecks,
// physical appliances in it, and tenants whose guarantees are hoses. Source: Pulsar 4.5, Hadrian
// (NSDI'13) 4.1, EyeQ 3.5. Units: tokens/s; at links a token is a byte on the wire, each way. Threads: any
// (values).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weir::placement {

using Tokens = std::uint64_t;
/// As good as none. Sums of reservations stay below.
inline constexpr Tokens kUnlimited = Tokens{1} << 62;

/// An index that says "none" or "wherever it fits".
inline constexpr std::uint32_t kAnywhere = UINT32_MAX;

struct Host {
    std::string id;
    Tokens uplink = 0;                 ///< either way; what may be promised, headroom taken off
    std::uint32_t rack = kAnywhere;    ///< kAnywhere = straight to the core
    std::uint32_t slots = UINT32_MAX;  ///< how many vNICs it may have
};

struct Rack {
    std::string id;
    Tokens uplink = 0;  ///< to the core, either way
};

/// A service that tenants share: to the network, a tenant with a single VM.
struct Appliance {
    std::string id;
    std::string type;                ///< virtual appliances ask for a type, or for this one by its id
    Tokens capacity = 0;             ///< its own tokens/s at the worst mix
    std::uint32_t host = kAnywhere;  ///< behind that host's uplink
    std::uint32_t rack = kAnywhere;  ///< else behind that rack's uplink
    Tokens link = kUnlimited;        ///< its own link, bytes/s either way
};

struct Topology {
    std::vector<Host> hosts;
    std::vector<Rack> racks;
    std::vector<Appliance> appliances;
};

struct Vnic {
    std::string id;
    Tokens reservation = 0;          ///< to and from it
    std::uint32_t host = kAnywhere;  ///< must be there
};

struct VirtualAppliance {
    std::string id;
    std::string type;               ///< or the id of a physical one
    Tokens reservation = 0;         ///< in the appliance's own tokens
    Tokens bandwidth = kUnlimited;  ///< to and from it; never more than what the tenant's vNICs have together
    std::uint32_t appliance = kAnywhere;  ///< must be that one
};

struct Tenant {
    std::string id;
    std::vector<Vnic> vnics = {};
    std::vector<VirtualAppliance> appliances = {};
};

/// Where a tenant's parts are, in the order in which the tenant names them.
struct Layout {
    std::vector<std::uint32_t> hosts = {};
    std::vector<std::uint32_t> appliances = {};
};

/// How much of a link a tenant needs.
enum class LinkNeed {
    kHose,  ///< the most that can flow through the link while each end keeps to its own reservation (Hadrian)
    kSum,   ///< all that is reserved behind it, as if all talked past it (EyeQ)
};

enum class ConstraintKind { kHostLink, kRackLink, kApplianceLink, kApplianceTokens, kSlots };
[[nodiscard]] const char* name_of(ConstraintKind kind);

/// A link, an appliance's capacity or a host's slots.
struct Constraint {
    ConstraintKind kind = ConstraintKind::kHostLink;
    std::uint32_t index = 0;  ///< of the host, rack or appliance
};
[[nodiscard]] const std::string& id_of(const Topology& topology, Constraint constraint);

/// Why something does not fit.
struct Shortfall {
    enum class Part { kVnic, kAppliance };

    Part part = Part::kVnic;
    std::uint32_t index = 0;     ///< of the tenant's vNIC or virtual appliance that is one too many
    bool nowhere = false;        ///< there is no host, or no appliance of that type; the rest says nothing
    Constraint constraint = {};  ///< the one that is nearest to being met
    Tokens need = 0;             ///< all tenants together, with this part
    Tokens have = 0;
    bool proven = false;  ///< no placement exists beside the tenants that are there; else none was found
};

}  // namespace weir::placement
