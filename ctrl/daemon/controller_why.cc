// controller_why.cc - the commands why and allocation. Of a vNIC: demand and rate of each flow, the resource
// that holds it back, and the users of that resource. Of the cluster: each tenant's demands and rates, and
// the users of each resource.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "common/config/field_kinds.h"
#include "common/units.h"
#include "ctrl/daemon/controller_commands.h"

namespace weir {
namespace {

using nlohmann::json;
using Kind = ClusterResource::Kind;

constexpr std::size_t kFlowsShown = 100;
constexpr std::size_t kUsersShown = 5;

std::string resource_text(const Cluster& cluster, const ClusterResource& resource) {
    const ClusterConfig& config = cluster.config();
    switch (resource.kind) {
        case Kind::kHostOut:
            return "uplink of host " + config.hosts[resource.index].name;
        case Kind::kHostIn:
            return "downlink of host " + config.hosts[resource.index].name;
        case Kind::kRackOut:
            return "uplink of rack " + config.racks[resource.index].name;
        case Kind::kRackIn:
            return "downlink of rack " + config.racks[resource.index].name;
        case Kind::kTokens:
            return "appliance " + config.appliances[resource.index].name;
        case Kind::kLinkIn:
            return "link to appliance " + config.appliances[resource.index].name;
        case Kind::kLinkOut:
            return "link from appliance " + config.appliances[resource.index].name;
    }
    return "-";
}

/// Explains the last solution.
class Why {
  public:
    Why(const World& world, const Solution& solution)
        : world_(world),
          cluster_(world.cluster),
          solution_(solution),
          seconds_(to_seconds(world.config.interval)) {}

    /// Those with the least part of their demand first.
    json flows_of(const ClusterEnd& vnic) {
        std::vector<std::uint32_t> flows;
        for (std::uint32_t i = 0; i < solution_.flows.size(); ++i)
            if (solution_.flows[i].source == vnic.id || solution_.flows[i].destination == vnic.id)
                flows.push_back(i);
        std::ranges::stable_sort(flows, {}, [this](std::uint32_t i) { return world_.shortages.met_part(i); });
        flows.resize(std::min(flows.size(), kFlowsShown));
        json list = json::array();
        for (const std::uint32_t each : flows)
            list.push_back(flow(each));
        return list;
    }
    /// Those that hold back a flow of flows_of().
    json resources() const {
        json list = json::array();
        for (const ResourceIndex each : holding_)
            list.push_back(resource(each, world_.shortages.users_of(solution_, each, kUsersShown)));
        return list;
    }
    json all_resources() const {
        const auto users = world_.shortages.users(solution_, kUsersShown);
        json list = json::array();
        for (ResourceIndex each = 0; each < users.size(); ++each)
            list.push_back(resource(each, users[each]));
        return list;
    }
    /// Of each tenant's flows the sums: to vNICs, and to each appliance.
    json tenants() const {
        Sums sums;
        for (std::uint32_t i = 0; i < solution_.flows.size(); ++i) {
            const wire::FlowKey key = solution_.flows[i];
            Amounts& sum = sums[place_of(key)];
            const Amounts flow = amounts_of(i, *cluster_.find_end(key.destination));
            sum.wanted += flow.wanted;
            sum.allocated += flow.allocated;
        }
        for (const auto& [key, demand] : world_.demands.flows())
            if (const ClusterEnd* to = cluster_.find_end(key.destination);
                to != nullptr && cluster_.find_end(key.source) != nullptr)
                sums[place_of(key)].used +=
                    double{demand.used[to->is_appliance ? wire::kTokens : wire::kThere]} / seconds_;
        json list = json::array();
        for (TenantIndex tenant = 0; tenant < world_.config.tenants.size(); ++tenant)
            list.push_back(tenant_json(tenant, sums));
        return list;
    }

  private:
    /// Tokens per second.
    struct Amounts {
        double wanted = 0;
        double allocated = 0;
        double used = 0;
    };
    using Sums = std::map<std::pair<TenantIndex, std::uint32_t>, Amounts>;  // by appliance, or kNowhere

    std::pair<TenantIndex, std::uint32_t> place_of(wire::FlowKey key) const {
        const ClusterEnd& to = *cluster_.find_end(key.destination);
        return {cluster_.find_end(key.source)->tenant, to.is_appliance ? to.index : kNowhere};
    }
    json tenant_json(TenantIndex tenant, const Sums& sums) const {
        const TenantConfig& config = world_.config.tenants[tenant];
        json appliances = json::array();
        Amounts links;
        for (auto sum = sums.lower_bound({tenant, 0}); sum != sums.end() && sum->first.first == tenant; ++sum)
            if (sum->first.second == kNowhere)
                links = sum->second;
            else
                appliances.push_back({{"name", world_.config.appliances[sum->first.second].name},
                                      {"wanted", sum->second.wanted},
                                      {"allocated", sum->second.allocated},
                                      {"used", sum->second.used}});
        return {{"name", config.name},
                {"wanted_bps", kBitsPerByte * links.wanted},
                {"allocated_bps", kBitsPerByte * links.allocated},
                {"used_bps", kBitsPerByte * links.used},
                {"appliances", std::move(appliances)}};
    }
    /// Demand and rate of a flow; at its links in bytes, at an appliance in tokens per second.
    Amounts amounts_of(std::uint32_t flow, const ClusterEnd& to) const {
        const alloc::DemandMatrix& demand = solution_.problem.demand;
        Amounts amounts;
        for (const std::uint32_t at : demand.row(flow)) {
            const bool is_tokens = cluster_.resources()[demand.resource()[at]].kind == Kind::kTokens;
            if (is_tokens != to.is_appliance)
                continue;
            amounts.wanted = demand.tokens()[at] / seconds_;
            amounts.allocated = solution_.allocated(at) / seconds_;
        }
        return amounts;
    }
    json flow(std::uint32_t index) {
        const wire::FlowKey key = solution_.flows[index];
        const ClusterEnd& to = *cluster_.find_end(key.destination);
        const Amounts amounts = amounts_of(index, to);
        const double unit = to.is_appliance ? 1 : kBitsPerByte;
        const Holder holder = world_.shortages.holder_of(solution_, index);
        return {{"source", cluster_.name_of(*cluster_.find_end(key.source))},
                {"destination", cluster_.name_of(to)},
                {"unit", to.is_appliance ? "tokens/s" : "bit/s"},
                {"wanted", unit * amounts.wanted},
                {"allocated", unit * amounts.allocated},
                {"held_by", held_by(holder)},
                {"since", since(holder)}};
    }
    json held_by(const Holder& holder) {
        switch (holder.kind) {
            case Holder::Kind::kNothing:
                return nullptr;
            case Holder::Kind::kResource:
                holding_.insert(holder.index);
                return resource_text(cluster_, cluster_.resources()[holder.index]);
            case Holder::Kind::kLimit:
                return "limit of " + world_.solver->owner_of(holder.index);
            case Holder::Kind::kReservation:
                return "fixed reservation of " + world_.solver->owner_of(holder.index);
        }
        return nullptr;
    }
    json since(const Holder& holder) const {
        if (holder.kind != Holder::Kind::kResource)
            return nullptr;
        const auto since = world_.shortages.short_since(holder.index);
        return since ? json(*since) : json();
    }
    json resource(ResourceIndex index, const std::vector<Shortages::User>& of) const {
        const ClusterResource& resource = cluster_.resources()[index];
        const bool is_tokens = resource.kind == Kind::kTokens;
        const double per_second = (is_tokens ? 1 : kBitsPerByte) / seconds_;
        const auto since = world_.shortages.short_since(index);
        json users = json::array();
        for (const Shortages::User& user : of) {
            const ClusterEnd& end = *cluster_.find_end(user.vnic);
            users.push_back({{"vnic", cluster_.name_of(end)},
                             {"tenant", world_.config.tenants[end.tenant].name},
                             {"used", per_second * user.tokens},
                             {"since", user.since ? json(*user.since) : json()}});
        }
        return {{"name", resource_text(cluster_, resource)},
                {"unit", is_tokens ? "tokens/s" : "bit/s"},
                {"capacity", per_second * solution_.problem.capacity[index]},
                {"used", per_second * world_.shortages.used(index)},
                {"since", since ? json(*since) : json()},
                {"users", std::move(users)}};
    }

    const World& world_;
    const Cluster& cluster_;
    const Solution& solution_;
    double seconds_;
    std::set<ResourceIndex> holding_;
};

}  // namespace

json Controller::Commands::why(ObjectReader& args) {
    std::string name;
    if (require(args, "name", "the name of a vNIC"))
        args.read_text("name", name);
    if (!are_valid(args))
        return {};
    const World& world = *controller_.world_;
    const ClusterEnd* vnic = world.cluster.find_vnic(name);
    const auto solution = world.solver->solution();
    if (vnic == nullptr || !solution) {
        faults_.push_back({"name", name, "a vNIC of the specification",
                           vnic == nullptr ? "there is no such vNIC; `weirctl tenant list` shows all"
                                           : "no interval has ended yet: ask again"});
        return {};
    }
    const TenantConfig& tenant = world.config.tenants[vnic->tenant];
    const TenantVnicConfig& promised = tenant.vnics[vnic->index];
    Why why(world, *solution);
    json flows = why.flows_of(*vnic);
    return {{"vnic", name},
            {"tenant", tenant.name},
            {"host", vnic->host == kNowhere ? json() : json(world.config.hosts[vnic->host].name)},
            {"time", controller_.unix_time_},
            {"reservation_bps", promised.reservation_bps},
            {"limit_bps", promised.limit_bps ? json(*promised.limit_bps) : json()},
            {"flows", std::move(flows)},
            {"resources", why.resources()}};
}

json Controller::Commands::allocation(ObjectReader& args) {
    if (!are_valid(args))
        return {};
    const World& world = *controller_.world_;
    const auto solution = world.solver->solution();
    const bool is_solved = solution.has_value();
    return {{"interval", controller_.interval_},
            {"time", controller_.unix_time_},
            {"tenants", is_solved ? Why(world, *solution).tenants() : json::array()},
            {"resources", is_solved ? Why(world, *solution).all_resources() : json::array()}};
}

}  // namespace weir
