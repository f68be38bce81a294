// periodic_limit.cc - PeriodicLimit: a cubic through the rate at the last congestion, steep far from it and
// flat near it.
#include "bench/sim/periodic_limit.h"

#include <algorithm>

namespace weir::sim {
namespace {

constexpr unsigned kRest = 1;  // periods after a congestion: the queue drains

}  // namespace

PeriodicLimit::PeriodicLimit(const PeriodicLimitSpec& spec, std::uint64_t guarantee, std::uint64_t ceiling)
    : decrease_(spec.decrease),
      regain_(spec.regain),
      guarantee_(static_cast<double>(guarantee)),
      ceiling_(static_cast<double>(ceiling)),
      rate_(guarantee_) {}

void PeriodicLimit::update(bool congested, bool limited) {
    if (congested) {
        rest_ = kRest;
        if (rate_ > guarantee_) {
            origin_ = rate_;
            rate_ *= 1 - decrease_;
            age_ = 0;
        }
    } else if (rest_ != 0) {
        --rest_;
    } else if (limited && origin_ == 0) {
        rate_ *= 1 + decrease_;
    } else if (limited) {
        const double way = ++age_ / regain_ - 1;
        rate_ = origin_ * (1 + decrease_ * way * way * way);
    }
    rate_ = std::clamp(rate_, std::min(guarantee_, ceiling_), ceiling_);
}

std::uint64_t PeriodicLimit::rate() const {
    return static_cast<std::uint64_t>(rate_);
}

}  // namespace weir::sim
