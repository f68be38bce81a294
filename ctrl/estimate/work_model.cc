// work_model.cc - mixes, and a least-squares update per reading.
#include "ctrl/estimate/work_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace weir::estimate {
namespace {

constexpr double kKindLeast = 0.01;  // of the tokens: a kind with less does not show its work
constexpr double kGuessMost = 16;    // a new kind's work, times the mean, or divided by it
constexpr double kNewVariance = 0.25;
constexpr double kVarianceGrowth = 1e-5;  // per full reading, so that old readings are forgotten
constexpr double kNoise = 2.5e-5;         // variance of a reading: half a percent, squared

double sum_of(std::span<const double> values) {
    return std::accumulate(values.begin(), values.end(), 0.0);
}

}  // namespace

double RequestMix::moved(std::span<const double> tokens) const {
    const double total = sum_of(tokens);
    if (total <= 0 || parts_.empty())
        return 0;
    double moved = 0;
    for (std::size_t i = 0; i < std::max(tokens.size(), parts_.size()); ++i) {
        const double now = i < tokens.size() ? tokens[i] / total : 0;
        moved += std::abs(now - (i < parts_.size() ? parts_[i] : 0));
    }
    return moved / 2;  // each token that moved is in two differences
}

void RequestMix::remember(std::span<const double> tokens) {
    const double total = sum_of(tokens);
    if (total <= 0)
        return;
    parts_.assign(tokens.begin(), tokens.end());
    for (double& part : parts_)
        part /= total;
}

void RequestMix::renumber(std::span<const std::size_t> before) {
    if (parts_.empty())
        return;
    std::vector<double> parts;
    for (const std::size_t kind : before)
        parts.push_back(kind < parts_.size() ? parts_[kind] : 0);
    parts_ = std::move(parts);
}

void WorkModel::renumber(std::span<const std::size_t> before) {
    if (kinds_ == 0)
        return;
    std::vector<double> work;
    std::vector<double> covariance;
    for (const std::size_t i : before) {
        work.push_back(i < kinds_ ? work_[i] : 0);
        for (const std::size_t j : before)
            covariance.push_back(i < kinds_ && j < kinds_ ? spread(i, j) : 0);
    }
    kinds_ = before.size();
    work_ = std::move(work);
    spread_ = std::move(covariance);
}

void WorkModel::learn(std::span<const double> rates, bool full, double typical) {
    if (rates.size() > kKindsMost)
        return;
    if (kinds_ < rates.size()) {
        kinds_ = rates.size();
        work_.assign(kinds_, 0);
        spread_.assign(kinds_ * kinds_, 0);
    }
    if (!begin(rates, full, typical))
        return;
    double used = 0;
    for (std::size_t i = 0; i < rates.size(); ++i)
        used += rates[i] * work_[i];
    if (full || used > 1)
        correct(rates, 1 - used, full);
}

/// Guesses the work of new kinds as the part of the appliance that the known kinds leave. @return whether
/// all are known
bool WorkModel::begin(std::span<const double> rates, bool full, double typical) {
    const double total = sum_of(rates);
    double unknown = 0;
    double used = 0;
    for (std::size_t i = 0; i < rates.size(); ++i) {
        used += rates[i] * work_[i];
        if (work_[i] <= 0 && rates[i] > kKindLeast * total)
            unknown += rates[i];
    }
    if (unknown <= 0)
        return total > 0;
    if (used <= 0 && !full)
        return false;
    double work = std::clamp((1 - used) / unknown, 1 / total / kGuessMost, 1 / total * kGuessMost);
    if (!full)
        work = std::min(work, typical);
    for (std::size_t i = 0; i < rates.size(); ++i) {
        if (work_[i] > 0 || rates[i] <= kKindLeast * total)
            continue;
        work_[i] = work;
        for (std::size_t j = 0; j < kinds_; ++j)
            spread(i, j) = spread(j, i) = 0;
        spread(i, i) = kNewVariance;
    }
    return true;
}

/// Distributes the reading's error over the kinds by their variances. A reading of an appliance that was not
/// full is only a bound and reduces no variance.
void WorkModel::correct(std::span<const double> rates, double error, bool full) {
    parts_.assign(kinds_, 0);
    gain_.assign(kinds_, 0);
    for (std::size_t i = 0; i < rates.size(); ++i)
        parts_[i] = rates[i] * work_[i];
    double variance = kNoise;
    for (std::size_t i = 0; i < kinds_; ++i) {
        if (parts_[i] > 0)
            spread(i, i) = std::min(spread(i, i) + kVarianceGrowth, kNewVariance);
        for (std::size_t j = 0; j < kinds_; ++j)
            gain_[i] += spread(i, j) * parts_[j];
    }
    for (std::size_t i = 0; i < kinds_; ++i)
        variance += gain_[i] * parts_[i];
    for (std::size_t i = 0; i < kinds_; ++i) {
        work_[i] *= std::clamp(1 + gain_[i] / variance * error, 0.5, 2.0);
        for (std::size_t j = 0; full && j < kinds_; ++j)
            spread(i, j) -= gain_[i] * gain_[j] / variance;
    }
}

double WorkModel::capacity(std::span<const double> parts) const {
    const double total = sum_of(parts);
    double work = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (parts[i] > kKindLeast * total && (i >= kinds_ || work_[i] <= 0))
            return 0;
        work += i < kinds_ ? parts[i] * work_[i] : 0;
    }
    return work > 0 ? total / work : 0;
}

double WorkModel::error(std::span<const double> parts) const {
    if (parts.size() > kinds_ || capacity(parts) <= 0)
        return 1;
    const double scale = capacity(parts) / sum_of(parts);
    double variance = 0;
    for (std::size_t i = 0; i < parts.size(); ++i)
        for (std::size_t j = 0; j < parts.size(); ++j)
            variance += spread(i, j) * parts[i] * work_[i] * parts[j] * work_[j] * scale * scale;
    return std::sqrt(std::max(0.0, variance));
}

}  // namespace weir::estimate
