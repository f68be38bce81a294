// limits_property_test.cc - for any demands, rates and guarantees never pass a limit of the file.
#include <map>
#include <string>

#include "ctrl/daemon/interval_solver.h"
#include "test/support/catch.h"
#include "test/support/random.h"

using namespace weir;

namespace {

/// A cluster by seed: 1 to 5 hosts, 1 to 4 tenants of 1 to 6 vNICs, 2 appliances of which pools may divide
/// one.
class RandomSite {
  public:
    explicit RandomSite(std::uint32_t seed) : random_(seed) {
        make_config();
        std::uint32_t last_id = 0;
        cluster.emplace(config_, [&last_id](auto, auto) { return ++last_id; });
        solver.emplace(config_);
        for (const TenantConfig& tenant : config_.tenants)
            for (const TenantVnicConfig& vnic : tenant.vnics)
                if (below(8) != 0)
                    cluster->place_vnic(cluster->find_vnic(vnic.name)->id, host(), "", 0);
    }

    /// Other demands of some flows.
    void change_demands() {
        for (const TenantConfig& tenant : config_.tenants)
            for (const TenantVnicConfig& vnic : tenant.vnics) {
                for (const TenantVnicConfig& peer : tenant.vnics)
                    want(vnic.name, cluster->find_vnic(peer.name)->id);
                for (std::uint32_t i = 0; i < config_.appliances.size(); ++i)
                    want(vnic.name, cluster->appliance_id(i));
            }
    }
    const ClusterConfig& config() const { return config_; }
    std::uint32_t below(std::uint32_t end) { return random_() % end; }

    std::optional<Cluster> cluster;
    std::optional<IntervalSolver> solver;
    FlowDemands demands;

  private:
    HostIndex host() { return below(static_cast<std::uint32_t>(config_.hosts.size())); }
    /// From `min` to some thousand times that.
    std::uint64_t amount(std::uint64_t min) { return (min << below(12)) + below(1000); }
    std::optional<std::uint64_t> limit_above(std::uint64_t reservation, std::uint64_t min) {
        if (below(3) == 0)
            return std::nullopt;
        return below(3) == 0 ? std::max(reservation, min) : reservation + amount(min);
    }
    void want(const std::string& vnic, std::uint32_t end) {
        const wire::FlowKey flow{cluster->find_vnic(vnic)->id, end};
        if (!cluster->allows(flow) || below(3) == 0)
            return;
        demands.erase(flow);
        if (below(4) == 0)
            return;
        wire::FlowDemand& demand = demands[flow];
        demand.flow = flow;
        for (std::size_t part = 0; part < wire::kParts; ++part) {
            demand.used[part] = below(4) == 0 ? 0 : static_cast<float>(amount(std::uint64_t{1} << below(20)));
            demand.backlog[part] =
                below(2) == 0 ? 0 : static_cast<float>(amount(std::uint64_t{1} << below(20)));
        }
        demand.outstanding[wire::kTokens] = static_cast<float>(below(50));
    }
    TenantConfig make_tenant(const std::string& name) {
        TenantConfig tenant;
        tenant.name = name;
        tenant.weight = 1 + below(500);
        if (below(3) == 0)
            tenant.sharing_rule = alloc::SharingRule::kFixed;
        for (std::uint32_t i = 0; i <= below(6); ++i) {
            TenantVnicConfig vnic{.name = name + std::to_string(i), .weight = 1 + below(400)};
            vnic.reservation_bps = below(2) == 0 ? 0 : amount(1'000'000);
            vnic.limit_bps = limit_above(vnic.reservation_bps, 1'000'000);
            tenant.vnics.push_back(vnic);
        }
        for (const ClusterApplianceConfig& appliance : config_.appliances) {
            TenantApplianceConfig part{.name = appliance.name};
            const bool is_pooled = !config_.pools.empty() && appliance.name == "pooled";
            part.reservation_tokens = is_pooled || below(2) == 0 ? 0 : amount(10);
            if (!is_pooled)
                part.limit_tokens = limit_above(part.reservation_tokens, 10);
            if (below(5) != 0)
                tenant.appliances.push_back(part);
        }
        return tenant;
    }
    void make_config() {
        config_.headroom = 0.01 * below(20);
        for (std::uint32_t i = 0; i <= below(5); ++i)
            config_.hosts.push_back({.name = "h" + std::to_string(i), .uplink_bps = amount(50'000'000)});
        for (const char* name : {"disk", "pooled"}) {
            const std::uint64_t capacity = amount(100);
            config_.appliances.push_back(
                {.name = name, .capacity_min = capacity, .capacity_max = 2 * capacity});
            config_.appliances.back().host = below(2) == 0 ? "" : "h0";
        }
        if (below(2) == 0)
            config_.pools.push_back({.name = "p", .appliance = "pooled", .limit_tokens = amount(10)});
        for (const char* name : {"A", "B", "C", "D"}) {
            config_.tenants.push_back(make_tenant(name));
            if (!config_.pools.empty())
                for (const TenantVnicConfig& vnic : config_.tenants.back().vnics)
                    if (!config_.tenants.back().appliances.empty() &&
                        config_.tenants.back().appliances.back().name == "pooled")
                        config_.pools.back().vnics.push_back({.name = vnic.name, .shares = 1 + below(300)});
        }
    }

    testing::Random32 random_;
    ClusterConfig config_;
};

struct Sum {
    std::uint64_t rate = 0;
    std::uint64_t flows = 0;
    void add(std::uint64_t more) {
        if (more == wire::kNoStatement)
            return;
        rate += more;
        ++flows;
    }
};

/// Sums of rates that limits bound, by vNIC and way, by tenant and appliance, and of a pool; and their check.
class Sums {
  public:
    explicit Sums(RandomSite& site) : site_(site) {}

    void add(const wire::FlowAllocation& each) {
        const Cluster& cluster = *site_.cluster;
        const ClusterEnd& to = *cluster.find_end(each.flow.destination);
        const std::uint32_t from = each.flow.source;
        out_[from].add(each.rate[wire::kThere]);
        if (!to.is_appliance) {
            in_[to.id].add(each.rate[wire::kThere]);
            return;
        }
        in_[from].add(each.rate[wire::kBack]);
        tokens_[{cluster.find_end(from)->tenant, to.index}].add(each.rate[wire::kTokens]);
        if (to.index == 1 && !site_.config().pools.empty())
            pool_.add(each.rate[wire::kTokens]);
    }
    void check() const {
        for (const auto* way : {&out_, &in_})
            for (const auto& [id, sum] : *way) {
                const ClusterEnd& end = *site_.cluster->find_end(id);
                if (const auto limit = site_.config().tenants[end.tenant].vnics[end.index].limit_bps)
                    CHECK(sum.rate <= *limit / 8 + sum.flows);
            }
        for (const auto& [key, sum] : tokens_)
            for (const TenantApplianceConfig& part : site_.config().tenants[key.first].appliances)
                if (part.name == site_.config().appliances[key.second].name && part.limit_tokens)
                    CHECK(sum.rate <= *part.limit_tokens + sum.flows);
        if (!site_.config().pools.empty())
            CHECK(pool_.rate <= *site_.config().pools[0].limit_tokens + pool_.flows);
    }

  private:
    RandomSite& site_;
    std::map<std::uint32_t, Sum> out_;  // by the vNIC's id
    std::map<std::uint32_t, Sum> in_;
    std::map<std::pair<TenantIndex, std::uint32_t>, Sum> tokens_;  // by tenant and appliance
    Sum pool_;
};

}  // namespace

TEST_CASE("the sums of rates and of guarantees never pass a limit, but for 1 a flow", "[limits][property]") {
    for (std::uint32_t seed = 1; seed <= 400; ++seed) {
        INFO("seed " << seed);
        RandomSite site(seed);
        Sums guarantees(site);
        for (HostIndex host = 0; host < site.config().hosts.size(); ++host)
            for (const wire::FlowAllocation& each : site.cluster->tables_of(host, false).guarantees)
                guarantees.add(each);
        guarantees.check();
        for (int interval = 0; interval < 4; ++interval) {
            site.change_demands();
            Sums rates(site);
            for (const wire::FlowAllocation& each :
                 site.solver->solve(*site.cluster, site.demands, site.below(3) != 0)) {
                REQUIRE_FALSE(wire::is_removed(each));
                rates.add(each);
            }
            rates.check();
        }
    }
}
