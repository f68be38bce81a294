// topology_learned.cc - guests' assigned addresses outlast a restart of the switch and the removal of a vNIC.
// Source: docs/algorithms.md 3.10. Units: Nanos of now(); in the file since the machine's boot.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <string>
#include <variant>
#include <vector>

#include "vswitch/topology/topology.h"

namespace weir {
namespace {

bool is_client(const VnicConfig& config) {
    return config.dhcp == DhcpRole::kClient;
}

/// The same moment on a clock that shows `there` when the other one shows `here`; 0 when it is before its
/// start.
Nanos on_clock(Nanos moment, Nanos here, Nanos there) {
    if (moment == kNever || moment >= here)
        return moment == kNever || moment - here >= kNever - there ? kNever : there + (moment - here);
    return there - std::min(there, here - moment);
}

}  // namespace

/// A file that is refused is replaced by the first that is written.
void Topology::read_learned() {
    auto found = learned_file_.read();
    if (const auto* reason = std::get_if<std::string>(&found)) {
        spdlog::warn(
            "{}: not used: {}; guests with \"dhcp\": \"client\" get their addresses back with their next "
            "DHCP renewal or the router's next advertisement",
            learned_file_.path(), *reason);
        return;
    }
    const Nanos boot = time_since_boot();
    for (LearnedVnic& vnic : std::get<std::vector<LearnedVnic>>(found)) {
        for (LearnedAddress& each : vnic.addresses)
            each.until = on_clock(each.until, boot, now());
        left_[vnic.name] = std::move(vnic);
    }
}

/// Another guest may have been given the address while this one was away.
bool Topology::taken_by_another(const Vnic& vnic, const IpAddress& address) const {
    return std::ranges::any_of(vnics_, [&](const std::unique_ptr<Vnic>& other) {
        if (!other || other.get() == &vnic || other->config.vlan != vnic.config.vlan)
            return false;
        return std::ranges::any_of(
                   other->config.addresses,
                   [&](const IpNetwork& own) { return own.base == address && own.last() == address; }) ||
               std::ranges::any_of(other->snapshot.learned, [&](const LearnedAddress& own) {
                   return own.from != LearnedAddress::From::kNone && own.until > now() &&
                          own.address == address;
               });
    });
}

void Topology::restore_learned(Vnic& vnic) {
    const auto found = left_.find(vnic.config.name);
    if (found == left_.end() || !is_client(vnic.config) ||
        !found->second.same_vnic(LearnedVnic::of(vnic.config)))
        return;
    std::vector<LearnedAddress> good;
    std::string names;
    for (const LearnedAddress& each : found->second.addresses) {
        if (each.until <= now() || taken_by_another(vnic, each.address))
            continue;
        good.push_back(each);
        names += (names.empty() ? "" : ", ") + each.address.to_string();
    }
    vnic.path->guard.restore(vnic.path->profile.addresses, good);
    vnic.snapshot.learned = vnic.path->guard.learned();
    if (!names.empty())
        spdlog::info("vNIC {}: its guest goes on with {}", vnic.config.name, names);
}

LearnedVnic Topology::learned_of(const Vnic& vnic) const {
    LearnedVnic learned = LearnedVnic::of(vnic.config);
    if (!is_client(vnic.config))
        return learned;
    for (const LearnedAddress& each : vnic.snapshot.learned)
        if (each.from != LearnedAddress::From::kNone && each.until > now())
            learned.addresses.push_back(each);
    return learned;
}

/// By the last snapshots. Of vNICs that are not here those are kept whose addresses have not ended.
void Topology::write_learned() {
    std::erase_if(left_, [this](const auto& each) {
        return std::ranges::all_of(each.second.addresses,
                                   [this](const LearnedAddress& address) { return address.until <= now(); });
    });
    std::vector<LearnedVnic> all;
    for (const auto& vnic : vnics_)
        if (vnic)
            if (LearnedVnic learned = learned_of(*vnic); !learned.addresses.empty())
                all.push_back(std::move(learned));
    for (const auto& [name, learned] : left_)
        all.push_back(learned);
    if (all == written_)
        return;
    written_ = all;
    const Nanos boot = time_since_boot();
    for (LearnedVnic& vnic : all)
        for (LearnedAddress& each : vnic.addresses)
            each.until = on_clock(each.until, now(), boot);
    std::string fault = learned_file_.write(all);
    if (fault != learned_fault_ && !fault.empty())
        spdlog::warn(
            "{}: {}; after a restart of the switch, guests with \"dhcp\": \"client\" have no address until "
            "their next DHCP renewal: give the switch's user write access to the folder",
            learned_file_.path(), fault);
    learned_fault_ = std::move(fault);
}

/// Once for each vNIC until it learns an address.
void Topology::name_unknown_guests() {
    constexpr std::array kSpoofs{DropReason::kIpSpoof, DropReason::kArpSpoof, DropReason::kNdSpoof};
    for (const auto& vnic : vnics_) {
        if (!vnic || !is_client(vnic->config))
            continue;
        std::uint64_t refused = 0;
        for (const DropReason reason : kSpoofs)
            refused += vnic->snapshot.from_vm.drops[static_cast<std::size_t>(reason)];
        const bool unknown = learned_of(*vnic).addresses.empty() && refused != 0;
        if (unknown && !vnic->unknown_named)
            spdlog::warn(
                "vNIC {}: {} frame(s) of its guest were refused: no address is assigned to it that the "
                "switch "
                "knows; it learns one from the guest's next DHCP exchange or the router's next "
                "advertisement: renew the lease in the guest, or weirctl vnic set {} addresses=ADDRESS",
                vnic->config.name, refused, vnic->config.name);
        vnic->unknown_named = unknown;
    }
}

}  // namespace weir
