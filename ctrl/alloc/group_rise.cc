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
// Fills that a step aims at. Trying the target visits all groups and is worth several fills, the more the
// more groups there are. A step that may have kFillsMost times as many is shortened.
constexpr std::size_t kFillsLeast = 16;
constexpr std::size_t kGroupsPerFill = 24;
constexpr std::size_t kFillsMost = 2;
constexpr int kTriesMost = 24;
constexpr double kPartLeast = 1.0 / 16;  // of a step that is shortened
constexpr double kPartMost = 0.75;
constexpr double kStepGrowthMost = 2;  // of a step over the one before
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
    used_ = settled_;
    share_ = 0;
    live_.clear();
    pairs_.clear();
    pairs_of_.assign(groups_->groups(), {});
    double weights = 0;
    for (std::uint32_t g = 0; g < groups_->groups(); ++g) {
        // The others get their whole demands.
        if (!groups_->is_rising(g) || groups_->first_pair(g) == groups_->end_pair(g))
            continue;
        live_.push_back(g);
        pairs_of_[g].first = static_cast<std::uint32_t>(pairs_.size());
        pairs_of_[g].rising = groups_->rising(g);
        for (std::uint32_t p = groups_->first_pair(g); p < groups_->end_pair(g); ++p)
            pairs_.push_back({.tried = 0, .number = p, .resource = groups_->resource(p)});
        pairs_of_[g].end = static_cast<std::uint32_t>(pairs_.size());
        weights += group_weight[g];
    }
    step_ = kFirstStep / std::max(weights, kTokensLeast);
    lags_.assign(groups_->groups(), 0);
    lagging_.clear();
    aim_.assign(groups_->groups(), 0.0);
    is_over_.assign(capacity_.size(), 0);
    knowledge_.assign(capacity_.size(), Knowledge::kUnknown);
    crossings_.assign(capacity_.size(), {});
}

void GroupRise::step(Allocation& out) {
    const std::size_t wanted = std::max(kFillsLeast, live_.size() / kGroupsPerFill);
    started_.swap(used_);
    target_ = share_ + step_;
    try_target();
    for (int turn = 0;
         over_.size() > kFillsMost * wanted && turn < kTriesMost && step_ > kStepLeast * target_; ++turn) {
        step_ *= part_with_fills(wanted);
        target_ = share_ + step_;
        try_target();
    }
    std::size_t fills = 0;
    while (next_fill(out))
        ++fills;
    share_ = target_;
    for (const std::uint32_t g : live_) {
        groups_->raise(g, aim_[g]);
        settle(g);
    }
    std::erase_if(live_, [this](auto g) { return !groups_->is_rising(g); });
    const double growth = static_cast<double>(wanted) / static_cast<double>(std::max<std::size_t>(fills, 1));
    step_ *= std::clamp(growth, 1 / kStepGrowthMost, kStepGrowthMost);
}

void GroupRise::settle(std::uint32_t g) {
    Pairs& own = pairs_of_[g];
    if (4 * groups_->rising(g) > 3 * own.rising)
        return;
    own.rising = groups_->rising(g);
    LivePair* end = pairs_.data() + own.first;
    for (const LivePair& pair : live_pairs(g)) {
        if (groups_->rises_on(pair.number))
            *end++ = pair;
        else
            settled_[pair.resource] += groups_->stopped_use(pair.number);
    }
    own.end = static_cast<std::uint32_t>(end - pairs_.data());
}

double GroupRise::part_with_fills(std::size_t fills) {
    parts_.clear();
    for (const std::uint32_t j : over_)
        parts_.push_back((capacity_[j] - started_[j]) / (used_[j] - started_[j]));
    const auto nth = parts_.begin() + static_cast<std::ptrdiff_t>(fills);
    std::nth_element(parts_.begin(), nth, parts_.end());
    return std::clamp(*nth, kPartLeast, kPartMost);
}

void GroupRise::try_target() {
    used_ = settled_;
    over_.clear();
    std::fill(is_over_.begin(), is_over_.end(), std::uint8_t{0});
    std::fill(knowledge_.begin(), knowledge_.end(), Knowledge::kUnknown);
    for (const std::uint32_t g : live_) {
        aim_[g] = groups_->try_share(g, target_);
        for (LivePair& pair : live_pairs(g)) {
            pair.tried = groups_->use_of(pair.number);
            used_[pair.resource] += pair.tried;
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
    for (LivePair& pair : live_pairs(g)) {
        const std::uint32_t j = pair.resource;
        const double use = groups_->use_of(pair.number);
        used_[j] += use - pair.tried;
        pair.tried = use;
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
    const auto members = groups_->rising_members(resource);
    Excess excess{groups_->settled_use(resource) - capacity_[resource], 0, kInfinite};
    for (const GroupLevels::Member& member : members) {
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
    for (const GroupLevels::Member& member : groups_->rising_members(crossing.resource)) {
        const bool rises = rising() == Rising::kAll || lags_[member.group];
        const double low = groups_->try_share(member.group, rises ? crossing.low : share_);
        const double high =
            rises && crossing.high > crossing.low ? groups_->try_share(member.group, crossing.high) : low;
        ends_.push_back({low, high});
    }
}

double GroupRise::part_of_jump(std::uint32_t resource) {
    const auto members = groups_->rising_members(resource);
    double low = 0;
    double high = 1;
    double next = 0;
    for (int turn = 0; turn < kTurnsMost && high - low > kPoint; ++turn) {
        double excess = groups_->settled_use(resource) - capacity_[resource];
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
    const auto members = groups_->rising_members(crossing.resource);
    find_ends(crossing);
    groups_->set_full(crossing.resource);
    for (std::size_t i = 0; i < members.size(); ++i) {
        const std::uint32_t g = members[i].group;
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
