// world.cc - a world from its configuration.
#include "ctrl/daemon/world.h"

#include <utility>

namespace weir {

World::World(ClusterConfig of, const Cluster::IdOf& id_of, const billing::UseTable& use,
             const MakeSolver& make)
    : config(std::move(of)),
      cluster(config, id_of),
      admission(config, &use),
      demands(cluster),
      views(cluster),
      solver(make(config)) {}

}  // namespace weir
