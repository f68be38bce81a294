// flow_directory.cc - keys of service flows and peers, from the last HELLO and TABLES.
#include "vswitch/agent/flow_directory.h"

#include <algorithm>

namespace weir {
namespace {

/// Peers of all vNICs together: each is a limiter in the data path.
constexpr std::size_t kPeersMax = 4'096;

using Kind = wire::Endpoint::Kind;

}  // namespace

void FlowDirectory::set_hello(const wire::Hello& hello) {
    hello_ = hello;
    set_keys();
}

void FlowDirectory::set_tables(const wire::Tables& tables) {
    vnic_ids_.clear();
    appliance_ids_.clear();
    guarantees_.clear();
    endpoints_ = tables.endpoints;
    for (const wire::Endpoint& end : tables.endpoints)
        (end.kind == Kind::kVnic ? vnic_ids_ : appliance_ids_)[end.name] = end.id;
    for (const wire::FlowAllocation& guarantee : tables.guarantees)
        guarantees_[guarantee.flow] = guarantee;
    set_keys();
}

void FlowDirectory::set_keys() {
    keys_.clear();
    add_request_flows();
    add_peers();
}

void FlowDirectory::add_request_flows() {
    for (const wire::HelloVnic& vnic : hello_.vnics) {
        const auto source = vnic_ids_.find(vnic.name);
        if (source == vnic_ids_.end())
            continue;
        for (std::uint16_t i = 0; i < hello_.appliances.size(); ++i)
            if (const auto destination = appliance_id(i))
                keys_[{vnic.name, i, {}}] = {source->second, *destination};
    }
}

void FlowDirectory::add_peers() {
    std::size_t peers = 0;
    for (const wire::HelloVnic& vnic : hello_.vnics) {
        const auto own = std::find_if(endpoints_.begin(), endpoints_.end(), [&](const auto& end) {
            return end.kind == Kind::kVnic && end.name == vnic.name && end.host == hello_.host;
        });
        if (own == endpoints_.end())
            continue;
        const auto is_peer = [&](const wire::Endpoint& end) {
            return end.kind == Kind::kVnic && end.tenant == own->tenant && !end.host.empty() &&
                   end.host != hello_.host && !end.mac.empty() && end.vlan == vnic.vlan;
        };
        for (const wire::Endpoint& end : endpoints_)
            if (is_peer(end) && peers < kPeersMax) {
                keys_[{vnic.name, 0, end.mac}] = {vnic_ids_.at(vnic.name), end.id};
                ++peers;
            }
    }
}

std::optional<std::uint32_t> FlowDirectory::appliance_id(std::uint16_t appliance) const {
    const auto found = appliance_ids_.find(hello_.appliances[appliance].name);
    return found == appliance_ids_.end() ? std::nullopt : std::optional(found->second);
}

const wire::FlowAllocation* FlowDirectory::guarantee(wire::FlowKey key) const {
    const auto found = guarantees_.find(key);
    return found == guarantees_.end() ? nullptr : &found->second;
}

}  // namespace weir
