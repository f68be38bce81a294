// adoption_test.cc - a controller that adopts one configuration after the other allocates as one that was
// started with the last of them, and in between as one that had it all the time.
#include <map>
#include <set>

#include "test/ctrl/daemon/adoption_site.h"
#include "test/support/catch.h"
#include "test/support/sanitized.h"

namespace weir::adoption {
namespace {

constexpr int kSettle = 3;  // intervals

/// Names of the vNICs of tenants that are the same in both, unless their links and appliances are others.
std::set<std::string> untouched_vnics(const ClusterConfig& before, const ClusterConfig& now) {
    std::set<std::string> names;
    if (before.hosts != now.hosts || before.appliances != now.appliances)
        return names;
    for (const TenantConfig& tenant : now.tenants)
        if (std::ranges::count(before.tenants, tenant) != 0)
            for (const TenantVnicConfig& vnic : tenant.vnics)
                names.insert(vnic.name);
    return names;
}

/// Flows of these vNICs that have a rate before the change and after it, but not now.
std::string interrupted(const std::set<std::string>& vnics, const NamedRates& before, const NamedRates& now,
                        const NamedRates& after) {
    std::string text;
    for (const auto& [flow, rate] : before)
        if (vnics.contains(flow.first) && after.contains(flow) && !now.contains(flow))
            text += flow.first + " to " + flow.second + "\n";
    return text;
}

/// The owners of all ids that there were: appliances, and vNICs in their tenants.
class Owners {
  public:
    void note(const Site& site, const ClusterConfig& config) {
        for (const ClusterApplianceConfig& appliance : config.appliances)
            note(site.ids.at(appliance.name), appliance.name);
        for (const TenantConfig& tenant : config.tenants)
            for (const TenantVnicConfig& vnic : tenant.vnics)
                note(site.ids.at(vnic.name), tenant.name + " " + vnic.name);
    }
    [[nodiscard]] const std::string& owner_of(std::uint32_t id) const { return owners_.at(id); }

  private:
    void note(std::uint32_t id, const std::string& owner) {
        INFO("id " << id);
        REQUIRE(owners_.emplace(id, owner).first->second == owner);
    }
    std::map<std::uint32_t, std::string> owners_;
};

/// A vNIC that stays in its tenant keeps its id, and one that leaves it is billed under the id that it had.
void check_ids(Site& site, const std::map<std::string, std::uint32_t>& ids, const Owners& owners,
               const ClusterConfig& before, const ClusterConfig& now) {
    std::set<std::string> removed;
    for (const RemovedVnic& vnic : site.store.removed_vnics()) {
        CHECK(owners.owner_of(vnic.id) == vnic.tenant + " " + vnic.name);
        removed.insert(vnic.tenant + " " + vnic.name + " " + std::to_string(vnic.id));
    }
    std::set<std::string> there;
    for (const TenantConfig& tenant : now.tenants)
        for (const TenantVnicConfig& vnic : tenant.vnics)
            there.insert(tenant.name + " " + vnic.name);
    for (const TenantConfig& tenant : before.tenants)
        for (const TenantVnicConfig& vnic : tenant.vnics) {
            const std::string owner = tenant.name + " " + vnic.name;
            INFO(owner);
            if (there.contains(owner))
                CHECK(site.ids.at(vnic.name) == ids.at(vnic.name));
            else
                CHECK(removed.contains(owner + " " + std::to_string(ids.at(vnic.name))));
        }
}

}  // namespace

TEST_CASE("after each of 2000 changes the rates are those of a controller that began with the last of them") {
    Random32 random{GENERATE(range(1U, 9U))};
    ClusterConfig config = first_config(random);
    const std::vector<Ask> asks = draw_asks(random);
    Site running(config, asks);
    Owners owners;
    owners.note(running, config);
    NamedRates before;
    const int changes = testing::kSanitized ? 25 : 250;
    for (int change = 0; change < changes; ++change) {
        INFO("change " << change);
        ClusterConfig next = changed(random, config);
        while (!is_valid(next))
            next = changed(random, config);
        const auto untouched = untouched_vnics(config, next);
        const std::map<std::string, std::uint32_t> ids = running.ids;
        running.apply(next);
        owners.note(running, next);
        check_ids(running, ids, owners, config, next);
        config = std::move(next);
        std::vector<NamedRates> between;
        for (int i = 0; i < kSettle; ++i) {
            running.pass(1);
            REQUIRE(running.solver->is_as_expected());
            between.push_back(running.rates());
        }
        Site fresh(config, asks, running.names());
        fresh.pass(kSettle);
        const NamedRates after = fresh.rates();
        REQUIRE(difference(running.rates(), after) == "");
        for (const NamedRates& now : between)
            CHECK(interrupted(untouched, before, now, after) == "");
        before = after;
    }
}

}  // namespace weir::adoption
