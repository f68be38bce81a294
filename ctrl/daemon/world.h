// world.h - all that the controller computes with, built from one configuration: the cluster, the places of
// guarantees, the demands, each switch's view, and the solver.
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
#include <vector>

#include "ctrl/billing/overcommit.h"
#include "ctrl/daemon/admission.h"
#include "ctrl/daemon/cluster.h"
#include "ctrl/daemon/demand_table.h"
#include "ctrl/daemon/interval_solver.h"
#include "ctrl/daemon/table_views.h"

namespace weir {

/// Makes the solver of a world. @param config outlives the solver
using MakeSolver = std::function<std::shared_ptr<Solver>(const ClusterConfig& config)>;

/// A vNIC that has its place in one world and none in the next.
struct Displaced {
    std::uint32_t id = 0;
    HostIndex host = kNowhere;  ///< in the world before
    std::string name{};
    std::string tenant{};
    std::string mac{};
    std::uint16_t vlan = 0;
    std::string why{};
    bool is_final = false;  ///< by the configuration alone; otherwise it does not fit beside the others
};

struct World {
    /// @param use measured use, for over-commitment; outlives this
    World(ClusterConfig of, const Cluster::IdOf& id_of, const billing::UseTable& use, const MakeSolver& make);
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    /// Gives the vNICs the places and addresses that they have in `before`: first those whose tenant and host
    /// are the same, then the others. The hosts' uplinks are set already. @return those that have no place
    [[nodiscard]] std::vector<Displaced> take_places(const World& before, const Renumbering& places);
    /// Hosts, by their indices here, whose TABLES may differ from those of `before`, after take_places().
    [[nodiscard]] std::set<HostIndex> concerned_hosts(const World& before, const Renumbering& places) const;
    /// Takes over demands, views and estimates, after take_places(). @return as Solver::take_over()
    [[nodiscard]] std::vector<std::string> take_state(World& before, const Renumbering& places);
    /// Why the configuration has no place for a vNIC on the host, even an empty one; empty: it has.
    /// @param tenant empty = not stated
    [[nodiscard]] std::string why_never(HostIndex host, std::string_view vnic, std::string_view tenant) const;

    const ClusterConfig config;
    Cluster cluster;
    Admission admission;
    DemandTable demands;
    TableViews views;
    std::shared_ptr<Solver> solver;

  private:
    std::set<std::string_view> add_changed_tenants(const World& before, const Renumbering& places,
                                                   std::set<TenantIndex>& out) const;
};

}  // namespace weir
