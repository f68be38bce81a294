// capacity_search_mix.cc - work per kind from full readings, and estimates for mixes to come.
#include <algorithm>
#include <numeric>

#include "ctrl/estimate/capacity_search.h"

namespace weir::estimate {
namespace {

constexpr double kSurelyFull = 8;      // times the least latency: requests waited all the time
constexpr double kShortAndFull = 1.5;  // the same when less was delivered than allowed
constexpr double kSafe = 0.995;        // of the capacity, because a queue hurts flows with little outstanding
constexpr double kErrorSure = 0.06;    // of a capacity that is used without further search
constexpr double kErrors = 1.5;        // standard deviations per step
constexpr double kStepLeast = 0.02;
constexpr double kStepMost = 0.25;
constexpr double kFirstStepMost = 2;  // times the estimate, before the first was found
constexpr double kStep = 1.15;
// Window after a change of the mix, as factors of the estimate.
constexpr double kWindowBelow = 1.05;
constexpr double kWindowAbove = 1.1;

/// First step of a search. An overload takes its excess over the capacity from guarantees, so the step is
/// smaller when little is allocated beside the guarantees. When less than the guarantees is allocated, the
/// allocation itself breaks them and a large step costs nothing.
double first_step(double estimate, double guaranteed) {
    if (guaranteed > estimate || guaranteed * kFirstStepMost <= estimate)
        return kFirstStepMost;
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

double CapacitySearch::shown_capacity(const Reading& r, double otherwise) const {
    const std::span<const double> mix = r.wanted.empty() ? r.mix : r.wanted;
    return settings_.jump && work_.error(mix) < kErrorSure ? kSafe * work_.capacity(mix) : otherwise;
}

double CapacitySearch::step_of(const Reading& r) const {
    const double error = work_.error(r.wanted.empty() ? r.mix : r.wanted);
    if (error >= 1)
        return settled_ > 0 ? kStep : first_step(state_.estimate, r.guaranteed);
    return 1 + std::clamp(kErrors * error, kStepLeast, kStepMost);
}

bool CapacitySearch::meet_mix(const Reading& r) {
    if (!settings_.jump || r.wanted.empty())
        return false;
    if (!aim_.is_known())
        aim_.remember(r.wanted);
    const double capacity = kSafe * work_.capacity(r.wanted);
    if (aim_.moved(r.wanted) <= settings_.mix_change || capacity <= 0)
        return false;
    aim_.remember(r.wanted);
    mix_.remember(r.wanted);
    state_.estimate = std::clamp(capacity, settings_.min, settings_.max);
    const double error = work_.error(r.wanted);
    state_.min_window = std::max(settings_.min, state_.estimate / (kWindowBelow + kErrors * error));
    state_.max_window = std::min(settings_.max, state_.estimate * (kWindowAbove + 2 * kErrors * error));
    state_.phase = Phase::kIncrease;
    top_seen_ = error < kErrorSure;
    climbing_ = true;
    stepped_back_ = outstanding_known_ = false;
    congested_ = since_restart_ = 0;
    check_from_ = check_step_ = 0;
    check_wait_ = settings_.check_intervals;
    return true;
}

}  // namespace weir::estimate
