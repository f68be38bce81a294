// readings.h - what a worker reports: copies of counters that add up, as no frame moves meanwhile.
// Source: docs/design.md 6. Units: bytes as accounted; rates in bytes per second. Threads: the worker's.
#pragma once

#include "vswitch/datapath/loop/stages.h"

namespace weir {

/// All of one vNIC of this worker.
void read(const Stages& stages, VnicId vnic, VnicStats& into);
/// What is the worker's own, but for WorkerSnapshot::worker.
void read(const Stages& stages, WorkerSnapshot& into);

}  // namespace weir
