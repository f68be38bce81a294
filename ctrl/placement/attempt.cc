// attempt.cc - sides behind each link, and whether they fit beside the present tenants.
#include "ctrl/placement/attempt.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace weir::placement {

Attempt::Attempt(const Ledger& ledger, const Tenant& tenant)
    : ledger_(&ledger),
      topology_(&ledger.topology()),
      tenant_(&tenant),
      whole_(whole_of(tenant)),
      layout_(unplaced(tenant)),
      hosts_(topology_->hosts.size()),
      racks_(topology_->racks.size()),
      links_(topology_->appliances.size()),
      tokens_(topology_->appliances.size()),
      slots_used_(topology_->hosts.size()),
      encryption_(topology_->hosts.size()) {
    for (const VirtualAppliance& appliance : tenant.appliances)
        bandwidth_.push_back(std::min(whole_.vnics, appliance.bandwidth));
}

void Attempt::count_side(std::uint32_t host, std::uint32_t rack, const Side& side, bool in) {
    const auto count = [&](Side& at) { in ? at += side : at -= side; };
    if (host != kAnywhere)
        count(hosts_[host]);
    if (rack != kAnywhere)
        count(racks_[rack]);
}

void Attempt::put_vnic(std::uint32_t vnic, std::uint32_t host) {
    layout_.hosts[vnic] = host;
    ++slots_used_[host];
    encryption_[host] += tenant_->vnics[vnic].encryption;
    count_side(host, topology_->hosts[host].rack, {.vnics = tenant_->vnics[vnic].reservation}, true);
}

void Attempt::remove_vnic(std::uint32_t vnic) {
    const std::uint32_t host = layout_.hosts[vnic];
    layout_.hosts[vnic] = kAnywhere;
    --slots_used_[host];
    encryption_[host] -= tenant_->vnics[vnic].encryption;
    count_side(host, topology_->hosts[host].rack, {.vnics = tenant_->vnics[vnic].reservation}, false);
}

void Attempt::put_appliance(std::uint32_t v, std::uint32_t index) {
    const Appliance& appliance = topology_->appliances[index];
    layout_.appliances[v] = index;
    tokens_[index] += tenant_->appliances[v].reservation;
    links_[index].appliances += bandwidth_[v];
    count_side(appliance.host, rack_of(*topology_, appliance), {.appliances = bandwidth_[v]}, true);
}

void Attempt::remove_appliance(std::uint32_t v) {
    const std::uint32_t index = layout_.appliances[v];
    const Appliance& appliance = topology_->appliances[index];
    layout_.appliances[v] = kAnywhere;
    tokens_[index] -= tenant_->appliances[v].reservation;
    links_[index].appliances -= bandwidth_[v];
    count_side(appliance.host, rack_of(*topology_, appliance), {.appliances = bandwidth_[v]}, false);
}

std::optional<Shortfall> Attempt::check(Constraint c, Tokens mine) const {
    if (mine <= ledger_->left(c))  // also when it needs nothing of a link that others over-commit
        return std::nullopt;
    return Shortfall{.constraint = c, .need = ledger_->need(c) + mine, .have = ledger_->have(c)};
}

std::optional<Shortfall> Attempt::check_link(Constraint c, const Side& inside) const {
    return check(c, need_of(ledger_->link_need(), inside, whole_));
}

bool Attempt::host_fits(std::uint32_t host, const Side& more) const {
    return !check_link({ConstraintKind::kHostLink, host}, hosts_[host] + more);
}

bool Attempt::rack_fits(std::uint32_t rack, const Side& more) const {
    return rack == kAnywhere || !check_link({ConstraintKind::kRackLink, rack}, racks_[rack] + more);
}

bool Attempt::serves(std::uint32_t v, std::uint32_t index) const {
    const VirtualAppliance& wanted = tenant_->appliances[v];
    const Appliance& appliance = topology_->appliances[index];
    return wanted.appliance == kAnywhere ? wanted.type == appliance.type || wanted.type == appliance.id
                                         : wanted.appliance == index;
}

Tokens Attempt::tokens_left(std::uint32_t appliance) const {
    const Tokens left = ledger_->left({ConstraintKind::kApplianceTokens, appliance});
    return left > tokens_[appliance] ? left - tokens_[appliance] : 0;
}

std::uint64_t Attempt::slots_left(std::uint32_t host) const {
    const std::uint64_t left = ledger_->left({ConstraintKind::kSlots, host});
    return left > slots_used_[host] ? left - slots_used_[host] : 0;
}

Tokens Attempt::encryption_left(std::uint32_t host) const {
    const Tokens left = ledger_->left({ConstraintKind::kEncryption, host});
    return left > encryption_[host] ? left - encryption_[host] : 0;
}

std::optional<Shortfall> Attempt::vnic_shortfall(std::uint32_t vnic, std::uint32_t host) const {
    const Side more{.vnics = tenant_->vnics[vnic].reservation};
    const std::uint32_t rack = topology_->hosts[host].rack;
    std::optional<Shortfall> found = check_link({ConstraintKind::kHostLink, host}, hosts_[host] + more);
    if (!found && rack != kAnywhere)
        found = check_link({ConstraintKind::kRackLink, rack}, racks_[rack] + more);
    if (!found && tenant_->vnics[vnic].encryption != 0)
        found =
            check({ConstraintKind::kEncryption, host}, encryption_[host] + tenant_->vnics[vnic].encryption);
    if (!found)
        found = check({ConstraintKind::kSlots, host}, Tokens{slots_used_[host]} + 1);
    if (found)
        found->index = vnic;
    return found;
}

std::optional<Shortfall> Attempt::appliance_shortfall(std::uint32_t v, std::uint32_t index) const {
    const Appliance& appliance = topology_->appliances[index];
    const Side more{.appliances = bandwidth_[v]};
    const std::uint32_t rack = rack_of(*topology_, appliance);
    const Tokens mine = tokens_[index] + tenant_->appliances[v].reservation;
    std::optional<Shortfall> found = check({ConstraintKind::kApplianceTokens, index}, mine);
    if (!found)
        found = check_link({ConstraintKind::kApplianceLink, index}, links_[index] + more);
    if (!found && appliance.host != kAnywhere)
        found = check_link({ConstraintKind::kHostLink, appliance.host}, hosts_[appliance.host] + more);
    if (!found && rack != kAnywhere)
        found = check_link({ConstraintKind::kRackLink, rack}, racks_[rack] + more);
    if (found) {
        found->part = Shortfall::Part::kAppliance;
        found->index = v;
    }
    return found;
}

std::optional<Shortfall> Attempt::shortfall() const {
    for (const auto& [c, amount] : needs_of(*topology_, ledger_->link_need(), *tenant_, layout_)) {
        std::optional<Shortfall> found = check(c, amount);
        if (!found)
            continue;
        const bool of_appliance =
            c.kind == ConstraintKind::kApplianceLink || c.kind == ConstraintKind::kApplianceTokens;
        found->part =
            of_appliance || layout_.hosts.empty() ? Shortfall::Part::kAppliance : Shortfall::Part::kVnic;
        // The last part that stands behind the constraint.
        const auto& behind = of_appliance ? layout_.appliances : layout_.hosts;
        for (std::uint32_t i = 0; i < behind.size(); ++i) {
            const bool is_rack = c.kind == ConstraintKind::kRackLink;
            if ((is_rack ? topology_->hosts[behind[i]].rack : behind[i]) == c.index)
                found->index = i;
        }
        return found;
    }
    return std::nullopt;
}

std::vector<std::uint32_t> Attempt::put_fixed_vnics() {
    for (std::uint32_t i = 0; i < tenant_->vnics.size(); ++i)
        if (tenant_->vnics[i].host != kAnywhere)
            put_vnic(i, tenant_->vnics[i].host);
    return open_vnics();
}

std::vector<std::uint32_t> Attempt::open_vnics() const {
    std::vector<std::uint32_t> open;
    for (std::uint32_t i = 0; i < layout_.hosts.size(); ++i)
        if (layout_.hosts[i] == kAnywhere)
            open.push_back(i);
    std::ranges::stable_sort(open, std::greater(), [&](std::uint32_t vnic) {
        return std::pair(tenant_->vnics[vnic].reservation, tenant_->vnics[vnic].encryption);
    });
    return open;
}

}  // namespace weir::placement
