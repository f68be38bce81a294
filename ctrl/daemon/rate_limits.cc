// rate_limits.cc - floors within limits, then room to grow within the rest of them.
#include "ctrl/daemon/rate_limits.h"

#include <algorithm>
#include <cmath>

namespace weir {
namespace {

/// Keeps sums of rounded numbers below the limit.
constexpr double kRounding = 1 - 1e-12;

}  // namespace

template <typename Visit>
void RateLimits::each_limit(const PartRate& part, Visit&& visit) {
    for (const std::uint32_t number : part.limits)
        if (number < limits_.size() && std::isfinite(limits_[number].most))
            visit(limits_[number]);
}

void RateLimits::begin(std::span<const double> limits) {
    limits_.clear();
    for (const double most : limits)
        limits_.push_back({.most = most});
    parts_.clear();
}

void RateLimits::add(const PartRate& part) {
    PartRate& added = parts_.emplace_back(part);
    if (!part.is_stated)
        return;
    each_limit(part, [&added](Limit& limit) {
        ++limit.parts;
        added.wanted = std::min(added.wanted, limit.most);
        added.floor = std::min(added.floor, limit.most);
    });
}

void RateLimits::settle() {
    give_floors();
    grow();
    for (double& rate : rates_)
        rate = std::max(rate, kRateMin);
}

double RateLimits::floor_of(const PartRate& part) {
    double floor = part.floor;
    each_limit(part,
               [&](const Limit& limit) { floor = std::min(floor, kFloorPart * limit.most / limit.parts); });
    return floor;
}

void RateLimits::give_floors() {
    for (const PartRate& part : parts_) {
        if (!part.is_stated)
            continue;
        const double floor = floor_of(part);
        each_limit(part, [&](Limit& limit) {
            if (part.allocated < floor)
                limit.floors += floor;
            else
                limit.allocated += part.allocated;
        });
    }
    for (Limit& limit : limits_)
        if (limit.floors + limit.allocated > limit.most)
            limit.scale = std::max(0.0, limit.most - limit.floors) / limit.allocated * kRounding;
    rates_.assign(parts_.size(), 0.0);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        if (!parts_[i].is_stated)
            continue;
        const double floor = floor_of(parts_[i]);
        double scale = 1;
        each_limit(parts_[i], [&](const Limit& limit) { scale = std::min(scale, limit.scale); });
        rates_[i] = parts_[i].allocated < floor ? floor : parts_[i].allocated * scale;
    }
}

void RateLimits::grow() {
    const auto missing = [this](std::size_t i) {
        return parts_[i].is_stated ? std::max(parts_[i].wanted, parts_[i].floor) - rates_[i] : 0;
    };
    for (Limit& limit : limits_)
        limit.left = limit.most;
    for (std::size_t i = 0; i < parts_.size(); ++i)
        each_limit(parts_[i], [&](Limit& limit) {
            limit.left -= rates_[i];
            limit.wanted += std::max(missing(i), 0.0);
        });
    for (Limit& limit : limits_)
        if (limit.wanted > limit.left)
            limit.granted_part = std::max(0.0, limit.left) / limit.wanted * kRounding;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        double part = 1;
        each_limit(parts_[i], [&](const Limit& limit) { part = std::min(part, limit.granted_part); });
        if (const double more = missing(i); more > 0)
            rates_[i] += part * more;
    }
}

}  // namespace weir
