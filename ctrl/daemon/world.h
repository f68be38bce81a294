// world.h - all that the controller computes with, built from one configuration: the cluster, the places of
// guarantees, the demands, each switch's view, the solver, and the shortages.
// Source: docs/design.md 10
// Units: as in its parts. Threads: one owner.
//
// A world is built for one configuration and never changes to another. When the configuration changes, a new
// world is built and takes over the state of the one before: places of vNICs, demands, estimates, and the
// peers in each switch's view. Ids of endpoints last; indices of hosts, tenants and appliances are those of
// one world.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ctrl/billing/overcommit.h"
#include "ctrl/daemon/admission.h"
#include "ctrl/daemon/cluster.h"
#include "ctrl/daemon/demand_table.h"
#include "ctrl/daemon/interval_solver.h"
#include "ctrl/daemon/shortages.h"
#include "ctrl/daemon/table_views.h"

namespace weir {

/// Makes the solver of a world. @param config outlives the solver
using MakeSolver = std::function<std::shared_ptr<Solver>(const ClusterConfig& config)>;

/// A vNIC that has its place in one world and none in the next.
struct Displaced {
    HostIndex host = kNowhere;  ///< in the world before
    std::string name{};
    std::string tenant{};
    bool states_tenant = false;  ///< as of ClusterEnd
    std::string mac{};
    std::uint16_t vlan = 0;
    std::string why{};
    bool is_final = false;  ///< by the configuration alone; otherwise it does not fit beside the others
};

/// Places of vNICs and rates of uplinks of a world, by the indices of the next one.
struct Placement {
    struct Place {
        std::uint32_t id = 0;
        HostIndex host = kNowhere;
        std::string mac{};
        std::uint16_t vlan = 0;
        bool states_tenant = false;
    };
    std::vector<Place> vnics{};                                      ///< of tenants that are the same in both
    std::vector<std::pair<HostIndex, std::uint64_t>> uplinks_bps{};  ///< as of Cluster::set_uplink()
};

struct World {
    /// @param use measured use, for over-commitment; outlives this
    World(ClusterConfig of, const Cluster::IdOf& id_of, const billing::UseTable& use, const MakeSolver& make);
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    /// The places in this world that the next configuration certainly has: none where its links or slots are
    /// others. The caller adds the uplinks.
    [[nodiscard]] Placement placement_for(const ClusterConfig& next, const Renumbering& places) const;
    /// Takes places beside the controller's thread.
    void place(const Placement& placement);
    void set_uplink(HostIndex host, std::uint64_t bps);
    /// Gives the vNICs the places and addresses that they have in `before` now: first those whose tenant is
    /// the same, then the others. The hosts' uplinks are set already. @return those that have no place
    [[nodiscard]] std::vector<Displaced> take_places(const World& before, const Renumbering& places);
    /// Hosts, by their indices here, whose TABLES may differ from those of `before`, after take_places().
    [[nodiscard]] std::set<HostIndex> concerned_hosts(const World& before, const Renumbering& places) const;
    /// Takes over demands, views and estimates, after take_places(). @return as Solver::take_over()
    [[nodiscard]] std::vector<std::string> take_state(World& before, const Renumbering& places);
    /// Why the configuration has no place for a vNIC on the host, even an empty one; empty: it has.
    /// @param vnic as its switch states it; an empty tenant is not stated
    [[nodiscard]] std::string why_never(HostIndex host, const wire::HelloVnic& vnic) const;

    const ClusterConfig config;
    Cluster cluster;
    Admission admission;
    DemandTable demands;
    TableViews views;
    std::shared_ptr<Solver> solver;
    Shortages shortages;
    /// Of each host's LinkPlan, as TABLES state it by the vNICs' floors.
    struct StatedLink {
        double planned = 0;
        double kept_part = 1;
    };
    std::vector<StatedLink> stated_links;

  private:
    void remove_departed(const World& before);
    std::set<std::string_view> add_changed_tenants(const World& before, const Renumbering& places,
                                                   std::set<TenantIndex>& out) const;
};

}  // namespace weir
