// shortages.cc - sums over the allocation, and the times at which shortages and large uses began.
#include "ctrl/daemon/shortages.h"

#include <algorithm>
#include <tuple>

namespace weir {
namespace {

/// Part of its demand that the flow gets: each part gets the same.
double fill_of(const Solution& solution, std::uint32_t flow) {
    double fill = 1;
    const auto tokens = solution.problem.demand.tokens();
    for (const std::uint32_t at : solution.problem.demand.row(flow))
        fill = std::min(fill, solution.allocated(at) / tokens[at]);
    return fill;
}

/// Flows of one vNIC stand together. @param entry of the flow in the demand
void add_use(std::vector<Shortages::User>& users, const Solution& solution, std::uint32_t flow,
             std::uint32_t entry) {
    const std::uint32_t vnic = solution.flows[flow].source;
    if (users.empty() || users.back().vnic != vnic)
        users.push_back({.vnic = vnic});
    users.back().tokens += solution.allocated(entry);
}

}  // namespace

void Shortages::update(const Solution& solution, std::int64_t unix_time) {
    sum_up(solution);
    is_short_.assign(used_.size(), 0);
    for (std::uint32_t flow = 0; flow < solution.flows.size(); ++flow)
        if (const Holder holder = holder_of(solution, flow); holder.kind == Holder::Kind::kResource)
            is_short_[holder.index] = 1;
    std::erase_if(short_since_, [this](const auto& each) { return is_short_[each.first] == 0; });
    for (ResourceIndex resource = 0; resource < is_short_.size(); ++resource)
        if (is_short_[resource] != 0)
            short_since_.emplace(resource, unix_time);
    time_users(solution, unix_time);
}

void Shortages::sum_up(const Solution& solution) {
    const alloc::DemandMatrix& demand = solution.problem.demand;
    const alloc::DemandMatrix& inside = solution.problem.inside;
    used_.assign(solution.problem.capacity.size(), 0);
    inside_.assign(solution.problem.resources.size(), 0);
    fill_.clear();
    for (std::uint32_t flow = 0; flow < solution.flows.size(); ++flow) {
        for (const std::uint32_t at : demand.row(flow))
            used_[demand.resource()[at]] += solution.allocated(at);
        fill_.push_back(fill_of(solution, flow));
        for (const std::uint32_t at : inside.row(flow))
            inside_[inside.resource()[at]] += fill_.back() * inside.tokens()[at];
    }
}

/// Flows of one vNIC stand together, in the order of ids.
void Shortages::time_users(const Solution& solution, std::int64_t unix_time) {
    const alloc::DemandMatrix& demand = solution.problem.demand;
    before_.swap(heavy_);
    heavy_.clear();
    for (std::uint32_t flow = 0; flow < solution.flows.size(); ++flow) {
        for (const std::uint32_t at : demand.row(flow)) {
            const ResourceIndex resource = demand.resource()[at];
            const auto use =
                std::ranges::lower_bound(uses_, resource, {}, &std::pair<ResourceIndex, double>::first);
            if (use != uses_.end() && use->first == resource)
                use->second += solution.allocated(at);
            else
                uses_.insert(use, {resource, solution.allocated(at)});
        }
        const std::uint32_t vnic = solution.flows[flow].source;
        if (flow + 1 == solution.flows.size() || solution.flows[flow + 1].source != vnic)
            time_uses(vnic, solution, unix_time);
    }
}

void Shortages::time_uses(std::uint32_t vnic, const Solution& solution, std::int64_t unix_time) {
    auto known = std::ranges::lower_bound(before_, std::pair(vnic, ResourceIndex{0}), {}, &HeavyUse::key);
    for (const auto& [resource, tokens] : uses_) {
        while (known != before_.end() && known->key() < std::pair(vnic, resource))
            ++known;
        const bool is_known = known != before_.end() && known->key() == std::pair(vnic, resource);
        if (tokens >= (is_known ? kHeavy / 2 : kHeavy) * solution.problem.capacity[resource])
            heavy_.push_back({vnic, resource, is_known ? known->since : unix_time});
    }
    uses_.clear();
}

std::optional<std::int64_t> Shortages::heavy_since(std::uint32_t vnic, ResourceIndex resource) const {
    const auto found = std::ranges::lower_bound(heavy_, std::pair(vnic, resource), {}, &HeavyUse::key);
    return found == heavy_.end() || found->key() != std::pair(vnic, resource) ? std::nullopt
                                                                              : std::optional(found->since);
}

Holder Shortages::holder_of(const Solution& solution, std::uint32_t flow) const {
    if (fill_[flow] >= kFull)
        return {};
    const alloc::DemandMatrix& demand = solution.problem.demand;
    for (const std::uint32_t at : solution.problem.demand.row(flow))
        if (const ResourceIndex resource = demand.resource()[at];
            used_[resource] >= kFull * solution.problem.capacity[resource])
            return {Holder::Kind::kResource, resource};
    const alloc::DemandMatrix& inside = solution.problem.inside;
    const std::uint32_t tenant = solution.problem.tenant[flow];
    const bool is_fixed =
        tenant != alloc::kNone && solution.problem.tenants[tenant].sharing_rule == alloc::SharingRule::kFixed;
    for (const std::uint32_t at : inside.row(flow)) {
        const std::uint32_t index = inside.resource()[at];
        const alloc::VirtualResource& bound = solution.problem.resources[index];
        if (inside_[index] >= kFull * bound.limit)
            return {Holder::Kind::kLimit, index};
        if (is_fixed && inside_[index] >= kFull * bound.reserved)
            return {Holder::Kind::kReservation, index};
    }
    return {};
}

std::optional<std::int64_t> Shortages::short_since(ResourceIndex resource) const {
    const auto found = short_since_.find(resource);
    return found == short_since_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<Shortages::User> Shortages::users_of(const Solution& solution, ResourceIndex resource,
                                                 std::size_t count) const {
    const alloc::DemandMatrix& demand = solution.problem.demand;
    std::vector<User> users;
    for (std::uint32_t flow = 0; flow < solution.flows.size(); ++flow)
        for (const std::uint32_t at : demand.row(flow)) {
            if (demand.resource()[at] != resource)
                continue;
            add_use(users, solution, flow, at);
        }
    keep_largest(users, resource, count);
    return users;
}

std::vector<std::vector<Shortages::User>> Shortages::users(const Solution& solution,
                                                           std::size_t count) const {
    const alloc::DemandMatrix& demand = solution.problem.demand;
    std::vector<std::vector<User>> users(solution.problem.capacity.size());
    for (std::uint32_t flow = 0; flow < solution.flows.size(); ++flow)
        for (const std::uint32_t at : demand.row(flow))
            add_use(users[demand.resource()[at]], solution, flow, at);
    for (ResourceIndex resource = 0; resource < users.size(); ++resource)
        keep_largest(users[resource], resource, count);
    return users;
}

void Shortages::keep_largest(std::vector<User>& users, ResourceIndex resource, std::size_t count) const {
    std::ranges::stable_sort(users, std::ranges::greater(), &User::tokens);
    users.resize(std::min(users.size(), count));
    for (User& user : users)
        user.since = heavy_since(user.vnic, resource);
}

void Shortages::take_over(const Shortages& before, const std::vector<ResourceIndex>& places) {
    for (const auto& [resource, since] : before.short_since_)
        if (places[resource] != kNowhere)
            short_since_.emplace(places[resource], since);
    for (const HeavyUse& use : before.heavy_)
        if (places[use.resource] != kNowhere)
            heavy_.push_back({use.vnic, places[use.resource], use.since});
    std::ranges::sort(heavy_, {}, &HeavyUse::key);
}

std::vector<ResourceIndex> resource_places(const Cluster& before, const Cluster& now,
                                           const Renumbering& places) {
    using Kind = ClusterResource::Kind;
    std::map<std::tuple<Kind, std::uint32_t>, ResourceIndex> indices;
    for (ResourceIndex i = 0; i < now.resources().size(); ++i)
        indices.emplace(std::tuple(now.resources()[i].kind, now.resources()[i].index), i);
    const auto place_of = [&](const ClusterResource& old) -> std::uint32_t {
        if (old.kind == Kind::kHostOut || old.kind == Kind::kHostIn)
            return places.hosts[old.index];
        if (old.kind != Kind::kRackOut && old.kind != Kind::kRackIn)
            return places.appliances[old.index];
        const auto& racks = now.config().racks;
        const auto rack = std::ranges::find(racks, before.config().racks[old.index].name, &RackConfig::name);
        return rack == racks.end() ? kNowhere : static_cast<std::uint32_t>(rack - racks.begin());
    };
    std::vector<ResourceIndex> out;
    for (const ClusterResource& old : before.resources()) {
        const auto found = indices.find(std::tuple(old.kind, place_of(old)));
        out.push_back(found == indices.end() ? kNowhere : found->second);
    }
    return out;
}

}  // namespace weir
