// group_rise.cc - steps of L, and within each the resources that fill, one after another.
#include "ctrl/alloc/group_rise.h"

#include <algorithm>
#include <cmath>

namespace weir::alloc {
namespace {

constexpr double kFull = 1e-10;       // a resource is full when at most this part of it is left
constexpr double kOver = 1e-11;       // and over its capacity when its use exceeds it by more than this part
constexpr double kPoint = 1e-12;      // relative width of an interval of shares that counts as one point
constexpr double kAbove = 1 + 2e-13;  // times a share: just above it
constexpr double kBelow = 1 - 2e-13;
constexpr int kTurnsSmooth = 3;  // Newton's steps before a jump is suspected
constexpr int kTurnsMost = 100;
constexpr int kBisectEvery = 8;  // turns, so that Newton's steps cannot creep
// Fills that one step may have. Trying the target visits all groups and is worth several fills, the more the
// more groups there are.
constexpr std::size_t kFillsLeast = 24;
constexpr std::size_t kGroupsPerFill = 16;
constexpr int kHalvingsMost = 24;
// Least step, as a part of its target: smaller steps do not separate resources that fill at one share.
constexpr double kStepLeast = 1e-9;
constexpr double kFirstStep = 1.0 / 64;  // of the share per weight at which all groups have one resource

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
        // The others get their whole demands.
        if (!groups_->is_rising(g) || groups_->first_pair(g) == groups_->end_pair(g))
            continue;
        live_.push_back(g);
        weights += group_weight[g];
    }
    step_ = kFirstStep / std::max(weights, kTokensLeast);
    lags_.assign(groups_->groups(), 0);
    lagging_.clear();
    aim_.assign(groups_->groups(), 0.0);
    tried_.assign(groups_->pairs(), 0.0);
    is_over_.assign(capacity_.size(), 0);
    knowledge_.assign(capacity_.size(), Knowledge::kUnknown);
    crossings_.assign(capacity_.size(), {});
}

void GroupRise::step(Allocation& out) {
    const std::size_t most = std::max(kFillsLeast, live_.size() / kGroupsPerFill);
    target_ = share_ + step_;
    try_target();
    for (int turn = 0; over_.size() > most && turn < kHalvingsMost && step_ > kStepLeast * target_; ++turn) {
        step_ /= 2;
        target_ = share_ + step_;
        try_target();
    }
    std::size_t fills = 0;
    while (next_fill(out))
        ++fills;
    share_ = target_;
    for (const std::uint32_t g : live_) {
        groups_->raise(g, aim_[g]);
        if (groups_->is_rising(g))
            continue;
        groups_->try_level(g, groups_->level(g));
        for (std::uint32_t p = groups_->first_pair(g); p < groups_->end_pair(g); ++p)
            settled_[groups_->resource(p)] += groups_->use_of(p);
    }
    std::erase_if(live_, [this](auto g) { return !groups_->is_rising(g); });
    if (fills < most / 3)
        step_ *= 2;
}

void GroupRise::try_target() {
    used_ = settled_;
    over_.clear();
    std::fill(is_over_.begin(), is_over_.end(), std::uint8_t{0});
    std::fill(knowledge_.begin(), knowledge_.end(), Knowledge::kUnknown);
    for (const std::uint32_t g : live_) {
        aim_[g] = groups_->try_share(g, target_);
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
    if (used_[resource] <= capacity_[resource] * (1 + kOver) || is_over_[resource] ||
        groups_->is_full(resource))
        return;
    is_over_[resource] = 1;
    over_.push_back(resource);
}

void GroupRise::retry_target(std::uint32_t g) {
    aim_[g] = groups_->try_share(g, target_);
    for (std::uint32_t p = groups_->first_pair(g); p < groups_->end_pair(g); ++p) {
        const std::uint32_t j = groups_->resource(p);
        const double use = groups_->use_of(p);
        used_[j] += use - tried_[p];
        tried_[p] = use;
        knowledge_[j] = Knowledge::kUnknown;
        if (used_[j] > capacity_[j])
            note_if_over(j);
    }
}

bool GroupRise::next_fill(Allocation& out) {
    std::erase_if(over_, [this](auto j) {
        const bool stays = !groups_->is_full(j) && used_[j] > capacity_[j] * (1 + kOver);
        is_over_[j] = stays;
        return !stays;
    });
    Crossing first;
    for (const std::uint32_t j : over_)
        if (knowledge_[j] == Knowledge::kExact && crossings_[j].is_before(first))
            first = crossings_[j];
    find_suspects(first);
    if (!lagging_.empty()) {
        const Crossing crossing = first_crossing_of_lagging();
        if (crossing.resource != kNone) {
            for (const std::uint32_t g : lagging_)
                groups_->raise(g, groups_->try_share(g, crossing.low));
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
        if (knowledge_[j] == Knowledge::kLater)
            later_.push_back({j, (share_ + target_) / 2});
        if (knowledge_[j] != Knowledge::kUnknown)
            continue;
        if (first.resource == kNone)
            suspects_.push_back({j, (share_ + target_) / 2});
        else if (const auto suspect = suspect_at(j, first.high, Rising::kAll))
            suspects_.push_back(*suspect);
        else
            knowledge_[j] = Knowledge::kLater;
    }
}

std::optional<GroupRise::Suspect> GroupRise::suspect_at(std::uint32_t resource, double share, Rising rising) {
    const Excess excess = excess_at(resource, share, rising);
    if (excess.tokens <= capacity_[resource] * kOver)
        return std::nullopt;
    return Suspect{resource, share - excess.tokens / excess.slope};
}

GroupRise::Crossing GroupRise::first_crossing(const Crossing& known) {
    Crossing first = known;
    for (const Suspect& one : suspects_) {
        std::optional<Suspect> now = one;
        if (first.resource != known.resource)
            now = suspect_at(one.resource, first.high, Rising::kAll);
        if (!now)
            continue;
        Crossing& crossing = crossings_[one.resource];
        crossing = cross(*now, share_, first.resource == kNone ? target_ : first.high);
        knowledge_[one.resource] = Knowledge::kExact;
        if (crossing.is_before(first))
            first = crossing;
    }
    // A resource that was later than the first crossing before gets its own crossing now, instead of the same
    // comparison in every fill.
    for (const Suspect& one : later_) {
        crossings_[one.resource] = cross(one, share_, target_);
        knowledge_[one.resource] = Knowledge::kExact;
        if (crossings_[one.resource].is_before(first))
            first = crossings_[one.resource];
    }
    return first;
}

GroupRise::Crossing GroupRise::first_crossing_of_lagging() {
    Crossing first;
    for (const Suspect& one : suspects_) {
        const double high = first.resource == kNone ? share_ : first.high;
        const std::optional<Suspect> now = suspect_at(one.resource, high, Rising::kLagging);
        if (!now)
            continue;
        const Crossing crossing = cross(*now, 0, high);
        if (crossing.is_before(first))
            first = crossing;
    }
    return first;
}

GroupRise::Excess GroupRise::excess_at(std::uint32_t resource, double share, Rising rising) {
    Excess excess{-capacity_[resource], 0, kInfinite};
    groups_->end_trial();
    for (const GroupLevels::Member& member : groups_->members(resource)) {
        if (!groups_->rises_on(member.pair)) {
            excess.tokens += groups_->stopped_use(member.pair);
            continue;
        }
        const bool rises = rising == Rising::kAll || lags_[member.group];
        groups_->try_share(member.group, rises ? share : share_);
        excess.tokens += groups_->use_of(member.pair);
        if (!rises)
            continue;
        excess.slope += groups_->tokens_per_share(member.pair);
        excess.steady_until = std::min(excess.steady_until, groups_->steady_until());
    }
    return excess;
}

GroupRise::Crossing GroupRise::cross(const Suspect& suspect, double low, double high) {
    const std::uint32_t resource = suspect.resource;
    const double capacity = capacity_[resource];
    double next = suspect.guess;
    for (int turn = 0; turn < kTurnsMost && high - low > kPoint * high; ++turn) {
        if (!(next > low && next < high))
            next = (low + high) / 2;
        const Excess here = excess_at(resource, next, rising());
        const double newton = next - here.tokens / here.slope;
        if (here.tokens > capacity * kOver) {
            high = next;
            next = turn % kBisectEvery == kBisectEvery - 1 ? low : newton;
            continue;
        }
        low = next;
        if (here.tokens > -capacity * kFull)
            return {resource, low, low};
        next = turn % kBisectEvery == kBisectEvery - 1 ? low : newton;
        if (turn < kTurnsSmooth || newton < here.steady_until)
            continue;
        // Just above the share where use may jump; if that is out of the interval, just below.
        next = here.steady_until * kAbove;
        if (next >= high)
            next = here.steady_until * kBelow;
    }
    Crossing crossing{resource, low, high};
    find_ends(crossing);
    crossing.part = part_of_jump(resource);
    return crossing;
}

void GroupRise::find_ends(const Crossing& crossing) {
    ends_.clear();
    for (const GroupLevels::Member& member : groups_->members(crossing.resource)) {
        const bool rises = rising() == Rising::kAll || lags_[member.group];
        const double low = groups_->try_share(member.group, rises ? crossing.low : share_);
        const double high =
            rises && crossing.high > crossing.low ? groups_->try_share(member.group, crossing.high) : low;
        ends_.push_back({low, high});
    }
}

double GroupRise::part_of_jump(std::uint32_t resource) {
    const auto members = groups_->members(resource);
    double low = 0;
    double high = 1;
    double next = 0;
    for (int turn = 0; turn < kTurnsMost && high - low > kPoint; ++turn) {
        double excess = -capacity_[resource];
        double slope = 0;
        for (std::size_t i = 0; i < members.size(); ++i) {
            groups_->try_level(members[i].group, ends_[i].at(next));
            excess += groups_->use_of(members[i].pair);
            slope += groups_->tokens_per_level(members[i].pair) * (ends_[i].high - ends_[i].low);
        }
        if (std::abs(excess) <= kFull * capacity_[resource])
            return next;
        (excess > 0 ? high : low) = next;
        next -= excess / slope;
        if (!(next > low && next < high) || turn % kBisectEvery == kBisectEvery - 1)
            next = (low + high) / 2;
    }
    return low;
}

void GroupRise::fill(const Crossing& crossing, Allocation& out) {
    const auto members = groups_->members(crossing.resource);
    find_ends(crossing);
    groups_->set_full(crossing.resource);
    groups_->end_trial();
    for (std::size_t i = 0; i < members.size(); ++i) {
        const std::uint32_t g = members[i].group;
        if (!groups_->rises_on(members[i].pair))
            continue;
        groups_->raise(g, ends_[i].at(crossing.part));
        groups_->stop_flows(members[i], out);
        if (!lags_[g])
            lagging_.push_back(g);
        lags_[g] = 1;
        retry_target(g);
        groups_->end_trial();
    }
}

}  // namespace weir::alloc
