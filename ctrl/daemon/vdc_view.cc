// vdc_view.cc - one virtual resource for each direction of a vNIC and each part of an appliance.
#include "ctrl/daemon/vdc_view.h"

#include <algorithm>

#include "common/units.h"

namespace weir {
namespace {

template <typename T>
double limit_of(const std::optional<T>& limit, double scale) {
    return limit ? static_cast<double>(*limit) * scale : alloc::kInfinite;
}

}  // namespace

const alloc::MechanismEntry* entry_of(Mechanism mechanism) {
    const auto found =
        std::find_if(alloc::kMechanisms.begin(), alloc::kMechanisms.end(),
                     [mechanism](const auto& entry) { return entry.name == name_of(mechanism); });
    return found == alloc::kMechanisms.end() ? nullptr : &*found;
}

VdcView::VdcView(const ClusterConfig& config, double seconds) : config_(config) {
    for (const TenantConfig& tenant : config.tenants) {
        tenants_.push_back({.guarantee = tenant.guarantee == SharingRule::kFixed
                                             ? alloc::SharingRule::kFixed
                                             : alloc::SharingRule::kMinimum,
                            .local = entry_of(tenant.local),
                            .weight = 1});
        vnics_.emplace_back();
        for (const TenantVnicConfig& vnic : tenant.vnics) {
            const double bytes = seconds / kBitsPerByte;
            const double reserved = static_cast<double>(vnic.reservation_bps) * bytes;
            const double limit = limit_of(vnic.limit_bps, bytes);
            vnics_.back().push_back({add(reserved, limit), add(reserved, limit), vnic.reservation_bps != 0});
        }
        parts_.emplace_back();
        for (const TenantApplianceConfig& part : tenant.appliances) {
            const auto appliance = std::find_if(config.appliances.begin(), config.appliances.end(),
                                                [&](const auto& each) { return each.name == part.name; });
            parts_.back()[static_cast<std::uint32_t>(appliance - config.appliances.begin())] = add(
                static_cast<double>(part.reservation_tokens) * seconds, limit_of(part.limit_tokens, seconds));
        }
    }
}

std::uint32_t VdcView::add(double reserved, double limit) {
    resources_.push_back({.reserved = reserved, .limit = limit});
    return static_cast<std::uint32_t>(resources_.size() - 1);
}

void VdcView::set_weights(const Cluster& cluster) {
    for (TenantIndex tenant = 0; tenant < tenants_.size(); ++tenant)
        tenants_[tenant].weight = config_.global_weights == GlobalWeights::kWeights
                                      ? static_cast<double>(config_.tenants[tenant].weight)
                                  : config_.global_weights == GlobalWeights::kGuarantees
                                      ? cluster.guaranteed_share(tenant)
                                      : 1.0;
}

void VdcView::put(const Cluster& cluster, wire::FlowKey flow, const std::array<double, wire::kParts>& tokens,
                  alloc::DemandMatrix& inside) const {
    const auto of = [&tokens](wire::Part part) { return tokens[static_cast<std::size_t>(part)]; };
    const ClusterEnd& source = *cluster.find_end(flow.source);
    const ClusterEnd& destination = *cluster.find_end(flow.destination);
    const VnicColumns& from = vnics_[source.tenant][source.index];
    if (!destination.is_appliance) {
        inside.put(from.out, of(wire::Part::kThere));
        inside.put(vnics_[destination.tenant][destination.index].in, of(wire::Part::kThere));
    } else {
        if (from.reserved) {
            inside.put(from.out, of(wire::Part::kThere));
            inside.put(from.in, of(wire::Part::kBack));
        }
        inside.put(parts_[source.tenant].at(destination.index), of(wire::Part::kAppliance));
    }
    inside.end_flow();
}

}  // namespace weir
