// link_rates.cc - what the controller's words mean for the switch's flows: whom it rules, and by how much.
#include <algorithm>

#include "vswitch/agent/link_session.h"

namespace weir {
namespace {

constexpr PartRates kSilence{wire::kNoStatement, wire::kNoStatement, wire::kNoStatement};

}  // namespace

/// Who of our vNICs' tenants is on other hosts: what goes there uses links that others use.
void LinkSession::take_peers(const wire::Tables& tables) {
    peers_.clear();
    for (const wire::HelloVnic& vnic : hello_.vnics) {
        const auto own = std::find_if(tables.endpoints.begin(), tables.endpoints.end(), [&](const auto& end) {
            return end.kind == wire::Endpoint::Kind::kVnic && end.name == vnic.name &&
                   end.host == hello_.host;
        });
        if (own == tables.endpoints.end())
            continue;
        for (const wire::Endpoint& end : tables.endpoints)
            if (end.kind == wire::Endpoint::Kind::kVnic && end.tenant == own->tenant && !end.host.empty() &&
                end.host != hello_.host && !end.mac.empty() && end.vlan == vnic.vlan &&
                peers_.size() < kPeersMost)
                peers_[{vnic.name, 0, end.mac}] = end.id;
    }
    std::erase_if(tallies_, [this](const auto& each) {
        return !names_.contains(each.first) && !peers_.contains(each.first);
    });
}

bool LinkSession::take_rates(std::map<LocalFlow, PartRates>& rates) {
    if (!std::exchange(rates_changed_, false))
        return false;
    rates.clear();
    for (const auto& [flow, name] : names_) {
        const auto key = key_of(flow);
        if (!key)
            continue;
        if (const PartRates found = rates_of(*key); found != kSilence)
            rates[flow] = found;
    }
    // Without the controller their vNICs' own limits and what their destinations ask for hold alone.
    for (const auto& [flow, id] : peers_)
        if (const auto key = key_of(flow))
            rates[flow] = rates_of(*key);
    return true;
}

HostWindows LinkSession::windows() const {
    HostWindows windows;
    if (state_ == State::kSilent)
        return windows;
    const auto said = [this](wire::FlowKey key) -> std::optional<WindowPart> {
        const auto found = allocations_.find(key);
        if (found == allocations_.end() || found->second.rate[wire::kTokens] == wire::kNoStatement)
            return std::nullopt;
        const std::uint64_t shares = found->second.rate[wire::kThere];
        return WindowPart{found->second.rate[wire::kTokens], shares == wire::kNoStatement ? 0 : shares};
    };
    for (std::size_t i = 0; i < hello_.appliances.size(); ++i)
        if (const auto id = appliance_ids_.find(hello_.appliances[i].name); id != appliance_ids_.end())
            if (const auto part = said({wire::kWholeHost, id->second}))
                windows.tokens[static_cast<std::uint16_t>(i)] = part->tokens;
    for (const auto& [flow, name] : names_)
        if (const auto key = key_of(flow))
            if (const auto part = said({key->source, key->destination | wire::kReserved}))
                windows.reservations[flow] = *part;
    return windows;
}

/// What the controller says, or has said of silence.
PartRates LinkSession::rates_of(wire::FlowKey key) const {
    const auto told = allocations_.find(key);
    if (state_ != State::kSilent && told != allocations_.end())
        return told->second.rate;
    const auto kept = guarantees_.find(key);
    return kept != guarantees_.end() ? kept->second.rate : kSilence;
}

}  // namespace weir
