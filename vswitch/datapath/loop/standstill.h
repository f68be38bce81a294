// standstill.h - all workers stand still between two poll turns while the agent changes their tables.
// Source: docs/design.md 2. Units: ns. Threads: stand() by each worker; the rest by the agent.
//
// A worker that arrives waits until the agent ends the standstill: some microseconds, in which guests' rings
// and the NIC's fill. A worker that arrives behind the end goes on at once.
//
// Example: two workers. The first arrives and waits for the second, which is in a turn of 20 us. Both stand,
// the agent moves a vNIC from one to the other, and ends the standstill.
#pragma once

#include <rte_pause.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>

#include "common/clock.h"

namespace weir {

class Standstill {
  public:
    explicit Standstill(std::size_t workers) : workers_(workers) {}

    void stand() {
        constexpr unsigned kPauses = 1'000;  // some 20 us: then the agent may be waiting for this core
        arrived_.fetch_add(1, std::memory_order_release);
        for (unsigned pauses = 0; !ended_.load(std::memory_order_acquire); ++pauses)
            if (pauses < kPauses)
                rte_pause();
            else
                std::this_thread::yield();
    }
    /// @return false when not all workers have arrived within `patience`
    [[nodiscard]] bool all_stand(Nanos patience) const {
        const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(patience);
        while (arrived_.load(std::memory_order_acquire) != workers_) {
            if (std::chrono::steady_clock::now() > until)
                return false;
            rte_pause();
        }
        return true;
    }
    void end() { ended_.store(true, std::memory_order_release); }

  private:
    std::size_t workers_;
    std::atomic<std::size_t> arrived_{0};
    std::atomic<bool> ended_{false};
};

}  // namespace weir
