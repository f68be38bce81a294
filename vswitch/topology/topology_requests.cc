// topology_requests.cc - what the controller asks of the switch: the tallies of request flows and of traffic
// between VMs, and rates for them.
#include <algorithm>
#include <utility>

#include "common/units.h"
#include "vswitch/topology/topology.h"
#include "vswitch/topology/topology_guarantees.h"

namespace weir {
namespace {

constexpr std::uint64_t kSilent = UINT64_MAX;
/// As in the configuration: no bucket is slower than this, or faster.
constexpr std::uint64_t kTokensMost = 1'000'000'000'000;
constexpr std::uint64_t kSharesMost = 10'000;
constexpr std::uint64_t kBytesLeast = 125;
constexpr std::uint64_t kBytesMost = 50'000'000'000;
/// Rules that a worker takes in one go: some microseconds.
constexpr std::size_t kRulesAtOnce = 64;

/// What has to be said so that `now` holds where `before` did.
std::vector<PeerRule> rules_between(const std::map<std::uint64_t, std::uint64_t>& before,
                                    const std::map<std::uint64_t, std::uint64_t>& now) {
    std::vector<PeerRule> rules;
    for (const auto& [address, rate] : before)
        if (!now.contains(address))
            rules.push_back({address, std::nullopt});
    for (const auto& [address, rate] : now)
        if (const auto was = before.find(address); was == before.end() || was->second != rate)
            rules.push_back({address, rate});
    return rules;
}

/// The lower of the operator's limit and the controller's rate, in the limit's unit.
void bound(std::optional<std::uint64_t>& limit, std::uint64_t rate, std::uint64_t least, std::uint64_t most,
           std::uint64_t unit) {
    if (rate == kSilent)
        return;
    const std::uint64_t allowed = std::clamp(rate, least, most) * unit;
    limit = std::min(limit.value_or(allowed), allowed);
}

}  // namespace

std::map<std::uint16_t, RequestRates> Topology::rates_of(const std::string& vnic) const {
    const auto found = controller_rates_.find(vnic);
    return found == controller_rates_.end() ? std::map<std::uint16_t, RequestRates>() : found->second;
}

VnicProfile Topology::profile_of(const VnicConfig& config, const Vnic& vnic) const {
    VnicConfig bounded = as_guaranteed_now(config, *vnic.guarantee);
    for (const auto& [appliance, rate] : vnic.rates) {
        if (appliance >= config_.appliances.size())
            continue;
        const std::string& name = config_.appliances[appliance].name;
        for (VnicApplianceConfig& part : bounded.appliances) {
            if (part.name != name)
                continue;
            const auto of = [&rate](PathResource resource) {
                return rate[static_cast<std::size_t>(resource)];
            };
            bound(part.limit_tokens, of(PathResource::kAppliance), 1, kTokensMost, 1);
            bound(part.uplink_bps, of(PathResource::kUplink), kBytesLeast, kBytesMost, kBitsPerByte);
            bound(part.downlink_bps, of(PathResource::kDownlink), kBytesLeast, kBytesMost, kBitsPerByte);
        }
    }
    reserve_in_windows(bounded);
    return make_vnic_profile(bounded, config_);
}

/// The controller's reservations and shares, where it made any.
void Topology::reserve_in_windows(VnicConfig& vnic) const {
    const auto own = controller_windows_.reservations.find(vnic.name);
    if (own == controller_windows_.reservations.end())
        return;
    for (const auto& [appliance, told] : own->second) {
        if (appliance >= config_.appliances.size() || !config_.appliances[appliance].window_tokens)
            continue;
        const auto part = std::ranges::find(vnic.appliances, config_.appliances[appliance].name,
                                            &VnicApplianceConfig::name);
        if (part == vnic.appliances.end())
            continue;
        part->reservation_tokens = std::min(told.tokens, kTokensMost);
        if (told.shares != 0)
            part->shares = static_cast<std::uint32_t>(std::min(told.shares, kSharesMost));
    }
}

void Topology::set_request_windows(const RequestWindows& windows) {
    const std::scoped_lock lock(mutex_);
    if (windows == controller_windows_)
        return;
    const auto before = std::exchange(controller_windows_, windows);
    for (std::uint16_t i = 0; i < config_.appliances.size(); ++i) {
        if (!config_.appliances[i].window_tokens)
            continue;
        const auto told = windows.tokens.find(i);
        appliances_[i].window_share->set_capacity(
            told == windows.tokens.end() ? *config_.appliances[i].window_tokens
                                         : std::clamp<std::uint64_t>(told->second, 1, kTokensMost));
    }
    tell_owners([&](VnicId id, Vnic& vnic) -> std::uint64_t {
        const std::string& name = vnic.config.name;
        const auto of = [&name](const RequestWindows& all) {
            const auto found = all.reservations.find(name);
            return found == all.reservations.end() ? std::map<std::uint16_t, WindowPart>() : found->second;
        };
        return of(before) == of(windows) ? 0 : post_profile(id, vnic.config);
    });
}

std::vector<RequestSample> Topology::sample_requests() {
    const std::scoped_lock lock(mutex_);
    tell_owners([this](VnicId id, Vnic& vnic) -> std::uint64_t {
        if (vnic.config.appliances.empty())
            return 0;
        WorkerCommand command{WorkerCommand::Type::kReadRequests};
        command.vnic = id;
        command.requests = &vnic.requests;
        return post(vnic.path->fixed.owner, command);
    });
    std::vector<RequestSample> samples;
    for (const auto& vnic : vnics_)
        if (vnic)
            for (const RequestPath::Reading& reading : vnic->requests)
                samples.push_back({vnic->config.name, {reading.appliance, reading.stats}});
    return samples;
}

void Topology::set_request_rates(const RequestRatesByVnic& rates) {
    const std::scoped_lock lock(mutex_);
    controller_rates_ = rates;
    tell_owners([this](VnicId id, Vnic& vnic) -> std::uint64_t {
        const auto now = rates_of(vnic.config.name);
        if (now == vnic.rates)
            return 0;
        vnic.rates = now;
        return post_profile(id, vnic.config);
    });
}

std::vector<PeerSample> Topology::sample_peers() {
    const std::scoped_lock lock(mutex_);
    tell_owners([this](VnicId id, Vnic& vnic) -> std::uint64_t {
        if (vnic.peers.empty())
            return 0;
        WorkerCommand command{WorkerCommand::Type::kReadPeers};
        command.vnic = id;
        command.peers = vnic.peers;
        return post(vnic.path->fixed.owner, command);
    });
    std::vector<PeerSample> samples;
    for (const auto& vnic : vnics_)
        if (vnic)
            for (const PeerReading& peer : vnic->peers)
                samples.push_back({vnic->config.name, peer});
    return samples;
}

void Topology::set_peer_rates(const PeerRates& rates) {
    const std::scoped_lock lock(mutex_);
    if (!uplink_)
        return;
    const std::map<std::uint64_t, std::uint64_t> none;
    tell_owners([&](VnicId id, Vnic& vnic) {
        const auto told = rates.find(vnic.config.name);
        const auto& now = told == rates.end() ? none : told->second;
        vnic.peer_rules = rules_between(vnic.peer_rates, now);
        vnic.peer_rates = now;
        vnic.peers.clear();
        for (const auto& [address, rate] : now)
            vnic.peers.push_back({.address = address});
        std::uint64_t number = 0;
        for (std::size_t first = 0; first < vnic.peer_rules.size(); first += kRulesAtOnce) {
            WorkerCommand command{WorkerCommand::Type::kRulePeers};
            command.vnic = id;
            command.rules = std::span(vnic.peer_rules)
                                .subspan(first, std::min(kRulesAtOnce, vnic.peer_rules.size() - first));
            number = post(vnic.path->fixed.owner, command);
        }
        return number;
    });
}

void Topology::note_controller(const ControllerReport& controller) {
    const std::scoped_lock lock(mutex_);
    controller_ = controller;
}

}  // namespace weir
