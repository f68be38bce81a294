// capacity_settings.h - what the capacity search is told: once, and of every interval.
// Source: Pulsar 4.3. Units: tokens, tokens/s. Threads: any (values).
#pragma once

#include <span>

namespace weir::estimate {

enum class Phase {
    kIncrease,  ///< no congestion: up to the middle of the window
    kRevert,    ///< too much: back to the bottom
    kWait,      ///< a guarantee was broken: at the bottom until all are kept
    kHold,      ///< nobody asks for as much as the estimate
    kStable,    ///< found; follows small changes
};
[[nodiscard]] const char* name_of(Phase phase);

struct CapacitySettings {
    double min = 0;             ///< certainly less than the capacity
    double max = 0;             ///< certainly more
    double tolerance = 0;       ///< width of the window that ends the search; 0 = 1 % of max
    unsigned readings = 3;      ///< congested intervals in a row before congestion is believed
    double alpha = 0.1;         ///< of eq. 7, 1/s
    double mix_change = 0.1;    ///< part of the tokens that are others than before
    bool jump = true;           ///< take an overloaded appliance's throughput for its capacity
    double latency_factor = 4;  ///< times the least latency: congestion, even with nothing queued; 0 = never
    double drain = 0.5;         ///< of what is queued at the appliance, 1/s; 0 = never
    unsigned check_intervals =
        10;                  ///< when stable and asked for all: try a little more this often; 0 = never
    unsigned wait_max = 10;  ///< intervals at the bottom with a guarantee broken: look lower; 0 = wait on
};

/// The paper's search with the corrections of the first three differences, and nothing else.
[[nodiscard]] CapacitySettings plain_search(double min, double max);

/// One interval.
struct Reading {
    double throughput = 0;     ///< tokens/s served
    double offered = 0;        ///< tokens/s that the flows could use (their demand)
    double outstanding = 0;    ///< tokens at the appliance, on average
    bool violated = false;     ///< a tenant that wants its guarantee got less
    double guaranteed = 0;     ///< tokens/s: `allocate` is not lowered below for a queue's sake
    double in_force = 0x1p53;  ///< tokens/s that enforcers let through, where that was less than `allocate`
    std::span<const double> mix = {};     ///< tokens by kind of request (or tenant); empty = not known
    std::span<const double> wanted = {};  ///< the mix that what is given out will make; empty = as `mix`
};

}  // namespace weir::estimate
