// capacity_search.h - search of an appliance's capacity from its throughput, demand and outstanding tokens.
// Source: Pulsar 4.3; docs/algorithms.md 7.2
// Units: tokens, tokens/s, seconds. Threads: one owner.
//
// The capacity lies in a window from `min` to `max`. Each interval tries an estimate: without congestion the
// window's bottom rises to it; with congestion (less throughput than was asked for and allowed, or a broken
// guarantee) its top falls to it. A narrow window ends the search. Then eq. 7 follows small changes of the
// outstanding tokens.
//
// Example, the paper's search with capacity 7,000: the window 5,000 to 10,000 gives estimates 5,000, then
// 7,500, which is congested, then 5,000 again, then 6,250, and so on until the window is narrow.
//
// Differences from the paper:
//   - When the demand is below the estimate, the interval shows nothing and the estimate is held.
//   - A changed mix of requests widens the window around the estimate and keeps the estimate. The paper
//     begins again at the bottom, below the tenants' guarantees.
//   - The window moves when its bottom is congested, or when its top never was.
//   - Eq. 7 alone turns a queue into a falling estimate and the estimate into a queue, and oscillates with
//     open loops. While there is a queue, `allocate` is below the estimate: the queue drains.
//   - `jump`: an overloaded appliance delivers its capacity, so one step replaces the search. A step up that
//     ends in a queue is reversed at once. Other congestion is believed after `readings` intervals, during
//     which nothing is added to the queue. Readings of a full appliance also show the work of each kind of
//     request (work_model.h), so that a new mix is met before it causes congestion.
//   - `latency_factor`: closed loops never queue in the switches while the appliance is the bottleneck. The
//     time that their tokens are outstanding shows it.
//   - Less throughput than was asked for and allowed is congestion only while requests queue at the
//     appliance: otherwise a limit that the controller does not know held them. With 6,500 allowed, 3,750
//     served and as little outstanding as before, the estimate stays.
//   - A latency that stays although less is let in is the appliance's own at that load and no queue.
//   - `check_intervals`: a slightly larger estimate from time to time shows an appliance that became faster.
//
// capacity_search.cc holds the phases, capacity_search_mix.cc the estimates for mixes to come.
#pragma once

#include <span>
#include <vector>

#include "ctrl/estimate/work_model.h"

namespace weir::estimate {

enum class Phase {
    kIncrease,  ///< no congestion: up to the middle of the window
    kRevert,    ///< congestion: back to the bottom
    kWait,      ///< a guarantee was broken: at the bottom until all are kept
    kHold,      ///< the demand is below the estimate
    kStable,    ///< found; follows small changes
};
[[nodiscard]] const char* name_of(Phase phase);

struct CapacitySettings {
    double min = 0;                 ///< certainly below the capacity
    double max = 0;                 ///< certainly above
    double tolerance = 0;           ///< width of the window that ends the search; 0: 1 % of max
    unsigned readings = 3;          ///< congested intervals in a row before congestion is believed
    double alpha = 0.1;             ///< of eq. 7, 1/s
    double mix_change = 0.1;        ///< part of the tokens whose change of kind counts as another mix
    bool jump = true;               ///< take an overloaded appliance's throughput for its capacity
    double latency_factor = 4;      ///< times the least latency that is congestion without a queue; 0: never
    double drain = 0.5;             ///< part of the appliance's queue that is drained per second; 0: never
    unsigned check_intervals = 10;  ///< full intervals between checks for more capacity; 0: no checks
    unsigned wait_max = 10;  ///< intervals at the bottom with a broken guarantee before it falls; 0: none
};

/// The paper's search with the first three differences alone.
[[nodiscard]] CapacitySettings plain_search(double min, double max);

/// One interval.
struct Reading {
    double throughput = 0;     ///< tokens/s served
    double offered = 0;        ///< tokens/s: demand of all flows
    double outstanding = 0;    ///< tokens at the appliance, mean over time
    bool violated = false;     ///< a tenant got less than its guarantee and wanted it
    double guaranteed = 0;     ///< tokens/s below which `allocate` is not lowered to drain a queue
    double in_force = 0x1p53;  ///< tokens/s that switches allowed and flows could use, if below `allocate`
    std::span<const double> mix = {};     ///< tokens by kind of request (or tenant); empty: not known
    std::span<const double> wanted = {};  ///< mix that the next allocation will make; empty: as `mix`
};

class CapacitySearch {
  public:
    struct State {
        Phase phase = Phase::kIncrease;
        double min_window = 0;
        double max_window = 0;
        double estimate = 0;
        double allocate = 0;  ///< tokens/s to allocate: the estimate, or less while a queue drains
    };

    /// @param settings 0 <= min <= max
    explicit CapacitySearch(const CapacitySettings& settings);

    /// Evaluates an interval under `state().allocate`. @return the state for the next interval; a reading
    /// that is not plausible leaves it unchanged
    const State& update(const Reading& reading);
    [[nodiscard]] const State& state() const { return state_; }
    [[nodiscard]] const CapacitySettings& settings() const { return settings_; }
    /// Kinds of requests in mixes have other numbers from now on; see RequestMix::renumber().
    void renumber_kinds(std::span<const std::size_t> before) {
        mix_.renumber(before);
        aim_.renumber(before);
        work_.renumber(before);
    }
    /// Latency over the least latency; 1 when requests do not queue at the appliance.
    [[nodiscard]] double slowdown(const Reading& reading) const;

  private:
    /// A queue that fell below this part of its length drains.
    static constexpr double kQueueFalls = 0.9;

    /// The verdict of a reading on the estimate that was in force.
    enum class Signal {
        kClear,      ///< all of it was asked for and delivered
        kIdle,       ///< less was asked for
        kShort,      ///< congestion: less was delivered, or requests queue at the appliance
        kViolation,  ///< congestion: a guarantee was broken
        kNothing,    ///< less than the estimate was in force, or less was delivered without a queue
    };

    [[nodiscard]] double in_force(const Reading& reading) const;
    [[nodiscard]] bool is_under(const Reading& reading) const;
    [[nodiscard]] Signal plain_signal_of(const Reading& reading) const;
    [[nodiscard]] Signal signal_of(const Reading& reading) const;
    /// Tokens/s by which a throughput may fall short without being a signal.
    [[nodiscard]] double margin() const;
    [[nodiscard]] bool is_slow(const Reading& reading) const;
    [[nodiscard]] bool has_queue(const Reading& reading) const;
    [[nodiscard]] bool latency_stays(const Reading& reading) const;
    void judge_latency(double latency, const Reading& reading);
    void note_latency(Signal signal, const Reading& reading);
    [[nodiscard]] bool is_full(Signal signal, const Reading& reading) const;
    void learn(Signal signal, const Reading& reading);
    /// Sets the estimate for the mix to come, when that differs and its work is known. @return whether it did
    bool meet_mix(const Reading& reading);
    /// The next estimate over this one; the smaller its error, the nearer to 1.
    [[nodiscard]] double step_of(const Reading& reading) const;
    /// Capacity for the mix to come as full readings show it; `otherwise` when they do not.
    [[nodiscard]] double shown_capacity(const Reading& reading, double otherwise) const;
    void restart();
    void search(Signal signal, const Reading& reading);
    void stay(Signal signal, const Reading& reading);
    void congested(Signal signal, const Reading& reading);
    void increase(const Reading& reading);
    void revert(const Reading& reading);
    void step_back(const Reading& reading);
    void lower_floor();
    void jump(const Reading& reading);
    void settle(const Reading& reading);
    void follow(const Reading& reading);
    void check();
    void judge_row();
    [[nodiscard]] double busy_outstanding(double throughput) const;
    [[nodiscard]] double at_work(const Reading& reading) const;
    [[nodiscard]] double to_allocate(const Reading& reading) const;
    [[nodiscard]] double to_drain(const Reading& reading) const;
    [[nodiscard]] double least_to_allocate(const Reading& reading) const;
    [[nodiscard]] bool is_at_floor() const { return state_.estimate - state_.min_window <= tolerance_; }
    [[nodiscard]] bool is_narrow() const { return state_.max_window - state_.min_window <= tolerance_; }

    CapacitySettings settings_;
    double tolerance_;
    State state_;
    RequestMix mix_;  // at the beginning of the search or the stable phase
    RequestMix aim_;  // to come, when the estimate was last set for one
    WorkModel work_;
    std::vector<double> rates_;
    unsigned since_restart_ = 0;

    unsigned congested_ = 0;     // congested readings in a row
    bool top_seen_ = false;      // a value above the estimate was congested
    bool climbing_ = false;      // the estimate rose since the window was set
    bool stepped_back_ = false;  // the last reading lowered the estimate
    unsigned waited_ = 0;
    double last_outstanding_ = 0;
    double least_latency_ = 0;  // outstanding over throughput, seconds; 0: not known
    double last_latency_ = 0;   // of the last reading with a throughput
    unsigned pressed_ = 0;      // readings in a row in which the latency stayed
    double stayed_at_ = 0;      // throughput in the first of them

    double settled_ = 0;              // the estimate when the stable phase began
    double settled_outstanding_ = 0;  // O_s of eq. 7
    bool outstanding_known_ = false;
    unsigned full_readings_ = 0;  // readings in a row with all asked for and delivered
    double check_from_ = 0;       // the estimate before the check; 0: no check is on
    double check_step_ = 0;       // of the last check, as a part of the estimate
    double row_from_ = 0;         // the estimate before a row of checks, until that is judged; 0: none
    bool row_rose_ = false;       // a check of the row succeeded
    bool bursts_ = false;         // the last row found a burst instead of more capacity
    unsigned check_wait_;         // full readings before the next check; doubled by each failed check
};

}  // namespace weir::estimate
