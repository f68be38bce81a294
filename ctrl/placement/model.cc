// model.cc - names, and explanations of what does not fit.
#include "ctrl/placement/model.h"

#include "common/units.h"

namespace weir::placement {

const char* name_of(ConstraintKind kind) {
    switch (kind) {
        case ConstraintKind::kHostLink:
            return "host_link";
        case ConstraintKind::kRackLink:
            return "rack_link";
        case ConstraintKind::kApplianceLink:
            return "appliance_link";
        case ConstraintKind::kApplianceTokens:
            return "appliance_capacity";
        case ConstraintKind::kSlots:
            break;
    }
    return "host_slots";
}

const std::string& id_of(const Topology& topology, Constraint constraint) {
    switch (constraint.kind) {
        case ConstraintKind::kRackLink:
            return topology.racks[constraint.index].id;
        case ConstraintKind::kApplianceLink:
        case ConstraintKind::kApplianceTokens:
            return topology.appliances[constraint.index].id;
        case ConstraintKind::kHostLink:
        case ConstraintKind::kSlots:
            break;
    }
    return topology.hosts[constraint.index].id;
}

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
           (why.proven ? "; no placement exists beside the present tenants"
                       : "; of the placements tried, this one exceeds its constraint least");
}

}  // namespace weir::placement
