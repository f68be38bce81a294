// rate_limits.cc - floors within limits, then room to grow within the rest of them.
#include "ctrl/daemon/rate_limits.h"

#include <algorithm>
#include <cmath>

namespace weir {
namespace {

/// Keeps sums of rounded numbers below the limit.
constexpr double kRounding = 1 - 1e-12;

/// The part of an allocation, or of a demand that got less, that is the flow's guarantee.
double kept_of(const PartRate& part) {
    return std::min(std::max(part.allocated, part.demand), part.floor);
}

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

/// A part with an allocation keeps its own floor of it; only the rest makes room for the floors of the
/// others.
void RateLimits::give_floors() {
    for (const PartRate& part : parts_) {
        if (!part.is_stated)
            continue;
        const double floor = floor_of(part);
        each_limit(part, [&](Limit& limit) {
            if (std::max(part.allocated, kept_of(part)) < floor) {
                limit.floors += floor;
                return;
            }
            limit.kept += kept_of(part);
            limit.above += std::max(part.allocated - kept_of(part), 0.0);
        });
    }
    for (Limit& limit : limits_) {
        const double room = std::max(0.0, limit.most - limit.floors);
        if (limit.kept > room)
            limit.kept_part = room / limit.kept * kRounding;
        if (limit.kept + limit.above > room && limit.above > 0)
            limit.above_part = std::max(0.0, room - limit.kept) / limit.above * kRounding;
    }
    rates_.assign(parts_.size(), 0.0);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        const PartRate& part = parts_[i];
        if (!part.is_stated)
            continue;
        const double floor = floor_of(part);
        double kept = kept_of(part);
        double above = std::max(part.allocated - kept, 0.0);
        const double whole = above;
        const double whole_kept = kept;
        each_limit(part, [&](const Limit& limit) {
            kept = std::min(kept, whole_kept * limit.kept_part);
            above = std::min(above, whole * limit.above_part);
        });
        rates_[i] = std::max(part.allocated, kept_of(part)) < floor ? floor : kept + above;
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
