// capacity_search.cc - the phases of the search.
#include "ctrl/estimate/capacity_search.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "ctrl/estimate/demand.h"

namespace weir::estimate {
namespace {

constexpr double kDefaultTolerance = 0.01;  // of max
// What an overloaded appliance delivers may be less than its best.
constexpr double kJumpBelow = 0.95;
constexpr double kJumpAbove = 1.1;
constexpr double kFollowMost = 0.1;   // eq. 7 moves the estimate no further from where it settled
constexpr double kCheckFirst = 0.03;  // a check that succeeds is followed by one of twice the step
constexpr double kCheckMost = 0.25;
constexpr unsigned kChecksRarest = 3;  // times check_intervals, when one after the other was too much
constexpr double kBusyOutstanding =
    2;  // times what the least latency needs: enough to keep the appliance busy
constexpr double kLatencyForgets = 1.02;
constexpr double kLatencyCounts = 0.25;  // of the estimate: a latency under less load means nothing
constexpr double kMargin = 0.01;         // of the estimate
constexpr double kDrainLeast = 0.97;
constexpr double kBelow = 0.995;
constexpr double kNearly = 0.95;     // of the estimate given out: the mix is as the tenants want it
constexpr unsigned kMixSettles = 2;  // intervals in which one change may show

bool is_whole(const Reading& r) {
    return is_plausible(r.throughput) && is_plausible(r.offered) && is_plausible(r.outstanding) &&
           is_plausible(r.guaranteed) &&
           std::all_of(r.mix.begin(), r.mix.end(), [](double tokens) { return is_plausible(tokens); });
}

}  // namespace

CapacitySearch::CapacitySearch(const CapacitySettings& settings)
    : settings_(settings),
      tolerance_(settings.tolerance > 0 ? settings.tolerance : kDefaultTolerance * settings.max),
      state_{.min_window = settings.min,
             .max_window = settings.max,
             .estimate = settings.min,
             .allocate = settings.min},
      check_wait_(settings.check_intervals) {
    assert(settings.min >= 0 && settings.min <= settings.max);
}

const CapacitySearch::State& CapacitySearch::update(const Reading& reading) {
    if (!is_whole(reading))
        return state_;
    ++since_restart_;
    const Signal signal = signal_of(reading);
    // An overload and the end of its queue mix requests anew, and say themselves what to do.
    if (signal == Signal::kClear && state_.allocate >= kNearly * state_.estimate) {
        if (mix_.moved(reading.mix) > settings_.mix_change &&
            (since_restart_ > kMixSettles || state_.phase == Phase::kStable))
            restart();
        if (!mix_.known() || since_restart_ <= kMixSettles)
            mix_.remember(reading.mix);
    }
    if (signal == Signal::kClear || signal == Signal::kIdle)
        congested_ = 0;
    learn(signal, reading);
    if (signal != Signal::kShort && signal != Signal::kViolation && congested_ == 0)
        note_latency(reading);
    if (turn(reading))
        ;  // everything begins anew
    else if (state_.phase == Phase::kStable)
        stay(signal, reading);
    else
        search(signal, reading);
    last_outstanding_ = reading.outstanding;
    state_.allocate = to_allocate(reading);
    return state_;
}

/// What the reading says of the estimate that was in force.
CapacitySearch::Signal CapacitySearch::signal_of(const Reading& r) const {
    if (settings_.jump && congested_ > 0 && state_.allocate < state_.estimate &&
        r.throughput < state_.estimate - margin())
        return r.outstanding > busy_outstanding(r.throughput) && least_latency_ > 0 ? Signal::kShort
                                                                                    : Signal::kNothing;
    const double limit = std::min(state_.allocate, r.in_force);
    const bool asked = r.offered >= limit - margin();
    const bool under = asked && r.throughput < limit - margin();
    // A jump mends both, and at once; and who gives out less than is guaranteed breaks guarantees himself.
    if (r.violated && !(settings_.jump && under) && r.guaranteed <= limit)
        return Signal::kViolation;
    if (asked && !under) {
        const bool tried = limit >= state_.estimate - margin() || state_.phase == Phase::kStable;
        return tried || !settings_.jump ? Signal::kClear : Signal::kNothing;
    }
    return under || is_slow(r) ? Signal::kShort : Signal::kIdle;
}

/// Requests wait in the appliance, though the enforcers let all through.
bool CapacitySearch::is_slow(const Reading& r) const {
    return settings_.latency_factor > 0 && r.throughput > kLatencyCounts * state_.allocate && has_queue(r);
}

/// Samples may say twice as much without one.
bool CapacitySearch::has_queue(const Reading& r) const {
    const double times = std::max(settings_.latency_factor, kBusyOutstanding);
    return least_latency_ > 0 && r.outstanding > times * least_latency_ * r.throughput;
}

double CapacitySearch::slowdown(const Reading& r) const {
    return has_queue(r) && r.throughput > 0 ? r.outstanding / (least_latency_ * r.throughput) : 1;
}

/// As much as keeps an appliance busy that serves so many tokens/s.
double CapacitySearch::busy_outstanding(double throughput) const {
    return kBusyOutstanding * least_latency_ * throughput;
}

/// What is outstanding, without a queue.
double CapacitySearch::at_work(const Reading& r) const {
    return settings_.drain > 0 && least_latency_ > 0 ? std::min(r.outstanding, busy_outstanding(r.throughput))
                                                     : r.outstanding;
}

double CapacitySearch::margin() const {
    return settings_.jump ? std::min(tolerance_ / 2, kMargin * state_.estimate) : tolerance_ / 2;
}

void CapacitySearch::note_latency(const Reading& r) {
    if (r.throughput <= 0 || r.outstanding <= 0)
        return;
    const double latency = r.outstanding / r.throughput;
    least_latency_ = least_latency_ > 0 ? std::min(latency, least_latency_ * kLatencyForgets) : latency;
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
            if (queue_stays(r))
                state_.estimate = std::max(r.throughput, state_.min_window);
            break;
        case Signal::kShort:
        case Signal::kViolation:
            congested(signal, r);
            break;
    }
}

/// Less is given out to drain a queue, and it is not drained: the estimate is too much.
bool CapacitySearch::queue_stays(const Reading& r) const {
    return state_.allocate < state_.estimate - margin() && r.throughput < state_.estimate - margin() &&
           r.outstanding > kQueueFalls * last_outstanding_ && has_queue(r);
}

void CapacitySearch::congested(Signal signal, const Reading& r) {
    if (state_.phase == Phase::kWait && signal == Signal::kViolation) {
        if (settings_.wait_max != 0 && ++waited_ >= settings_.wait_max)
            lower_floor();
        return;
    }
    // Right after a step up, and with a queue: it was the step. Nobody need be asked again.
    if (settings_.jump && signal == Signal::kShort && climbing_ && state_.phase != Phase::kStable &&
        is_full(signal, r)) {
        if (!stepped_back_)  // else it is what the step left in the appliance
            step_back(r);
        else
            stepped_back_ = false;
        return;
    }
    if (++congested_ < settings_.readings)
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
    stepped_back_ = false;
    // Requests begin to wait: there is not much more.
    const bool nearly =
        settings_.jump && least_latency_ > 0 && r.outstanding > busy_outstanding(r.throughput);
    if (settings_.jump && (top_seen_ || nearly)) {
        settle(r);
        if (shown(r, 0) <= 0)
            full_readings_ = check_wait_;  // checks see to the rest
        return;
    }
    if (narrow()) {
        if (top_seen_ || state_.max_window >= settings_.max)
            return settle(r);
        state_.max_window =
            std::min(settings_.max, state_.max_window * 2);  // nobody has shown that it is too much
    }
    // An overload tells the capacity, so one is sought: a small one, because whoever keeps little outstanding
    // loses as much as is given out too much. Before the first is found there is more to go.
    if (settings_.jump)
        state_.estimate = std::min(state_.max_window, step_of(r) * std::max(state_.estimate, margin()));
    else
        state_.estimate += (state_.max_window - state_.min_window) / 2;
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

/// What was delivered is the capacity, unless the overload mixed requests so that less was done than before
/// it.
void CapacitySearch::step_back(const Reading& r) {
    state_.max_window = state_.estimate;
    const bool as_before = mix_.moved(r.mix) <= settings_.mix_change / 3;
    const double known = shown(r, as_before ? r.throughput : 0);
    state_.estimate = known > kNearly * state_.min_window
                          ? std::clamp(known, state_.min_window, state_.estimate)
                          : state_.min_window + (state_.estimate - state_.min_window) / 4;
    state_.phase = Phase::kRevert;
    top_seen_ = true;
    congested_ = 0;
    stepped_back_ = true;
    settled_outstanding_ = busy_outstanding(state_.estimate);
    outstanding_known_ = true;
    if (narrow()) {
        state_.estimate = state_.min_window;
        settle(r);
    }
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
    // The last reading: in those before things may still have been changing.
    state_.estimate = std::clamp(shown(r, r.throughput), settings_.min, settings_.max);
    state_.min_window = std::max(settings_.min, kJumpBelow * state_.estimate);
    state_.max_window = std::min(settings_.max, kJumpAbove * state_.estimate);
    top_seen_ = true;
    settle(r);
    // What is outstanding now is the overload's queue.
    outstanding_known_ = least_latency_ > 0;
    mix_.forget();
    // An overload serves another mix, and may be less than the best: as soon as its queue is gone, a check.
    if (shown(r, 0) <= 0)
        full_readings_ = check_wait_;
}

void CapacitySearch::settle(const Reading& r) {
    outstanding_known_ = congested_ == 0;  // after too much: with the next reading
    settled_outstanding_ = at_work(r);
    settled_ = state_.estimate;
    state_.phase = Phase::kStable;
    congested_ = full_readings_ = 0;
    check_from_ = check_step_ = 0;
    mix_.remember(r.mix);
}

void CapacitySearch::stay(Signal signal, const Reading& r) {
    const bool tried = state_.allocate >= state_.estimate - margin();
    if (check_from_ > 0 && (signal != Signal::kClear || !tried)) {  // it was too much, and shows what is not
        state_.estimate = signal == Signal::kShort
                              ? std::clamp(shown(r, kBelow * r.throughput), check_from_, state_.estimate)
                              : check_from_;
        settled_ = state_.estimate;
        check_from_ = check_step_ = 0;
        congested_ = full_readings_ = 0;
        check_wait_ = std::min(2 * check_wait_, kChecksRarest * settings_.check_intervals);
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
            if (settings_.drain > 0 && tried &&
                has_queue(r))  // it could just be served, and a little more could not
                state_.estimate = settled_ =
                    std::min(state_.estimate, std::max(kBelow * r.throughput, settings_.min));
            follow(r);
            check();
            break;
    }
}

/// Eq. 7, while no queue is drained: until then what is outstanding tells of the past.
void CapacitySearch::follow(const Reading& r) {
    if (!outstanding_known_) {
        settled_outstanding_ = at_work(r);
        outstanding_known_ = true;
        return;
    }
    const double excess = r.outstanding - settled_outstanding_;
    if (settings_.drain > 0 && queue_stays(r))
        state_.estimate = settled_ = std::max(r.throughput, settings_.min);
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
        check_wait_ = settings_.check_intervals;
    } else if (full_readings_ >= check_wait_ && settings_.check_intervals != 0 &&
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
        if (least_latency_ <= 0 || r.outstanding <= busy)
            return state_.estimate;  // nothing is left to tell by: once more
    } else if (!outstanding_known_ || (state_.phase != Phase::kStable && state_.phase != Phase::kRevert)) {
        return state_.estimate;
    }
    if (state_.phase == Phase::kRevert && has_queue(r))
        rate = std::min(rate, std::max(r.throughput, state_.min_window));
    const double excess = std::max(0.0, r.outstanding - busy);
    const double least = std::min(state_.estimate, std::max(r.guaranteed, rate / 2));
    // A queue of milliseconds is few tokens, and as bad for whoever keeps few outstanding.
    const double most = has_queue(r) ? kDrainLeast * rate : rate;
    return std::max(least, std::min(most, rate - settings_.drain * excess));
}

}  // namespace weir::estimate
