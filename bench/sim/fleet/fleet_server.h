// fleet_server.h - link of one server and its VMs: the link is divided anew whenever a demand changes, every
// interval, and when a transmission begins or ends.
// Source: SoftBW 4.2; SoftBW 6.1; SoftBW 6.4
// Units: bytes; seconds.
// Threads: one owner.
#pragma once

#include <optional>
#include <vector>

#include "bench/sim/fleet/fleet_scenario.h"
#include "bench/sim/fleet/fleet_tally.h"
#include "bench/sim/fleet/link_shares.h"
#include "bench/sim/random.h"
#include "ctrl/billing/bill.h"
#include "vswitch/qos/guarantees/guarantee_meter.h"

namespace weir::sim {

/// S bytes that a VM with a dynamic guarantee wants to send from `at` on; T is the time of S at the
/// guarantee.
struct FleetStart {
    double at = 0;
    std::uint64_t bytes = 0;
};

struct FleetVm {
    bool dynamic = false;
    std::uint64_t stream = 0;        ///< of its random numbers
    std::vector<FleetStart> starts;  ///< of a dynamic one, in their order
};

class FleetServer {
  public:
    /// @param scenario outlives the server
    FleetServer(const FleetScenario& scenario, const std::vector<FleetVm>& vms);

    /// From the beginning to the end; once. @param tally the run's counts are added to it
    void run(FleetTally& tally);

  private:
    struct Vm {
        Vm(const FleetScenario& scenario, const FleetVm& vm);

        const FleetVm& spec;
        GuaranteeMeter meter;
        Random random;
        double sent = 0;           ///< since the beginning
        double demand = 0;         ///< of a strict one, in this interval
        double short_of = 0;       ///< of a strict one in this interval: promised, wanted, not sent
        std::uint32_t failed = 0;  ///< intervals in which it was short of something
        std::size_t next = 0;      ///< which start comes
        bool busy = false;
        double began = 0;
        double left = 0;
    };

    void begin_interval(FleetTally& tally);
    void end_interval(FleetTally& tally);
    /// Transmissions whose time has come.
    void start(FleetTally& tally);
    void divide(FleetTally& tally);
    /// When something ends or begins, `end` at the latest.
    [[nodiscard]] double next_event(double end) const;
    void advance(double to, FleetTally& tally);
    void finish(Vm& vm, FleetTally& tally);
    void bill(const std::optional<GuaranteeMeter::Period>& period, FleetTally& tally) const;
    /// Time of a transmission until now, in T.
    [[nodiscard]] double relative_time(const Vm& vm) const;
    [[nodiscard]] Nanos nanos() const;

    const FleetScenario& scenario_;
    const billing::Prices prices_;
    const double capacity_;
    const double guarantee_;
    std::vector<Vm> vms_;
    std::vector<FluidClass> classes_;
    std::vector<double> rates_;
    LinkShares shares_;
    double now_ = 0;
    std::size_t interval_ = 0;
};

}  // namespace weir::sim
