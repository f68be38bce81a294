// group_rise.cc - steps of L, and in each the resources that fill, one after the other.
#include "ctrl/alloc/group_rise.h"

#include <algorithm>
#include <cmath>

namespace weir::alloc {
namespace {

constexpr double kNear = 1e-10;   // a resource is full when this part of it is left
constexpr double kOver = 1e-11;   // and over when it is above by this part
constexpr double kPoint = 1e-12;  // an interval of levels that is a point, relative
constexpr double kAbove = 1 + 2e-13;
constexpr double kBelow = 1 - 2e-13;
constexpr int kSmooth = 3;        // turns before somebody looks for a jump
constexpr double kNotAsked = -1;  // for a share at which the resource is over: known to be at the target
constexpr std::uint8_t kUnknown = 0;
constexpr std::uint8_t kChecked = 1;  // later than the first that was known
constexpr std::uint8_t kKnown = 2;
// How many fills a step may have: a look at all groups is worth so many, and more of them when there are more
// groups.
constexpr std::size_t kFillsLeast = 24;
constexpr std::size_t kGroupsPerFill = 16;
// Resources that fill at one share are not parted by smaller steps: no step is a smaller part of its target.
constexpr double kStepLeast = 1e-9;

}  // namespace

void GroupRise::run(const Problem& problem, GroupLevels& groups, std::span<const double> weights,
                    Allocation& out) {
    groups_ = &groups;
    begin(problem, weights);
    while (!live_.empty())
        step(out);
}

void GroupRise::begin(const Problem& problem, std::span<const double> group_weight) {
    capacity_ = problem.capacity;
    settled_.assign(capacity_.size(), 0.0);
    share_ = 0;
    live_.clear();
    double weights = 0;
    for (std::uint32_t g = 0; g < groups_->groups(); ++g) {
        // Who touches nothing that can fill gets all, and is in nobody's way.
        if (!groups_->busy(g) || groups_->first_pair(g) == groups_->end_pair(g))
            continue;
        live_.push_back(g);
        weights += group_weight[g];
    }
    rise_ = 1 / std::max(weights, kTokensLeast) / 64;
    lags_.assign(groups_->groups(), 0);
    lagging_.clear();
    aim_.assign(groups_->groups(), 0.0);
    tried_.assign(groups_->pairs(), 0.0);
    over_here_.assign(capacity_.size(), 0);
    known_.assign(capacity_.size(), kUnknown);
    crossings_.assign(capacity_.size(), {});
}

void GroupRise::step(Allocation& out) {
    const std::size_t most = std::max(kFillsLeast, live_.size() / kGroupsPerFill);
    target_ = share_ + rise_;
    try_target();
    for (int turn = 0; over_.size() > most && turn < 24 && rise_ > kStepLeast * target_; ++turn) {
        rise_ /= 2;
        target_ = share_ + rise_;
        try_target();
    }
    std::size_t fills = 0;
    while (next_fill(out))
        ++fills;
    share_ = target_;
    for (const std::uint32_t g : live_) {
        groups_->raise(g, aim_[g]);
        if (groups_->busy(g))
            continue;
        groups_->look(g, groups_->level(g));
        for (std::uint32_t p = groups_->first_pair(g); p < groups_->end_pair(g); ++p)
            settled_[groups_->resource(p)] += groups_->use_of(p);
    }
    std::erase_if(live_, [this](auto g) { return !groups_->busy(g); });
    if (fills < most / 3)
        rise_ *= 2;
}

void GroupRise::try_target() {
    used_ = settled_;
    over_.clear();
    std::fill(over_here_.begin(), over_here_.end(), std::uint8_t{0});
    std::fill(known_.begin(), known_.end(), kUnknown);
    for (const std::uint32_t g : live_) {
        aim_[g] = groups_->reach(g, target_);
        for (std::uint32_t p = groups_->first_pair(g); p < groups_->end_pair(g); ++p) {
            tried_[p] = groups_->use_of(p);
            used_[groups_->resource(p)] += tried_[p];
        }
    }
    for (std::uint32_t j = 0; j < used_.size(); ++j)
        if (groups_->can_fill(j))
            note_if_over(j);
}

void GroupRise::note_if_over(std::uint32_t resource) {
    if (used_[resource] <= capacity_[resource] * (1 + kOver) || over_here_[resource] ||
        groups_->is_full(resource))
        return;
    over_here_[resource] = 1;
    over_.push_back(resource);
}

void GroupRise::try_again(std::uint32_t g) {
    aim_[g] = groups_->reach(g, target_);
    for (std::uint32_t p = groups_->first_pair(g); p < groups_->end_pair(g); ++p) {
        const std::uint32_t j = groups_->resource(p);
        const double use = groups_->use_of(p);
        used_[j] += use - tried_[p];
        tried_[p] = use;
        known_[j] = kUnknown;
        if (used_[j] > capacity_[j])
            note_if_over(j);
    }
}

bool GroupRise::next_fill(Allocation& out) {
    std::erase_if(over_, [this](auto j) {
        const bool stays = !groups_->is_full(j) && used_[j] > capacity_[j] * (1 + kOver);
        over_here_[j] = stays;
        return !stays;
    });
    Crossing first;
    for (const std::uint32_t j : over_)
        if (known_[j] == kKnown && crossings_[j].before(first))
            first = crossings_[j];
    find_suspects(first);
    if (!lagging_.empty()) {
        const Crossing crossing = first_crossing_of_lagging();
        if (crossing.resource != kNone) {
            for (const std::uint32_t g : lagging_)
                groups_->raise(g, groups_->reach(g, crossing.low));
            fill(crossing, out);
            return true;
        }
        for (const std::uint32_t g : lagging_)
            lags_[g] = 0;
        lagging_.clear();
    }
    const Crossing crossing = first_crossing(first);
    if (crossing.resource == kNone)
        return false;
    share_ = crossing.low;
    fill(crossing, out);
    return true;
}

void GroupRise::find_suspects(const Crossing& first) {
    suspects_.clear();
    later_.clear();
    for (const std::uint32_t j : over_) {
        if (known_[j] == kChecked)
            later_.push_back({j, (share_ + target_) / 2});
        else if (known_[j] == kUnknown &&
                 !suspect(j, first.resource == kNone ? kNotAsked : first.high, true, suspects_))
            known_[j] = kChecked;
    }
}

bool GroupRise::suspect(std::uint32_t resource, double share, bool everybody, std::vector<Suspect>& out) {
    if (share == kNotAsked) {
        out.push_back({resource, (share_ + target_) / 2});
        return true;
    }
    const Excess excess = excess_at(resource, share, everybody || lagging_.empty());
    if (excess.tokens <= capacity_[resource] * kOver)
        return false;
    out.push_back({resource, share - excess.tokens / excess.slope});
    return true;
}

GroupRise::Crossing GroupRise::first_crossing(const Crossing& known) {
    Crossing first = known;
    for (Suspect one : suspects_) {
        again_.clear();
        if (first.resource != known.resource) {
            if (!suspect(one.resource, first.high, true, again_))
                continue;
            one = again_.front();
        }
        Crossing& crossing = crossings_[one.resource];
        crossing = cross(one, share_, first.resource == kNone ? target_ : first.high);
        known_[one.resource] = kKnown;
        if (crossing.before(first))
            first = crossing;
    }
    // Who was later than the first once is asked when, not time and again whether.
    for (const Suspect& one : later_) {
        crossings_[one.resource] = cross(one, share_, target_);
        known_[one.resource] = kKnown;
        if (crossings_[one.resource].before(first))
            first = crossings_[one.resource];
    }
    return first;
}

GroupRise::Crossing GroupRise::first_crossing_of_lagging() {
    Crossing first;
    for (const Suspect& one : suspects_) {
        const double high = first.resource == kNone ? share_ : first.high;
        again_.clear();
        if (!suspect(one.resource, high, false, again_))
            continue;
        const Crossing crossing = cross(again_.front(), 0, high);
        if (crossing.before(first))
            first = crossing;
    }
    return first;
}

GroupRise::Excess GroupRise::excess_at(std::uint32_t resource, double share, bool everybody) {
    Excess excess{-capacity_[resource], 0, kInfinite};
    groups_->undo();
    for (const GroupLevels::Member& member : groups_->members(resource)) {
        if (!groups_->rises_on(member.pair)) {
            excess.tokens += groups_->settled_use(member.pair);
            continue;
        }
        const bool rises = everybody || lags_[member.group];
        groups_->reach(member.group, rises ? share : share_);
        excess.tokens += groups_->use_of(member.pair);
        if (!rises)
            continue;
        excess.slope += groups_->slope_of(member.pair);
        excess.steady_until = std::min(excess.steady_until, groups_->steady_until());
    }
    return excess;
}

GroupRise::Crossing GroupRise::cross(const Suspect& suspect, double low, double high) {
    const std::uint32_t resource = suspect.resource;
    const double capacity = capacity_[resource];
    double next = suspect.guess;
    for (int turn = 0; turn < 100 && high - low > kPoint * high; ++turn) {
        if (!(next > low && next < high))
            next = (low + high) / 2;
        const Excess here = excess_at(resource, next, lagging_.empty());
        const double newton = next - here.tokens / here.slope;
        if (here.tokens > capacity * kOver) {
            high = next;
            next = turn % 8 == 7 ? low : newton;
            continue;
        }
        low = next;
        if (here.tokens > -capacity * kNear)
            return {resource, low, low};
        next = turn % 8 == 7 ? low : newton;
        if (turn < kSmooth || newton < here.steady_until)
            continue;
        // Just above where something may jump, and when that is over, just below.
        next = here.steady_until * kAbove;
        if (next >= high)
            next = here.steady_until * kBelow;
    }
    Crossing crossing{resource, low, high};
    find_stops(crossing);
    crossing.part = part_of_jump(resource);
    return crossing;
}

void GroupRise::find_stops(const Crossing& crossing) {
    stops_.clear();
    for (const GroupLevels::Member& member : groups_->members(crossing.resource)) {
        const bool rises = lagging_.empty() || lags_[member.group];
        const double low = groups_->reach(member.group, rises ? crossing.low : share_);
        const double high =
            rises && crossing.high > crossing.low ? groups_->reach(member.group, crossing.high) : low;
        stops_.push_back({low, high});
    }
}

double GroupRise::part_of_jump(std::uint32_t resource) {
    const auto members = groups_->members(resource);
    double low = 0;
    double high = 1;
    double next = 0;
    for (int turn = 0; turn < 100 && high - low > kPoint; ++turn) {
        double excess = -capacity_[resource];
        double slope = 0;
        for (std::size_t i = 0; i < members.size(); ++i) {
            groups_->look(members[i].group, stops_[i].at(next));
            excess += groups_->use_of(members[i].pair);
            slope += groups_->rise_of(members[i].pair) * (stops_[i].high - stops_[i].low);
        }
        if (std::abs(excess) <= kNear * capacity_[resource])
            return next;
        (excess > 0 ? high : low) = next;
        next -= excess / slope;
        if (!(next > low && next < high) || turn % 8 == 7)
            next = (low + high) / 2;
    }
    return low;
}

void GroupRise::fill(const Crossing& crossing, Allocation& out) {
    const auto members = groups_->members(crossing.resource);
    find_stops(crossing);
    groups_->set_full(crossing.resource);
    groups_->undo();
    for (std::size_t i = 0; i < members.size(); ++i) {
        const std::uint32_t g = members[i].group;
        if (!groups_->rises_on(members[i].pair))
            continue;
        groups_->raise(g, stops_[i].at(crossing.part));
        groups_->stop_at(members[i], out);
        if (!lags_[g])
            lagging_.push_back(g);
        lags_[g] = 1;
        try_again(g);
        groups_->undo();
    }
}

}  // namespace weir::alloc
