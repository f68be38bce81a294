// world.h - what the controller computes with, built from one configuration: the cluster, who has which
// guarantee where, the demands, each switch's view, and the solver.
// Source: docs/design.md 10
// Units: as in its parts. Threads: one owner.
//
// A world is built for one configuration and never changes to another. When the configuration changes, a new
// world is built and takes over from the one before what lasts: places of vNICs, demands, estimates, and what
// each switch has been told. Ids of endpoints last; indices of hosts, tenants and appliances are those of one
// world.
#pragma once

#include <functional>
#include <memory>
#include <string>
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

struct World {
    /// @param use measured use, for over-commitment; outlives this
    World(ClusterConfig of, const Cluster::IdOf& id_of, const billing::UseTable& use, const MakeSolver& make);
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    const ClusterConfig config;
    Cluster cluster;
    Admission admission;
    DemandTable demands;
    TableViews views;
    std::shared_ptr<Solver> solver;
};

}  // namespace weir
