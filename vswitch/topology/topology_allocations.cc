// topology_allocations.cc - samples of flows for the controller; rates, windows and refusals from it.
// Units: tokens and bytes per second.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include "common/units.h"
#include "vswitch/topology/topology.h"

namespace weir {
namespace {

/// Bounds of rates in buckets, as of the configuration's limits.
constexpr std::uint64_t kTokensMax = 1'000'000'000'000;
constexpr std::uint64_t kSharesMax = 10'000;
constexpr std::uint64_t kBytesMin = 125;
constexpr std::uint64_t kBytesMax = 50'000'000'000;
constexpr FlowTokens kNothingAllocated{wire::kNoStatement, wire::kNoStatement, wire::kNoStatement};
/// Peers of one command: a worker applies their rates in some microseconds.
constexpr std::size_t kPeersPerCommand = 64;

FlowTokens by_part(const std::array<std::uint64_t, kPathResources>& values) {
    FlowTokens parts{};
    parts[wire::kThere] = values[static_cast<std::size_t>(PathResource::kUplink)];
    parts[wire::kTokens] = values[static_cast<std::size_t>(PathResource::kAppliance)];
    parts[wire::kBack] = values[static_cast<std::size_t>(PathResource::kDownlink)];
    return parts;
}

/// Changes that lead from the rates `before` to those of `now`.
std::vector<PeerAllocation> changes_between(const std::map<std::uint64_t, std::uint64_t>& before,
                                            const std::map<std::uint64_t, std::uint64_t>& now) {
    std::vector<PeerAllocation> changes;
    for (const auto& [address, rate] : before)
        if (!now.contains(address))
            changes.push_back({address, std::nullopt});
    for (const auto& [address, rate] : now)
        if (const auto was = before.find(address); was == before.end() || was->second != rate)
            changes.push_back({address, rate});
    return changes;
}

void note_posted(std::map<std::uint64_t, std::uint64_t>& rates, std::span<const PeerAllocation> posted) {
    for (const PeerAllocation& peer : posted)
        if (peer.rate)
            rates[peer.address] = *peer.rate;
        else
            rates.erase(peer.address);
}

/// The part of `windows` that concerns one vNIC.
std::map<LocalFlow, WindowPart> reservations_of(const std::string& vnic, const HostWindows& windows) {
    const auto& all = windows.reservations;
    return {all.lower_bound({.vnic = vnic}), all.upper_bound({.vnic = vnic, .appliance = UINT16_MAX})};
}

/// The controller's rate, within the bounds, in the limit's unit.
std::uint64_t allowed(std::uint64_t rate, std::uint64_t min, std::uint64_t max, std::uint64_t unit) {
    return std::clamp(rate, min, max) * unit;
}

/// Sets `limit` to the lower of itself and the controller's rate, in the limit's unit.
void bound(std::optional<std::uint64_t>& limit, std::uint64_t rate, std::uint64_t min, std::uint64_t max,
           std::uint64_t unit) {
    if (rate == wire::kNoStatement)
        return;
    limit = std::min(limit.value_or(UINT64_MAX), allowed(rate, min, max, unit));
}

/// The side whose limit holds a flow's requests, for each way of holding them: the controller, where its rate
/// is not above the switch's own limit.
std::array<wire::Blocked, kRequestHolds> blocked_by(const VnicApplianceConfig& own,
                                                    const FlowTokens& allocated) {
    using enum wire::Blocked;
    const auto lower = [](const std::optional<std::uint64_t>& limit, std::uint64_t rate, std::uint64_t min,
                          std::uint64_t max, std::uint64_t unit, wire::Blocked controller) {
        return rate != wire::kNoStatement && allowed(rate, min, max, unit) <= limit.value_or(UINT64_MAX)
                   ? controller
                   : kOwnLimit;
    };
    std::array<wire::Blocked, kRequestHolds> by{};
    by.fill(kOwnLimit);
    by[static_cast<std::size_t>(PathResource::kAppliance)] =
        lower(own.limit_tokens, allocated[wire::kTokens], 1, kTokensMax, 1, kAppliance);
    by[static_cast<std::size_t>(PathResource::kUplink)] =
        lower(own.uplink_bps, allocated[wire::kThere], kBytesMin, kBytesMax, kBitsPerByte, kWay);
    by[static_cast<std::size_t>(PathResource::kDownlink)] =
        lower(own.downlink_bps, allocated[wire::kBack], kBytesMin, kBytesMax, kBitsPerByte, kWay);
    by[kWindowHold] = kAppliance;
    return by;
}

}  // namespace

Topology::Rates Topology::rates_of(const std::string& vnic) const {
    Rates rates;
    for (auto at = controller_rates_.lower_bound({.vnic = vnic});
         at != controller_rates_.end() && at->first.vnic == vnic; ++at) {
        const auto& [flow, rate] = *at;
        if (flow.peer.empty())
            rates.requests[flow.appliance] = rate;
        else if (const auto mac = MacAddress::parse(flow.peer))
            rates.peers[mac->bits] = rate[wire::kThere];
    }
    return rates;
}

/// Lowers the limits of the vNIC's parts of appliances to the controller's rates, and replaces its
/// reservations and shares in their windows by the controller's.
void Topology::bound_by_controller(VnicConfig& vnic, const Rates& rates) const {
    for (VnicApplianceConfig& part : vnic.appliances) {
        const auto config = std::ranges::find(config_.appliances, part.name, &ApplianceConfig::name);
        const auto appliance = static_cast<std::uint16_t>(config - config_.appliances.begin());
        if (const auto rate = rates.requests.find(appliance); rate != rates.requests.end()) {
            bound(part.limit_tokens, rate->second[wire::kTokens], 1, kTokensMax, 1);
            bound(part.uplink_bps, rate->second[wire::kThere], kBytesMin, kBytesMax, kBitsPerByte);
            bound(part.downlink_bps, rate->second[wire::kBack], kBytesMin, kBytesMax, kBitsPerByte);
        }
        const auto reserved =
            controller_windows_.reservations.find({.vnic = vnic.name, .appliance = appliance});
        if (!config->window_tokens || reserved == controller_windows_.reservations.end())
            continue;
        part.reservation_tokens = std::min(reserved->second.tokens, kTokensMax);
        if (reserved->second.shares != 0)
            part.shares = static_cast<std::uint32_t>(std::min(reserved->second.shares, kSharesMax));
    }
}

void Topology::set_windows(const HostWindows& windows) {
    const std::scoped_lock lock(mutex_);
    if (windows == controller_windows_)
        return post_due_profiles();
    const HostWindows before = std::exchange(controller_windows_, windows);
    for (std::uint16_t i = 0; i < config_.appliances.size(); ++i) {
        if (!config_.appliances[i].window_tokens)
            continue;
        const auto allocated = windows.tokens.find(i);
        appliances_[i].window_share->set_capacity(
            allocated == windows.tokens.end() ? *config_.appliances[i].window_tokens
                                              : std::clamp<std::uint64_t>(allocated->second, 1, kTokensMax));
    }
    for (const auto& vnic : vnics_)
        if (vnic && reservations_of(vnic->config.name, before) != reservations_of(vnic->config.name, windows))
            vnic->profile_due = true;
    post_due_profiles();
}

void Topology::set_refusals(const Refusals& refusals) {
    const std::scoped_lock lock(mutex_);
    refusals_ = refusals;
    for (const auto& vnic : vnics_) {
        if (!vnic)
            continue;
        const auto found = refusals_.find(vnic->config.name);
        VnicRefusal now = found == refusals_.end() ? VnicRefusal{} : found->second;
        if (now == vnic->refusal)
            continue;
        vnic->refusal = std::move(now);
        vnic->profile_due = true;
        log_refusal(*vnic);
    }
    post_due_profiles();
}

void Topology::log_refusal(const Vnic& vnic) {
    const bool is_served = vnic.refusal.why.empty();
    history_->events.add_of_vnic(now(), vnic.config.name,
                                 is_served ? EventKind::kServed : EventKind::kRefused, vnic.refusal.why);
    if (is_served)
        return spdlog::info("vNIC {}: the controller refuses it no more; it is served as configured",
                            vnic.config.name);
    const bool is_held = service_of(vnic.refusal, config_.controller) == OnRefused::kHold;
    spdlog::warn("vNIC {}: the controller refuses it: {}; {} (controller.{})", vnic.config.name,
                 vnic.refusal.why, is_held ? "its frames wait" : "it is served as best effort",
                 vnic.refusal.is_unknown ? "on_unknown" : "on_refused");
}

std::vector<FlowSample> Topology::sample_flows() {
    const std::scoped_lock lock(mutex_);
    run_on_owners([this](VnicId id, Vnic& vnic) {
        std::uint64_t number = 0;
        if (!vnic.config.appliances.empty())
            number = post_to_owner(vnic, command::ReadRequests{id, &vnic.requests});
        if (!vnic.peers.empty())
            number = post_to_owner(vnic, command::ReadPeers{id, vnic.peers});
        return number;
    });
    std::vector<FlowSample> samples;
    for (const auto& vnic : vnics_) {
        if (!vnic)
            continue;
        for (const auto& [appliance, stats] : vnic->requests) {
            const auto part = std::ranges::find(vnic->config.appliances, config_.appliances[appliance].name,
                                                &VnicApplianceConfig::name);
            const auto allocated = vnic->rates.requests.find(appliance);
            samples.push_back(
                {.flow = {.vnic = vnic->config.name, .appliance = appliance},
                 .used = by_part(stats.used),
                 .queued = by_part(stats.queued),
                 .outstanding_tokens = stats.outstanding_tokens,
                 .outstanding = stats.outstanding,
                 .responses = stats.responses,
                 .blocked_ns = stats.blocked_ns,
                 .blocked_by = blocked_by(
                     part == vnic->config.appliances.end() ? VnicApplianceConfig{} : *part,
                     allocated == vnic->rates.requests.end() ? kNothingAllocated : allocated->second)});
        }
        for (const PeerReading& peer : vnic->peers)
            samples.push_back(
                {.flow = {.vnic = vnic->config.name, .peer = MacAddress{peer.address}.to_string()},
                 .used = {peer.bytes, 0, 0},
                 .queued = {peer.queued, 0, 0},
                 .refused = peer.refused});
    }
    return samples;
}

std::vector<PeerPair> Topology::take_destinations() {
    const std::scoped_lock lock(mutex_);
    if (!uplink_)
        return {};
    destinations_.resize(workers_.size());
    std::vector<std::uint64_t> numbers(workers_.size());
    for (WorkerId id = 0; id < workers_.size(); ++id)
        numbers[id] = post(id, command::TakeDestinations{&destinations_[id]});
    std::vector<PeerPair> pairs;
    for (WorkerId id = 0; id < workers_.size(); ++id) {
        await(id, numbers[id]);
        for (const auto& [address, vnic] : std::span(destinations_[id].seen).first(destinations_[id].count))
            if (const Vnic* const from = vnic_of(vnic))
                pairs.push_back({from->config.name, MacAddress{address}.to_string()});
    }
    return pairs;
}

/// Rates that were not posted because a worker did not answer are still due in the next call.
void Topology::set_rates(const FlowRates& rates) {
    const std::scoped_lock lock(mutex_);
    controller_rates_ = rates;
    for (const auto& vnic : vnics_) {
        if (!vnic)
            continue;
        auto requests = rates_of(vnic->config.name).requests;
        if (requests == vnic->rates.requests)
            continue;
        vnic->rates.requests = std::move(requests);
        vnic->profile_due = true;
    }
    post_due_profiles();
    if (uplink_)
        run_on_owners(
            [this](VnicId id, Vnic& vnic) { return post_peer_rates(id, rates_of(vnic.config.name).peers); });
}

/// @return number of the last command; 0 when nothing changed
std::uint64_t Topology::post_peer_rates(VnicId id, std::map<std::uint64_t, std::uint64_t> rates) {
    Vnic& vnic = *vnics_[id];
    if (rates == vnic.rates.peers)
        return 0;
    await_owner(vnic);
    vnic.peer_allocations = changes_between(vnic.rates.peers, rates);
    std::uint64_t number = 0;
    const std::span<const PeerAllocation> changes = vnic.peer_allocations;
    for (std::size_t first = 0; first < changes.size(); first += kPeersPerCommand) {
        const auto peers = changes.subspan(first, std::min(kPeersPerCommand, changes.size() - first));
        number = post_to_owner(vnic, command::AllocatePeers{id, peers});
        post_to_members(vnic, [peers](const Member& member) {
            return command::AllocatePeers{member.path->fixed.id, peers};
        });
        note_posted(vnic.rates.peers, peers);
    }
    vnic.peers.clear();
    for (const auto& [address, rate] : vnic.rates.peers)
        vnic.peers.push_back({.address = address});
    return number;
}

}  // namespace weir
