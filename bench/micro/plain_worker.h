// plain_worker.h - a worker without uplink, feedback, appliances or tunnels, for benches. Threads: one.
#pragma once

#include <memory>
#include <span>

#include "bench/micro/buffers.h"
#include "vswitch/datapath/loop/worker.h"

namespace weir::bench {

/// @param inboxes of all workers, by id; outlive it, as `quiescence` does, in which it is online from now on
inline std::unique_ptr<Worker> make_plain_worker(WorkerId id, std::span<const std::unique_ptr<Inbox>> inboxes,
                                                 Quiescence& quiescence) {
    auto worker =
        std::make_unique<Worker>(Worker::Setup{.stages = {.worker = id,
                                                          .pool = buffer_pool(),
                                                          .inboxes = inboxes,
                                                          .overhead_bytes = limits::kWireOverheadBytes,
                                                          .flood_pps = 1000,
                                                          .mac_aging = 300 * kNanosPerSec,
                                                          .uplink = std::nullopt,
                                                          .connection_key = {},
                                                          .source_key = {}},
                                               .quiescence = quiescence,
                                               .coalesce_cycles = 0});
    quiescence.online(id);
    return worker;
}

/// Has the worker carry out a command, between its turns.
inline void carry_out(Worker& worker, const WorkerCommand& order, Nanos now) {
    (void)worker.control().post(order);
    while (worker.run_commands(now)) {
    }
}

}  // namespace weir::bench
