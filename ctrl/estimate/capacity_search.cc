// capacity_search.cc - the phases of the search.
#include "ctrl/estimate/capacity_search.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

#include "ctrl/estimate/demand.h"

namespace weir::estimate {
namespace {

constexpr double kDefaultTolerance = 0.01;  // of max
// What an overloaded appliance delivers may be less than its best.
constexpr double kJumpBelow = 0.95;
constexpr double kJumpAbove = 1.1;
constexpr double kFirstStep = 0.25;   // of the window: 1.25 times the estimate after a change of mix
constexpr double kClimbMost = 2;      // one step up multiplies the estimate by no more
constexpr double kFollowMost = 0.1;   // eq. 7 moves the estimate no further from where it settled
constexpr double kCheckFirst = 0.03;  // a check that succeeds is followed by one of twice the step
constexpr double kCheckMost = 0.25;
constexpr double kBusyOutstanding =
    2;  // times what the least latency needs: enough to keep the appliance busy
constexpr double kLatencyForgets = 1.02;
constexpr double kLatencyCounts = 0.25;  // of the estimate: a latency under less load means nothing
constexpr double kMargin = 0.01;         // of the estimate
constexpr double kNearly = 0.95;         // of the estimate given out: the mix is as the tenants want it
constexpr unsigned kMixSettles = 2;      // intervals in which one change may show

bool is_whole(const Reading& r) {
    return is_plausible(r.throughput) && is_plausible(r.offered) && is_plausible(r.outstanding) &&
           is_plausible(r.guaranteed) &&
           std::all_of(r.mix.begin(), r.mix.end(), [](double tokens) { return is_plausible(tokens); });
}

}  // namespace

const char* name_of(Phase phase) {
    switch (phase) {
        case Phase::kIncrease:
            return "increase";
        case Phase::kRevert:
            return "revert";
        case Phase::kWait:
            return "wait";
        case Phase::kHold:
            return "hold";
        case Phase::kStable:
            break;
    }
    return "stable";
}

CapacitySettings plain_search(double min, double max) {
    CapacitySettings settings{.min = min, .max = max};
    settings.jump = false;
    settings.latency_factor = 0;
    settings.drain = 0;
    settings.check_intervals = 0;
    settings.wait_max = 0;
    return settings;
}

CapacitySearch::CapacitySearch(const CapacitySettings& settings)
    : settings_(settings),
      tolerance_(settings.tolerance > 0 ? settings.tolerance : kDefaultTolerance * settings.max),
      state_{.min_window = settings.min,
             .max_window = settings.max,
             .estimate = settings.min,
             .allocate = settings.min} {
    assert(settings.min >= 0 && settings.min <= settings.max);
}

const CapacitySearch::State& CapacitySearch::update(const Reading& reading) {
    if (!is_whole(reading))
        return state_;
    ++since_restart_;
    const Signal signal = signal_of(reading);
    // An overload and the end of its queue mix requests anew, and say themselves what to do.
    if (signal == Signal::kClear && state_.allocate >= kNearly * state_.estimate) {
        if (mix_changed(reading.mix) && (since_restart_ > kMixSettles || state_.phase == Phase::kStable))
            restart();
        if (mix_.empty() || since_restart_ <= kMixSettles)
            remember_mix(reading.mix);
    }
    if (signal == Signal::kClear || signal == Signal::kIdle) {
        note_latency(reading);
        congested_ = 0;
    }
    if (state_.phase == Phase::kStable)
        stay(signal, reading);
    else
        search(signal, reading);
    state_.allocate = to_allocate(reading);
    return state_;
}

/// What the reading says of the estimate that was in force.
CapacitySearch::Signal CapacitySearch::signal_of(const Reading& r) const {
    if (settings_.jump && congested_ > 0 && state_.allocate < state_.estimate &&
        r.throughput < state_.estimate - margin())
        return r.outstanding > busy_outstanding(r.throughput) ? Signal::kShort : Signal::kNothing;
    const bool asked = r.offered >= state_.allocate - margin();
    const bool under = asked && r.throughput < state_.allocate - margin();
    // A jump mends both, and at once; and who gives out less than is guaranteed breaks guarantees himself.
    if (r.violated && !(settings_.jump && under) && r.guaranteed <= state_.allocate)
        return Signal::kViolation;
    if (asked)
        return under ? Signal::kShort : Signal::kClear;
    const bool slow = settings_.latency_factor > 0 && least_latency_ > 0 &&
                      r.throughput > kLatencyCounts * state_.allocate &&
                      r.outstanding > settings_.latency_factor * least_latency_ * r.throughput;
    return slow ? Signal::kShort : Signal::kIdle;
}

/// As much as keeps an appliance busy that serves so many tokens/s.
double CapacitySearch::busy_outstanding(double throughput) const {
    return kBusyOutstanding * least_latency_ * throughput;
}

double CapacitySearch::margin() const {
    return settings_.jump ? std::min(tolerance_ / 2, kMargin * state_.estimate) : tolerance_ / 2;
}

bool CapacitySearch::mix_changed(std::span<const double> mix) const {
    const double total = std::accumulate(mix.begin(), mix.end(), 0.0);
    if (total <= 0 || mix_.empty())
        return false;
    double moved = 0;
    for (std::size_t i = 0; i < std::max(mix.size(), mix_.size()); ++i) {
        const double now = i < mix.size() ? mix[i] / total : 0;
        moved += std::abs(now - (i < mix_.size() ? mix_[i] : 0));
    }
    return moved / 2 > settings_.mix_change;
}

void CapacitySearch::remember_mix(std::span<const double> mix) {
    const double total = std::accumulate(mix.begin(), mix.end(), 0.0);
    if (total <= 0)
        return;
    mix_.assign(mix.begin(), mix.end());
    for (double& part : mix_)
        part /= total;
}

void CapacitySearch::note_latency(const Reading& r) {
    if (r.throughput <= 0 || r.outstanding <= 0)
        return;
    const double latency = r.outstanding / r.throughput;
    least_latency_ = least_latency_ > 0 ? std::min(latency, least_latency_ * kLatencyForgets) : latency;
}

bool CapacitySearch::believed(const Reading& r) {
    congested_throughput_ = congested_ == 0 ? 0 : congested_throughput_ + r.throughput;
    return ++congested_ >= settings_.readings;
}

void CapacitySearch::restart() {
    if (check_from_ > 0)
        state_.estimate = check_from_;
    state_.min_window = std::max(settings_.min, state_.estimate / 2);
    state_.max_window = std::min(settings_.max, state_.estimate * 2);
    state_.phase = Phase::kIncrease;
    top_seen_ = climbing_ = false;
    congested_ = since_restart_ = 0;
    check_from_ = check_step_ = 0;
}

void CapacitySearch::search(Signal signal, const Reading& r) {
    switch (signal) {
        case Signal::kClear:
            increase(r);
            break;
        case Signal::kIdle:
            state_.phase = Phase::kHold;
            break;
        case Signal::kNothing:
            break;
        case Signal::kShort:
        case Signal::kViolation:
            congested(signal, r);
            break;
    }
}

void CapacitySearch::congested(Signal signal, const Reading& r) {
    if (state_.phase == Phase::kWait && signal == Signal::kViolation) {
        if (settings_.wait_max != 0 && ++waited_ >= settings_.wait_max)
            lower_floor();
        return;
    }
    if (!believed(r))
        return;
    if (signal == Signal::kShort) {
        settings_.jump ? jump(r) : revert(r);
    } else {
        // At the bottom already: what is queued from before breaks guarantees, the window says nothing about
        // that.
        if (!at_floor())
            revert(r);
        state_.estimate = state_.min_window;
        state_.phase = Phase::kWait;
        waited_ = 0;
    }
    congested_ = 0;
}

void CapacitySearch::increase(const Reading& r) {
    state_.phase = Phase::kIncrease;
    state_.min_window = state_.estimate;
    if (narrow()) {
        if (top_seen_ || state_.max_window >= settings_.max)
            return settle(r);
        state_.max_window =
            std::min(settings_.max, state_.max_window * 2);  // nobody has shown that it is too much
    }
    // A part of the way first; who can do that is tried with all. An overload tells the capacity, so one is
    // sought.
    const double width = state_.max_window - state_.min_window;
    if (!settings_.jump || top_seen_)
        state_.estimate += width / 2;
    else
        state_.estimate = std::min(state_.estimate + (climbing_ ? width : kFirstStep * width),
                                   kClimbMost * std::max(state_.estimate, margin()));
    climbing_ = true;
}

void CapacitySearch::revert(const Reading& r) {
    if (at_floor()) {
        lower_floor();
    } else {
        state_.max_window = state_.estimate;
        state_.estimate = state_.min_window;
        top_seen_ = true;
    }
    state_.phase = Phase::kRevert;
    if (narrow())
        settle(r);
}

/// Even the bottom of the window is too much.
void CapacitySearch::lower_floor() {
    state_.max_window = state_.estimate;
    state_.min_window = std::max(settings_.min, state_.estimate / 2);
    state_.estimate = state_.min_window;
    top_seen_ = true;
    waited_ = 0;
}

void CapacitySearch::jump(const Reading& r) {
    const double delivered = congested_ > 1 ? congested_throughput_ / (congested_ - 1) : r.throughput;
    state_.estimate = std::clamp(delivered, settings_.min, settings_.max);
    state_.min_window = std::max(settings_.min, kJumpBelow * state_.estimate);
    state_.max_window = std::min(settings_.max, kJumpAbove * state_.estimate);
    top_seen_ = true;
    settle(r);
    // What is outstanding now is the overload's queue.
    settled_outstanding_ = std::min(r.outstanding, busy_outstanding(state_.estimate));
    outstanding_known_ = least_latency_ > 0;
    mix_.clear();
    // An overload serves another mix, and may be less than the best: as soon as its queue is gone, a check.
    full_readings_ = settings_.check_intervals;
}

void CapacitySearch::settle(const Reading& r) {
    outstanding_known_ = state_.phase == Phase::kIncrease;  // after too much: with the next reading
    settled_outstanding_ = r.outstanding;
    settled_ = state_.estimate;
    state_.phase = Phase::kStable;
    congested_ = full_readings_ = 0;
    check_from_ = check_step_ = 0;
    remember_mix(r.mix);
}

void CapacitySearch::stay(Signal signal, const Reading& r) {
    if (check_from_ > 0 && signal != Signal::kClear) {  // the check was too much, and shows what is not
        state_.estimate =
            signal == Signal::kShort ? std::clamp(r.throughput, check_from_, state_.estimate) : check_from_;
        check_from_ = check_step_ = 0;
        congested_ = full_readings_ = 0;
        return;
    }
    switch (signal) {
        case Signal::kIdle:
            full_readings_ = 0;
            break;
        case Signal::kNothing:
            break;
        case Signal::kShort:
        case Signal::kViolation:
            congested(signal, r);
            break;
        case Signal::kClear:
            ++full_readings_;
            follow(r);
            check();
            break;
    }
}

/// Eq. 7, while no queue is drained: until then what is outstanding tells of the past.
void CapacitySearch::follow(const Reading& r) {
    if (!outstanding_known_) {
        settled_outstanding_ = r.outstanding;
        outstanding_known_ = true;
        return;
    }
    const double excess = r.outstanding - settled_outstanding_;
    if (check_from_ > 0 || settings_.drain * excess > tolerance_)
        return;
    state_.estimate = std::clamp(state_.estimate - settings_.alpha * excess, (1 - kFollowMost) * settled_,
                                 (1 + kFollowMost) * settled_);
    state_.estimate = std::clamp(state_.estimate, settings_.min, settings_.max);
}

/// Tries a little more now and then, and twice that when it goes well: nothing else shows an appliance that
/// has become faster.
void CapacitySearch::check() {
    if (check_from_ > 0) {
        settled_ = state_.estimate;
        check_step_ = std::min(2 * check_step_, kCheckMost);
    } else if (full_readings_ >= settings_.check_intervals && settings_.check_intervals != 0 &&
               state_.allocate >= state_.estimate - margin()) {  // nothing is drained
        check_step_ = kCheckFirst;
    } else {
        return;
    }
    check_from_ = state_.estimate;
    state_.estimate = std::min(settings_.max, state_.estimate * (1 + check_step_));
}

/// The estimate, less what makes the appliance's queue go.
double CapacitySearch::to_allocate(const Reading& r) const {
    if (settings_.drain <= 0)
        return state_.estimate;
    double busy = settled_outstanding_;
    double rate = state_.estimate;
    if (settings_.jump &&
        congested_ > 0) {  // too much, perhaps: while that is being found out, nothing is added to it
        rate = std::min(rate, r.throughput);
        busy = busy_outstanding(rate);
        if (r.outstanding <= busy)
            return state_.estimate;  // nothing is left to tell by: once more
    } else if (state_.phase != Phase::kStable || !outstanding_known_) {
        return state_.estimate;
    }
    const double excess = std::max(0.0, r.outstanding - busy);
    const double least = std::min(state_.estimate, std::max(r.guaranteed, rate / 2));
    return std::max(least, rate - settings_.drain * excess);
}

}  // namespace weir::estimate
