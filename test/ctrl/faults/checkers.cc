// checkers.cc - the list of checkers, and flows by the plan's own numbers.
#include "test/ctrl/faults/checkers.h"

#include <algorithm>

namespace weir::faults {
namespace {

std::uint32_t vnic_of(const Plan& plan, const std::string& name) {
    const auto found = std::ranges::find(plan.vnics, name, &PlannedVnic::name);
    return found == plan.vnics.end() ? kNone : static_cast<std::uint32_t>(found - plan.vnics.begin());
}

std::uint32_t host_number(const Plan& plan, const std::string& name) {
    const auto found = std::ranges::find(plan.config.hosts, name, &HostConfig::name);
    return found == plan.config.hosts.end() ? kNone
                                            : static_cast<std::uint32_t>(found - plan.config.hosts.begin());
}

}  // namespace

std::vector<std::unique_ptr<Checker>> all_checkers() {
    std::vector<std::unique_ptr<Checker>> all;
    all.push_back(make_capacity_checker());
    all.push_back(make_limit_checker());
    all.push_back(make_guarantee_checker());
    all.push_back(make_bill_checker());
    all.push_back(make_agreement_checker());
    return all;
}

std::vector<MirrorFlow> mirror_flows(const World& world, std::uint32_t host) {
    std::vector<MirrorFlow> out;
    const Plan& plan = world.plan();
    const Mirror& mirror = world.mirror(host);
    for (const auto& [key, allocation] : mirror.rates()) {
        const wire::Endpoint* const source = mirror.endpoint(key.source);
        const wire::Endpoint* const destination = mirror.endpoint(key.destination);
        if (source == nullptr || destination == nullptr)
            continue;
        MirrorFlow flow{.vnic = vnic_of(plan, source->name), .key = key, .rate = allocation.rate};
        flow.local.vnic = source->name;
        flow.route.from = host;
        if (destination->kind == wire::Endpoint::Kind::kAppliance) {
            const auto found =
                std::ranges::find(plan.config.appliances, destination->name, &ClusterApplianceConfig::name);
            flow.appliance = static_cast<std::uint32_t>(found - plan.config.appliances.begin());
            flow.route.appliance = flow.appliance;
            flow.local.appliance = static_cast<std::uint16_t>(flow.appliance);
        } else {
            flow.peer = vnic_of(plan, destination->name);
            flow.route.to = host_number(plan, destination->host);
            flow.local.peer = destination->mac;
        }
        out.push_back(std::move(flow));
    }
    return out;
}

bool is_active(const World& world, std::uint32_t host) {
    return world.controller() != nullptr && world.mirror(host).rates_at() == world.interval();
}

bool is_solved_for(const World& world, std::uint32_t host) {
    return is_active(world, host) && world.mirror(host).is_solved();
}

bool is_lost(const World& world, std::uint32_t host) {
    constexpr std::uint32_t kSilence = 3;  // intervals without a message
    return is_solved_for(world, host) && world.interval() - world.mirror(host).message_at() >= kSilence;
}

std::string text_of(double amount) {
    return std::to_string(static_cast<std::int64_t>(amount));
}

}  // namespace weir::faults
