// capacity_turn.cc - what readings of a full appliance say about mixes that are to come.
#include <algorithm>
#include <numeric>

#include "ctrl/estimate/capacity_search.h"

namespace weir::estimate {
namespace {

/// Times the least latency: nothing that the appliance does could be faster.
constexpr double kSurelyFull = 8;
constexpr double kShortAndFull = 1.5;  // when it served less than it might have
/// Of what it can serve: a queue hurts those most who keep little outstanding.
constexpr double kSafe = 0.995;
constexpr double kSure = 0.06;
constexpr double kErrors = 1.5;  // standard deviations that a step is
constexpr double kStepLeast = 0.02;
constexpr double kStepMost = 0.25;
constexpr double kFirstStep = 2;  // times the estimate at most, while none was found yet
constexpr double kStep = 1.15;
constexpr double kTurnBelow = 1.05;
constexpr double kTurnAbove = 1.1;

/// What an overload takes it takes from guarantees: the less is given out beside them, the less more is
/// tried. Who gives out less than them breaks them himself.
double first_step(double estimate, double guaranteed) {
    if (guaranteed > estimate || guaranteed * kFirstStep <= estimate)
        return kFirstStep;
    return std::max(kStep, estimate / guaranteed);
}

}  // namespace

bool CapacitySearch::is_full(Signal signal, const Reading& r) const {
    if (least_latency_ <= 0 || r.throughput <= 0 || r.outstanding < kQueueFalls * last_outstanding_)
        return false;
    return signal == Signal::kShort ? r.outstanding > kShortAndFull * least_latency_ * r.throughput
                                    : r.outstanding > kSurelyFull * least_latency_ * r.throughput;
}

void CapacitySearch::learn(Signal signal, const Reading& r) {
    const double total = std::accumulate(r.mix.begin(), r.mix.end(), 0.0);
    if (!settings_.jump || total <= 0)
        return;
    rates_.assign(r.mix.begin(), r.mix.end());
    for (double& rate : rates_)
        rate *= r.throughput / total;
    work_.learn(rates_, is_full(signal, r), 1 / state_.estimate);
}

double CapacitySearch::shown(const Reading& r, double otherwise) const {
    const std::span<const double> mix = r.wanted.empty() ? r.mix : r.wanted;
    return settings_.jump && work_.error(mix) < kSure ? kSafe * work_.capacity(mix) : otherwise;
}

double CapacitySearch::step_of(const Reading& r) const {
    const double error = work_.error(r.wanted.empty() ? r.mix : r.wanted);
    if (error >= 1)
        return settled_ > 0 ? kStep : first_step(state_.estimate, r.guaranteed);
    return 1 + std::clamp(kErrors * error, kStepLeast, kStepMost);
}

bool CapacitySearch::turn(const Reading& r) {
    if (!settings_.jump || r.wanted.empty())
        return false;
    if (!aim_.known())
        aim_.remember(r.wanted);
    const double capacity = kSafe * work_.capacity(r.wanted);
    if (aim_.moved(r.wanted) <= settings_.mix_change || capacity <= 0)
        return false;
    aim_.remember(r.wanted);
    mix_.remember(r.wanted);
    state_.estimate = std::clamp(capacity, settings_.min, settings_.max);
    const double error = work_.error(r.wanted);
    state_.min_window = std::max(settings_.min, state_.estimate / (kTurnBelow + kErrors * error));
    state_.max_window = std::min(settings_.max, state_.estimate * (kTurnAbove + 2 * kErrors * error));
    state_.phase = Phase::kIncrease;
    top_seen_ = error < kSure;
    climbing_ = true;
    stepped_back_ = outstanding_known_ = false;
    congested_ = since_restart_ = 0;
    check_from_ = check_step_ = 0;
    check_wait_ = settings_.check_intervals;
    return true;
}

}  // namespace weir::estimate
