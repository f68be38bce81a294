// flow_directory.cc - keys of service flows and peers, from the last HELLO, TABLES, and the addresses that
// vNICs send to.
#include "vswitch/agent/flow_directory.h"

#include <algorithm>
#include <utility>

namespace weir {
namespace {

using Kind = wire::Endpoint::Kind;

}  // namespace

void FlowDirectory::set_hello(const wire::Hello& hello) {
    if (hello.host != hello_.host) {
        endpoints_.clear();
        kept_.clear();
        guarantees_.clear();
    }
    hello_ = hello;
    find_flows();
}

void FlowDirectory::begin_session(bool by_need, Nanos now) {
    // Pairs of whole TABLES, and of the promises of an earlier run, keep their rates until they are answered.
    if (by_need && !by_need_)
        for (const auto& [flow, key] : keys_)
            if (const PeerPair pair{flow.vnic, flow.peer}; !flow.peer.empty() && asks_.note(pair, now))
                asks_.set_known(pair, true);
    by_need_ = by_need;
    asks_.restart(now);
}

void FlowDirectory::set_tables(const wire::Tables& tables) {
    std::map<std::uint32_t, wire::Endpoint> kept;
    if (by_need_)
        for (const auto& [pair, state] : asks_.pairs())
            if (const wire::Endpoint* peer = peer_of(pair))
                kept.emplace(peer->id, *peer);
    endpoints_.clear();
    kept_.clear();
    guarantees_.clear();
    for (const wire::Endpoint& end : tables.endpoints)
        endpoints_[end.id] = end;
    for (auto& [id, end] : kept)
        if (endpoints_.try_emplace(id, std::move(end)).second)
            kept_.insert(id);
    for (const wire::FlowAllocation& guarantee : tables.guarantees)
        guarantees_[guarantee.flow] = guarantee;
    find_flows();
}

void FlowDirectory::change_tables(const wire::Tables& changes, Nanos now) {
    for (const wire::Endpoint& end : changes.endpoints) {
        endpoints_[end.id] = end;
        kept_.erase(end.id);
    }
    for (const wire::FlowAllocation& guarantee : changes.guarantees)
        guarantees_[guarantee.flow] = guarantee;
    for (const std::uint32_t id : changes.removed) {
        std::vector<PeerPair> idle;
        for (const auto& [pair, state] : asks_.pairs())
            if (const wire::Endpoint* peer = peer_of(pair); peer != nullptr && peer->id == id)
                idle.push_back(pair);
        for (const PeerPair& pair : idle)
            asks_.erase(pair);
        endpoints_.erase(id);
        kept_.erase(id);
    }
    for (const wire::PeerAddress& address : changes.unknown) {
        const auto source = endpoints_.find(address.source);
        if (source == endpoints_.end())
            continue;
        const PeerPair pair{source->second.name, address.mac};
        if (!asks_.on_unknown(pair, now))
            continue;
        if (const wire::Endpoint* peer = peer_of(pair); peer != nullptr && kept_.erase(peer->id) != 0)
            endpoints_.erase(peer->id);
    }
    find_flows();
}

wire::Tables FlowDirectory::tables() const {
    wire::Tables tables;
    for (const auto& [id, end] : endpoints_)
        tables.endpoints.push_back(end);
    for (const auto& [flow, guarantee] : guarantees_)
        tables.guarantees.push_back(guarantee);
    return tables;
}

bool FlowDirectory::note_destinations(std::span<const PeerPair> destinations, Nanos now) {
    const auto is_flow = [&](const PeerPair& pair) { return keys_.contains({pair.vnic, 0, pair.mac}); };
    bool is_new = false;
    for (const PeerPair& pair : destinations) {
        if (is_flow(pair))  // noted before its limiter was there
            continue;
        if (!asks_.note(pair, now))
            ++destinations_left_out_;
        else
            is_new = is_new || peer_of(pair) != nullptr;
    }
    if (is_new)
        find_flows();
    return is_new;
}

std::vector<wire::PeerAddress> FlowDirectory::due_asks(Nanos now, std::size_t most) {
    std::vector<wire::PeerAddress> addresses;
    for (const PeerPair& pair : asks_.due(now, most))
        if (const wire::Endpoint* vnic = own(pair.vnic))
            addresses.push_back({vnic->id, pair.mac});
    return addresses;
}

const wire::Endpoint* FlowDirectory::endpoint(std::uint32_t id) const {
    const auto found = endpoints_.find(id);
    return found == endpoints_.end() ? nullptr : &found->second;
}

/// The switch's vNIC, if the controller has it on this host.
const wire::Endpoint* FlowDirectory::own(std::string_view vnic) const {
    const auto id = vnic_ids_.find(vnic);
    if (id == vnic_ids_.end())
        return nullptr;
    const wire::Endpoint* end = endpoint(id->second);
    return end != nullptr && end->host == hello_.host ? end : nullptr;
}

bool FlowDirectory::is_peer(const wire::Endpoint& end) const {
    return end.kind == Kind::kVnic && !end.host.empty() && end.host != hello_.host && !end.mac.empty();
}

const wire::Endpoint* FlowDirectory::peer_of(const PeerPair& pair) const {
    const wire::Endpoint* vnic = own(pair.vnic);
    if (vnic == nullptr)
        return nullptr;
    const auto peer = peers_.find({vnic->tenant, vnic->vlan, pair.mac});
    return peer == peers_.end() ? nullptr : endpoint(peer->second);
}

void FlowDirectory::find_flows() {
    vnic_ids_.clear();
    appliance_ids_.clear();
    peers_.clear();
    keys_.clear();
    for (const auto& [id, end] : endpoints_) {
        (end.kind == Kind::kVnic ? vnic_ids_ : appliance_ids_)[end.name] = id;
        if (is_peer(end))
            peers_[{end.tenant, end.vlan, end.mac}] = id;
    }
    add_request_flows();
    by_need_ ? add_talking_peers() : add_all_peers();
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

void FlowDirectory::add_talking_peers() {
    std::set<std::string_view> there;
    for (const wire::HelloVnic& vnic : hello_.vnics)
        there.insert(vnic.name);
    std::vector<std::pair<PeerPair, bool>> known;
    for (const auto& [pair, state] : asks_.pairs()) {
        const wire::Endpoint* peer = there.contains(pair.vnic) ? peer_of(pair) : nullptr;
        known.emplace_back(pair, peer != nullptr && !kept_.contains(peer->id));
        if (peer != nullptr)
            keys_[{pair.vnic, 0, pair.mac}] = {own(pair.vnic)->id, peer->id};
    }
    for (const auto& [pair, is_known] : known)
        asks_.set_known(pair, is_known);
}

void FlowDirectory::add_all_peers() {
    std::size_t peers = 0;
    peers_left_out_ = 0;
    for (const wire::HelloVnic& vnic : hello_.vnics) {
        const wire::Endpoint* self = own(vnic.name);
        if (self == nullptr)
            continue;
        // Ordered by tenant, VLAN and address: the vNIC's peers stand together.
        for (auto at = peers_.lower_bound({self->tenant, vnic.vlan, ""});
             at != peers_.end() && std::get<0>(at->first) == self->tenant &&
             std::get<1>(at->first) == vnic.vlan;
             ++at) {
            if (++peers > PeerAsks::kPairsMax) {
                ++peers_left_out_;
                continue;
            }
            keys_[{vnic.name, 0, std::get<2>(at->first)}] = {self->id, at->second};
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

std::map<std::string, VnicPromise> FlowDirectory::promises() const {
    std::map<std::string, VnicPromise> promises;
    for (const auto& [id, end] : endpoints_)
        if (end.promise && end.kind == Kind::kVnic && end.host == hello_.host)
            promises.emplace(end.name, *end.promise);
    return promises;
}

std::uint64_t FlowDirectory::pair_floor(wire::FlowKey key) const {
    const wire::Endpoint* source = endpoint(key.source);
    const wire::Endpoint* destination = endpoint(key.destination);
    return source == nullptr || destination == nullptr || !source->floor || !destination->floor
               ? wire::kNoStatement
               : std::min(*source->floor, *destination->floor);
}

}  // namespace weir
