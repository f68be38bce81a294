// vnic_move.h - the agent's part of a vNIC's move to another worker: its ring rests until its frames have
// left, then all workers stand still while it is given. Source: docs/algorithms.md 3.16. Units: ns. Threads:
// agent.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "vswitch/datapath/loop/worker.h"

namespace weir {

struct VnicMove {
    VnicPath& path;
    WorkerId to;
    std::span<const std::unique_ptr<Worker>> workers;
    Quiescence& quiescence;
    /// Posts a command. @return its number
    std::function<std::uint64_t(WorkerId, const WorkerCommand&)> post;
    /// Returns when the worker has done the command of this number; throws when it does not answer: the vNIC
    /// then stays, or has gone already.
    std::function<void(WorkerId, std::uint64_t)> await;
    std::function<Nanos()> now;
    /// Makes the port the new owner's, while all workers stand still.
    std::function<void()> serve;

    /// One attempt. @return false when frames of the vNIC wait, or a worker did not stop in time; the ring
    /// rests until another attempt, or cancel()
    [[nodiscard]] bool attempt();
    void cancel();

    Nanos rested = 0;  ///< a bound on the time for which any worker stood still in the last attempt

  private:
    struct Attempt;
    [[nodiscard]] bool stand_and_give(Attempt& made);
};

}  // namespace weir
