// readings.h - copies of a worker's counters for the agent: they add up, as no frame moves meanwhile.
// Source: docs/design.md 6. Units: bytes as accounted; rates in bytes per second. Threads: the worker's.
#pragma once

#include "vswitch/base/vnic_sample.h"
#include "vswitch/datapath/loop/stages.h"

namespace weir {

/// All of one vNIC of this worker.
void read(const Stages& stages, VnicId vnic, Nanos now, VnicReading& into);
/// Of each vNIC that the agent has named, all but the name; all are this worker's. Begins their longest queue
/// delays anew.
void read(const Stages& stages, VnicSamples& into, Nanos now);
/// Those of the worker itself: all of the snapshot but WorkerSnapshot::worker.
void read(const Stages& stages, WorkerSnapshot& into);

}  // namespace weir
