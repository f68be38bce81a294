// eal.h - start of DPDK: arguments, cores and the pools of packet buffers.
// Source: DPDK EAL guide. Units: ticks of the TSC, or of a stepped clock, where one is 1 ns.
// Threads: main, at start and end; now() any.
#pragma once

#include <cstdint>
#include <optional>

#include "common/clock.h"
#include "common/stepped_clock.h"
#include "vswitch/config/config.h"
#include "vswitch/ports/packet_pools.h"

namespace weir {

class Eal {
  public:
    /// Under RunLocks, whose folder EAL uses.
    /// @param clock takes the place of the TSC; null: real time
    /// @throws HostError with one line that names the problem and the remedy
    explicit Eal(const SwitchConfig& config, SteppedClock* clock = nullptr);
    ~Eal();
    Eal(const Eal&) = delete;
    Eal& operator=(const Eal&) = delete;

    [[nodiscard]] const PacketPools& pools() const { return *pools_; }
    /// Time since the start.
    [[nodiscard]] Nanos now() const;
    /// null: time is real.
    [[nodiscard]] SteppedClock* clock() const { return clock_; }
    [[nodiscard]] const TickConverter& ticks() const { return ticks_; }
    [[nodiscard]] std::uint64_t ticks_per_sec() const { return ticks_per_sec_; }
    [[nodiscard]] std::uint64_t cycles(Nanos span) const {
        return span * (ticks_per_sec_ / 1000) / (kNanosPerSec / 1000);
    }
    /// DPDK's number of the thread of worker `index`.
    [[nodiscard]] static unsigned lcore_of(unsigned index) { return index + 1; }

  private:
    SteppedClock* clock_;
    std::uint64_t ticks_per_sec_;
    TickConverter ticks_;
    std::optional<PacketPools> pools_;
};

}  // namespace weir
