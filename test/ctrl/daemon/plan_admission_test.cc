// plan_admission_test.cc - the plan of a cluster file and a controller's admission agree: vNICs that come to
// the hosts of a plan are admitted, in any order, and those of a plan that does not fit are not all admitted.
#include <algorithm>
#include <numeric>

#include "ctrl/daemon/admission.h"
#include "ctrl/placement/cluster_plan.h"
#include "test/support/catch.h"
#include "test/support/random.h"

using namespace weir;
using testing::Random32;

namespace {

constexpr std::uint64_t kMega = 1'000'000;

std::string numbered(const char* word, std::size_t number) {
    return word + std::to_string(number);
}

/// Small hosts and racks, so that about half of the specifications fit.
ClusterConfig random_specification(Random32& random) {
    ClusterConfig config;
    config.headroom = 0;
    for (std::uint32_t i = 0; i < random() % 3; ++i)
        config.racks.push_back({.name = numbered("r", i), .uplink_bps = (4 + random() % 12) * kMega * 8});
    for (std::uint32_t i = 0; i < 1 + random() % 4; ++i) {
        HostConfig host{.name = numbered("h", i), .uplink_bps = (2 + random() % 10) * kMega * 8};
        if (!config.racks.empty() && random() % 3 != 0)
            host.rack = config.racks[random() % config.racks.size()].name;
        if (random() % 3 == 0)
            host.vms_max = 1 + random() % 6;
        host.drain = random() % 6 == 0;
        if (random() % 3 == 0)
            host.encryption_tokens = 1 + random() % 12;
        config.hosts.push_back(std::move(host));
    }
    for (std::uint32_t i = 0; i < random() % 2; ++i)
        config.appliances.push_back({.name = numbered("p", i),
                                     .host = random() % 2 == 0 ? config.hosts.front().name : "",
                                     .capacity_min = 5 + random() % 20,
                                     .capacity_max = 30});
    for (std::uint32_t t = 0; t < 1 + random() % 3; ++t) {
        TenantConfig& tenant = config.tenants.emplace_back();
        tenant.name = numbered("t", t);
        for (std::uint32_t v = 0; v < 1 + random() % 6; ++v) {
            TenantVnicConfig vnic{.name = tenant.name + numbered("v", v),
                                  .reservation_bps = random() % 6 * kMega * 8};
            if (random() % 6 == 0)
                vnic.host = config.hosts[random() % config.hosts.size()].name;
            if (random() % 4 == 0)
                vnic.worker.encrypt_reservation = random() % 6;
            tenant.vnics.push_back(std::move(vnic));
        }
        if (!config.appliances.empty() && random() % 2 == 0)
            tenant.appliances.push_back({.name = config.appliances.front().name,
                                         .reservation_tokens = random() % 9,
                                         .bandwidth_bps = random() % 5 * kMega * 8});
    }
    return config;
}

/// The vNICs of a plan that the file gives no host, connected to a fresh controller's admission.
class Arrivals {
  public:
    explicit Arrivals(const ClusterConfig& config)
        : plan(plan_cluster(config)),
          config_(config),
          cluster_(config, [this](auto, auto) { return ++last_id_; }),
          admission_(config) {
        for (std::size_t t = 0; t < plan.tenants.size(); ++t)
            for (std::size_t v = 0; v < plan.tenants[t].vnics.size(); ++v)
                if (plan.tenants[t].vnics[v].host == placement::kAnywhere)
                    all_.push_back({plan.tenants[t].vnics[v].id, plan.plan.entries[t].layout.hosts[v]});
        std::ranges::sort(all_, {}, &Arrival::vnic);
    }

    void shuffle(Random32& random) {
        for (std::size_t i = all_.size(); i > 1; --i)
            std::swap(all_[i - 1], all_[random() % i]);
    }
    /// @return why it was refused, empty: it is admitted
    std::string arrive(std::size_t i) {
        const ClusterEnd& end = *cluster_.find_vnic(all_[i].vnic);
        if (config_.hosts[all_[i].host].drain)
            return "its host is drained";
        std::string why = admission_.why_not(end, all_[i].host);
        if (why.empty()) {
            admission_.place(end, all_[i].host);
            cluster_.place_vnic(end.id, all_[i].host, "", 0);
        }
        return why;
    }
    void leave(std::size_t i) {
        const ClusterEnd& end = *cluster_.find_vnic(all_[i].vnic);
        admission_.remove(end);
        cluster_.remove_vnic(end.id);
    }
    [[nodiscard]] std::size_t size() const { return all_.size(); }

    ClusterPlan plan;

  private:
    struct Arrival {
        std::string vnic;
        HostIndex host;
    };
    const ClusterConfig& config_;
    std::uint32_t last_id_ = 0;
    Cluster cluster_;
    Admission admission_;
    std::vector<Arrival> all_;
};

/// Whether a constraint that the plan exceeds is exceeded by the vNICs with a host in the file alone, or is
/// an appliance's: the controller refuses such a file before a vNIC comes.
bool is_refused_at_start(const ClusterPlan& made) {
    for (std::size_t i = 0; i < made.risks.size(); ++i) {
        const placement::Load& load = made.plan.after.loads[i];
        if (made.risks[i].admissible)
            continue;
        placement::Ledger fixed(made.topology, placement::LinkNeed::kHose);
        for (const placement::Tenant& tenant : made.tenants)
            fixed.add(tenant, required_layout(tenant));
        if (fixed.need(load.constraint) >= load.need)
            return true;
    }
    return false;
}

}  // namespace

TEST_CASE("vNICs that come to the hosts of a plan are admitted in any order, also after some have left") {
    Random32 random(1977);
    std::size_t admitted = 0;
    std::size_t arrivals = 0;
    for (int round = 0; round < 5'000; ++round) {
        CAPTURE(round);
        const ClusterConfig config = random_specification(random);
        Arrivals world(config);
        if (!world.plan.admitted())
            continue;
        ++admitted;
        world.shuffle(random);
        std::vector<std::size_t> out(world.size());
        std::iota(out.begin(), out.end(), 0);
        std::vector<std::size_t> in;
        for (std::size_t step = 0; step < 4 * world.size() && !out.empty(); ++step) {
            const std::size_t next = out.back();
            out.pop_back();
            REQUIRE(world.arrive(next) == "");
            ++arrivals;
            in.push_back(next);
            if (random() % 3 == 0) {  // one leaves, and comes again later
                std::swap(in[random() % in.size()], in.back());
                world.leave(in.back());
                out.insert(out.begin(), in.back());
                in.pop_back();
            }
        }
    }
    CHECK(admitted > 1'000);
    CHECK(arrivals > 5'000);
}

TEST_CASE(
    "of a specification that does not fit, the controller refuses the file or a vNIC on the plan's hosts") {
    Random32 random(1978);
    std::size_t refused = 0;
    for (int round = 0; round < 5'000; ++round) {
        CAPTURE(round);
        const ClusterConfig config = random_specification(random);
        Arrivals world(config);
        if (world.plan.admitted() || is_refused_at_start(world.plan))
            continue;
        world.shuffle(random);
        bool is_any_refused = false;
        for (std::size_t i = 0; i < world.size(); ++i)
            is_any_refused = !world.arrive(i).empty() || is_any_refused;
        REQUIRE(is_any_refused);
        ++refused;
    }
    CHECK(refused > 200);
}
