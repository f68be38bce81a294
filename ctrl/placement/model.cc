// model.cc - names, and explanations of shortfalls.
#include "ctrl/placement/model.h"

#include <algorithm>
#include <iterator>

#include "common/units.h"

namespace weir::placement {

namespace {

struct KindText {
    const char* name;
    const char* what;  // before the id
};
constexpr KindText kTexts[] = {
    // by ConstraintKind
    {"host_link", "the uplink of host "},           {"rack_link", "the uplink of rack "},
    {"appliance_link", "the link of appliance "},   {"appliance_capacity", "the capacity of appliance "},
    {"host_encryption", "the encryption of host "}, {"host_slots", "the slots of host "},
};
static_assert(std::size(kTexts) == static_cast<std::size_t>(ConstraintKind::kSlots) + 1);

}  // namespace

Layout unplaced(const Tenant& tenant) {
    return {.hosts = std::vector<std::uint32_t>(tenant.vnics.size(), kAnywhere),
            .appliances = std::vector<std::uint32_t>(tenant.appliances.size(), kAnywhere)};
}

Layout required_layout(const Tenant& tenant) {
    Layout layout;
    std::ranges::transform(tenant.vnics, std::back_inserter(layout.hosts), &Vnic::host);
    std::ranges::transform(tenant.appliances, std::back_inserter(layout.appliances),
                           &VirtualAppliance::appliance);
    return layout;
}

const char* name_of(ConstraintKind kind) {
    return kTexts[static_cast<std::size_t>(kind)].name;
}

const std::string& id_of(const Topology& topology, Constraint constraint) {
    const auto [kind, index] = constraint;
    if (kind == ConstraintKind::kRackLink)
        return topology.racks[index].id;
    if (kind == ConstraintKind::kApplianceLink || kind == ConstraintKind::kApplianceTokens)
        return topology.appliances[index].id;
    return topology.hosts[index].id;
}

std::string describe(const Topology& topology, Constraint constraint) {
    const bool drained =
        constraint.kind == ConstraintKind::kSlots && topology.hosts[constraint.index].drained;
    return kTexts[static_cast<std::size_t>(constraint.kind)].what + id_of(topology, constraint) +
           (drained ? ", which is drained," : "");
}

std::string amount_text(ConstraintKind kind, Tokens amount) {
    if (kind == ConstraintKind::kSlots)
        return std::to_string(amount);
    if (kind == ConstraintKind::kApplianceTokens || kind == ConstraintKind::kEncryption)
        return format_quantity(Quantity::kTokenRate, amount);
    return format_rate(amount * 8);
}

std::string explain(const Topology& topology, const Tenant& tenant, const Shortfall& why,
                    const AmountText& text) {
    const bool vnic = why.part == Shortfall::Part::kVnic;
    const std::string what =
        vnic ? "vNIC " + tenant.vnics[why.index].id + " of tenant " + tenant.id + " (" +
                   (why.constraint.kind == ConstraintKind::kEncryption
                        ? text(ConstraintKind::kEncryption, tenant.vnics[why.index].encryption)
                        : text(ConstraintKind::kHostLink, tenant.vnics[why.index].reservation)) +
                   ")"
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
