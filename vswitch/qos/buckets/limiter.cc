// limiter.cc - Limiter: a change of its rates, and payments from shares of common buckets.
#include "vswitch/qos/buckets/limiter.h"

#include <algorithm>

namespace weir {

void Limiter::set_profiles(const BucketProfile& bytes, const BucketProfile& packets, Nanos now) {
    const std::array profiles{bytes, packets};
    for (std::size_t i = 0; i < profiles.size(); ++i) {
        if (shares_ == nullptr) {
            bucket(i).set_profile(profiles[i], now);
            continue;
        }
        bucket(i).close(profiles[i]);
        (*shares_)[i].set_profile(profiles[i], now);
    }
}

std::int64_t Limiter::level(std::size_t i, Nanos now) const {
    return shares_ == nullptr ? bucket(i).level(now) : (*shares_)[i].level(now);
}

bool Limiter::shares_afford(const Costs& costs, Nanos now) const {
    bool all = true;
    for (std::size_t i = 0; i < costs.size(); ++i)
        all &= (*shares_)[i].affords(bucket(i).price(costs[i]), to_fine(now));
    return all;
}

void Limiter::pay_shares(const Costs& costs, Nanos now) {
    for (std::size_t i = 0; i < costs.size(); ++i)
        (*shares_)[i].take(bucket(i).price(costs[i]), to_fine(now));
}

/// Tokens that one share has borrowed are kept for the next attempt while the other one's are not there.
bool Limiter::admit_shares(const Costs& costs, Nanos now) {
    for (std::size_t i = 0; i < costs.size(); ++i)
        if (!(*shares_)[i].borrow(bucket(i).price(costs[i]), to_fine(now)))
            return false;
    for (std::size_t i = 0; i < costs.size(); ++i)
        (*shares_)[i].spend(bucket(i).price(costs[i]));
    return true;
}

Nanos Limiter::wait_for_shares(const Costs& costs, Nanos now) const {
    Nanos latest = 0;
    for (std::size_t i = 0; i < costs.size(); ++i)
        latest = std::max(latest, (*shares_)[i].wait(bucket(i).price(costs[i]), now));
    return latest;
}

}  // namespace weir
