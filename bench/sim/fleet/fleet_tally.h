// fleet_tally.h - counts of all servers of a fleet.
// Units: bytes; intervals.
// Threads: one owner.
#pragma once

#include <cstdint>
#include <vector>

namespace weir::sim {

struct FleetTally {
    explicit FleetTally(std::size_t intervals) : sent(intervals), failed(intervals + 1) {}

    std::uint64_t events = 0;      ///< how often a link was divided
    double peak = 0;               ///< largest sum of a link's rates, over its capacity
    std::vector<double> sent;      ///< by interval
    std::uint64_t overloaded = 0;  ///< intervals in which a server's strict VMs demanded more than the link
    double wanted = 0;             ///< bytes that strict VMs demanded
    double lapsed = 0;             ///< bytes of these that they could not send
    double begun = 0;              ///< bytes of the transmissions that dynamic VMs began
    double left = 0;               ///< bytes of these that were not sent at the end

    std::vector<std::uint64_t> failed;  ///< strict VMs by intervals in which the promise was not kept
    std::uint64_t started = 0;
    std::uint64_t running = 0;     ///< at the end, and not late
    std::vector<double> relative;  ///< time of a transmission / T; of late ones at the end: so far

    double strict_money = 0;
    double dynamic_money = 0;
    double fair_money = 0;  ///< dynamic guarantees that are over
};

}  // namespace weir::sim
