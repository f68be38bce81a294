// mac_relay.h - passes addresses that one worker learned on to the others.
// Source: docs/algorithms.md 3.8. Threads: the agent.
//
// An update is taken from its worker's ring when every other worker has been given the one before. When a
// worker's ring of commands is full, the update waits for the next call, and those behind it wait in their
// ring. When that is full, too, their worker posts them again later. So none is lost.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "vswitch/datapath/loop/worker.h"

namespace weir {

class MacRelay {
  public:
    void run(std::span<const std::unique_ptr<Worker>> workers);

  private:
    struct Waiting {
        MacUpdate update;
        std::size_t next;  ///< workers before this one have it
    };
    [[nodiscard]] static bool pass_on(Waiting& waiting, const Worker& from,
                                      std::span<const std::unique_ptr<Worker>> workers);

    std::vector<std::optional<Waiting>> waiting_;  // by the worker that learned it
};

}  // namespace weir
