// explain.cc - why something does not fit, in words.
#include "common/units.h"
#include "ctrl/placement/placer.h"

namespace weir::placement {

std::string describe(const Topology& topology, Constraint constraint) {
    const std::string& id = id_of(topology, constraint);
    switch (constraint.kind) {
        case ConstraintKind::kHostLink:
            return "the uplink of host " + id;
        case ConstraintKind::kRackLink:
            return "the uplink of rack " + id;
        case ConstraintKind::kApplianceLink:
            return "the link of appliance " + id;
        case ConstraintKind::kApplianceTokens:
            return "the capacity of appliance " + id;
        case ConstraintKind::kSlots:
            break;
    }
    return "the slots of host " + id;
}

std::string amount_text(ConstraintKind kind, Tokens amount) {
    if (kind == ConstraintKind::kSlots)
        return std::to_string(amount);
    if (kind == ConstraintKind::kApplianceTokens)
        return format_quantity(Quantity::kTokenRate, amount);
    return format_rate(amount * 8);
}

std::string explain(const Topology& topology, const Tenant& tenant, const Shortfall& why,
                    const AmountText& text) {
    const bool vnic = why.part == Shortfall::Part::kVnic;
    const std::string what =
        vnic ? "vNIC " + tenant.vnics[why.index].id + " of tenant " + tenant.id + " (" +
                   text(ConstraintKind::kHostLink, tenant.vnics[why.index].reservation) + ")"
             : "appliance " + tenant.appliances[why.index].id + " of tenant " + tenant.id + " (" +
                   text(ConstraintKind::kApplianceTokens, tenant.appliances[why.index].reservation) + ")";
    if (why.nowhere)
        return what + (vnic ? ": there is no host"
                            : ": no appliance is of type " + tenant.appliances[why.index].type);
    return what + ": " + describe(topology, why.constraint) + " would need " +
           text(why.constraint.kind, why.need) + " of " + text(why.constraint.kind, why.have) +
           (why.proven ? "; beside the tenants that are there, no placement exists"
                       : "; that is the nearest of what was tried");
}

}  // namespace weir::placement
