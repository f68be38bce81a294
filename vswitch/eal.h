// eal.h - start of DPDK: arguments, cores and the packet pool.
// Source: DPDK EAL guide. Units: ticks of the TSC; buffers. Threads: main, at start and end.
#pragma once

#include <cstdint>

#include "common/clock.h"
#include "vswitch/config/config.h"

struct rte_mempool;

namespace weir {

class Eal {
  public:
    /// @throws HostError with one line that names the problem and the remedy
    explicit Eal(const SwitchConfig& config);
    ~Eal();
    Eal(const Eal&) = delete;
    Eal& operator=(const Eal&) = delete;

    [[nodiscard]] rte_mempool* pool() const { return pool_; }
    [[nodiscard]] std::uint32_t buffers() const { return buffers_; }
    [[nodiscard]] const TickConverter& ticks() const { return ticks_; }
    [[nodiscard]] std::uint64_t ticks_per_sec() const { return ticks_per_sec_; }
    [[nodiscard]] std::uint64_t cycles(Nanos span) const {
        return span * (ticks_per_sec_ / 1000) / (kNanosPerSec / 1000);
    }
    /// DPDK's number of the thread of worker `index`.
    [[nodiscard]] static unsigned lcore_of(unsigned index) { return index + 1; }

  private:
    std::uint64_t ticks_per_sec_;
    TickConverter ticks_;
    std::uint32_t buffers_;
    rte_mempool* pool_ = nullptr;
};

}  // namespace weir
