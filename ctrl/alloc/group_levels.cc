// group_levels.cc - everything of a group lies together: its flows by the level of their demand, its pairs
// with those on resources that can fill first.
#include "ctrl/alloc/group_levels.h"

#include <algorithm>
#include <limits>

namespace weir::alloc {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

}  // namespace

std::span<const GroupLevels::Member> GroupLevels::members(std::uint32_t resource) const {
    return std::span(members_).subspan(first_member_[resource],
                                       first_member_[resource + 1] - first_member_[resource]);
}

void GroupLevels::build(const Problem& problem, std::span<const std::uint32_t> group_of_flow,
                        std::span<const double> group_weight, Allocation& out) {
    groups_.assign(group_weight.size(), {});
    for (std::size_t g = 0; g < groups_.size(); ++g)
        groups_[g].weight = group_weight[g];
    measure(problem, group_of_flow, out);
    if (std::none_of(can_fill_.begin(), can_fill_.end(), [](auto can) { return can != 0; })) {
        groups_.clear();
        return;
    }
    place_flows(problem, group_of_flow);
    place_pairs(problem);
    place_members(problem.capacity.size());
}

// Levels of demands, and which resources can fill at all.
void GroupLevels::measure(const Problem& problem, std::span<const std::uint32_t> group_of_flow,
                          Allocation& out) {
    const DemandMatrix& demand = problem.demand;
    const auto base = problem.share_base.empty() ? problem.capacity : problem.share_base;
    delta_.assign(demand.flows(), 0.0);
    std::vector<double> wanted(problem.capacity.size(), 0.0);
    for (std::uint32_t flow = 0; flow < demand.flows(); ++flow) {
        if (group_of_flow[flow] == kNone)
            continue;
        double delta = 0;
        std::uint32_t empty = kNone;
        for (std::uint32_t k = demand.begin(flow); k < demand.begin(flow + 1); ++k) {
            const std::uint32_t j = demand.resource()[k];
            if (problem.capacity[j] < kTokensLeast && empty == kNone)
                empty = j;
            else
                delta = std::max(delta, demand.tokens()[k] / base[j]);
        }
        if (empty != kNone) {
            out.fill[flow] = 0;
            out.bottleneck[flow] = empty;
            continue;
        }
        if (demand.begin(flow) == demand.begin(flow + 1))
            continue;
        delta_[flow] = std::max(delta, kTokensLeast) / problem.weights[flow];
        ++groups_[group_of_flow[flow]].active;
        for (std::uint32_t k = demand.begin(flow); k < demand.begin(flow + 1); ++k)
            wanted[demand.resource()[k]] += demand.tokens()[k];
    }
    can_fill_.resize(wanted.size());
    full_.assign(wanted.size(), 0);
    for (std::size_t j = 0; j < wanted.size(); ++j)
        can_fill_[j] = wanted[j] > problem.capacity[j];
}

void GroupLevels::place_flows(const Problem& problem, std::span<const std::uint32_t> group_of_flow) {
    const DemandMatrix& demand = problem.demand;
    std::uint32_t flows = 0;
    for (Group& group : groups_) {
        group.first_flow = group.end_flow = group.next = flows;
        flows += group.active;
    }
    flows_.resize(flows);
    for (std::uint32_t flow = 0; flow < demand.flows(); ++flow)
        if (delta_[flow] > 0)
            flows_[groups_[group_of_flow[flow]].end_flow++] = {.full_level = delta_[flow],
                                                               .speed = 1 / delta_[flow],
                                                               .number = flow,
                                                               .first_entry = 0,
                                                               .end_entry = 0,
                                                               .stopped = false};
    for (const Group& group : groups_)
        std::sort(flows_.begin() + group.first_flow, flows_.begin() + group.end_flow,
                  [](const Flow& a, const Flow& b) {
                      return a.full_level < b.full_level ||
                             (a.full_level == b.full_level && a.number < b.number);
                  });
}

void GroupLevels::place_pairs(const Problem& problem) {
    const DemandMatrix& demand = problem.demand;
    const auto base = problem.share_base.empty() ? problem.capacity : problem.share_base;
    std::vector<std::uint32_t> pair_of(problem.capacity.size(), kNone);
    resource_.clear();
    size_.clear();
    inverse_size_.clear();
    entries_.clear();
    for (Group& group : groups_) {
        group.first_pair = static_cast<std::uint32_t>(resource_.size());
        for (const bool fillable : {true, false}) {
            for (std::uint32_t f = group.first_flow; f < group.end_flow; ++f) {
                for (std::uint32_t k = demand.begin(flows_[f].number); k < demand.begin(flows_[f].number + 1);
                     ++k) {
                    const std::uint32_t j = demand.resource()[k];
                    if (can_fill(j) != fillable || (pair_of[j] != kNone && pair_of[j] >= group.first_pair))
                        continue;
                    pair_of[j] = static_cast<std::uint32_t>(resource_.size());
                    resource_.push_back(j);
                    size_.push_back(base[j]);
                    inverse_size_.push_back(1 / base[j]);
                }
            }
            if (fillable)
                group.end_fillable = static_cast<std::uint32_t>(resource_.size());
        }
        group.end_pair = static_cast<std::uint32_t>(resource_.size());
        for (std::uint32_t f = group.first_flow; f < group.end_flow; ++f) {
            Flow& flow = flows_[f];
            flow.first_entry = static_cast<std::uint32_t>(entries_.size());
            for (std::uint32_t k = demand.begin(flow.number); k < demand.begin(flow.number + 1); ++k)
                entries_.push_back({pair_of[demand.resource()[k]], demand.tokens()[k]});
            flow.end_entry = static_cast<std::uint32_t>(entries_.size());
        }
    }
    base_.resize(resource_.size());
    slope_.resize(resource_.size());
    reach_a_.resize(resource_.size());
    reach_b_.resize(resource_.size());
    count_.resize(resource_.size());
    near_.resize(resource_.size());
    trial_.clear();
    for (Group& group : groups_)
        add_up(group);
}

void GroupLevels::place_members(std::size_t resources) {
    first_member_.assign(resources + 1, 0);
    for (const std::uint32_t j : resource_)
        ++first_member_[j + 1];
    for (std::size_t j = 0; j < resources; ++j)
        first_member_[j + 1] += first_member_[j];
    members_.resize(resource_.size());
    std::vector<std::uint32_t> at(first_member_.begin(), first_member_.end() - 1);
    for (std::uint32_t g = 0; g < groups_.size(); ++g)
        for (std::uint32_t p = groups_[g].first_pair; p < groups_[g].end_pair; ++p)
            members_[at[resource_[p]]++] = {g, p};
}

void GroupLevels::set_reach(std::uint32_t pair) {
    const bool nobody = count_[pair] == 0;
    const double inverse = nobody ? 0 : 1 / slope_[pair];
    reach_a_[pair] = nobody ? 0 : size_[pair] * inverse;
    reach_b_[pair] = nobody ? -kInfinite : base_[pair] * inverse;
}

// Everything anew from who is where, so that what was taken off slopes leaves no rounding behind.
void GroupLevels::add_up(Group& group) {
    const std::uint32_t pairs = group.end_pair - group.first_pair;
    std::fill_n(base_.begin() + group.first_pair, pairs, 0.0);
    std::fill_n(slope_.begin() + group.first_pair, pairs, 0.0);
    std::fill_n(count_.begin() + group.first_pair, pairs, 0U);
    for (std::uint32_t f = group.first_flow; f < group.end_flow; ++f) {
        const Flow& flow = flows_[f];
        const bool rises = f >= group.next && !flow.stopped;
        // A stopped flow keeps where it stopped in `full_level`, a level below that of its demand.
        const double part = rises ? 0 : flow.stopped ? flow.full_level * flow.speed : 1;
        for (std::uint32_t e = flow.first_entry; e < flow.end_entry; ++e) {
            const std::uint32_t pair = entries_[e].pair;
            base_[pair] += entries_[e].tokens * part;
            slope_[pair] += rises ? entries_[e].tokens * flow.speed : 0;
            count_[pair] += rises;
        }
    }
    for (std::uint32_t pair = group.first_pair; pair < group.end_pair; ++pair)
        set_reach(pair);
    group.summed_at = group.active;
    refresh_floor(group);
}

void GroupLevels::refresh_floor(Group& group) const {
    group.floor = 0;
    group.floor_resource = kNone;
    for (std::uint32_t p = group.first_pair; p < group.end_pair; ++p) {
        if (count_[p] > 0 || full_[resource_[p]] || base_[p] <= group.floor * size_[p])
            continue;
        group.floor = base_[p] / size_[p];
        group.floor_resource = resource_[p];
    }
}

std::uint32_t GroupLevels::next_active(const Group& group, std::uint32_t from) const {
    while (from < group.end_flow && flows_[from].stopped)
        ++from;
    return from;
}

void GroupLevels::leave(const Flow& flow, double part, double& floor, std::uint32_t& floor_resource) {
    for (std::uint32_t e = flow.first_entry; e < flow.end_entry; ++e) {
        const std::uint32_t pair = entries_[e].pair;
        base_[pair] += entries_[e].tokens * part;
        slope_[pair] -= entries_[e].tokens * flow.speed;
        if (--count_[pair] == 0)
            slope_[pair] = 0;
        set_reach(pair);
        if (count_[pair] > 0 || full_[resource_[pair]] || base_[pair] <= floor * size_[pair])
            continue;
        floor = base_[pair] / size_[pair];
        floor_resource = resource_[pair];
    }
}

void GroupLevels::undo() {
    while (!trial_.empty()) {
        const Before& before = trial_.back();
        count_[before.pair] = before.count;
        base_[before.pair] = before.base;
        slope_[before.pair] = before.slope;
        reach_a_[before.pair] = before.reach_a;
        reach_b_[before.pair] = before.reach_b;
        trial_.pop_back();
    }
}

// Of a group's pairs only a few are near to be its largest share. Who has a share only beyond a level at the
// share that the group has now has a larger one only later, and what a flow leaves grows slower: who is far
// stays far. The others are asked, until the least of them is beyond near_until.
GroupLevels::Least GroupLevels::least_level(Group& group, double share) {
    for (;;) {
        Least least{kInfinite, 0};
        const std::uint32_t* const near = near_.data() + group.first_pair;
        for (std::uint32_t i = 0; i < group.near; ++i) {
            const double level = share * reach_a_[near[i]] - reach_b_[near[i]];
            if (level < least.level)
                least = {level, reach_a_[near[i]]};
        }
        if (least.level <= group.near_until)
            return least;
        find_near(group, share);
    }
}

void GroupLevels::find_near(Group& group, double share) {
    constexpr double kNear = 1.4;
    if (trial_.empty())
        refresh_share(group);
    double least = kInfinite;
    for (std::uint32_t pair = group.first_pair; pair < group.end_pair; ++pair)
        least = std::min(least, share * reach_a_[pair] - reach_b_[pair]);
    group.near_until = std::max(least, 0.0) * kNear;
    group.near = 0;
    for (std::uint32_t pair = group.first_pair; pair < group.end_pair; ++pair)
        if (group.share * reach_a_[pair] - reach_b_[pair] <= group.near_until)
            near_[group.first_pair + group.near++] = pair;
    // What a trial slowed down may be near again after it.
    for (const Before& before : trial_) {
        const auto begin = near_.begin() + group.first_pair;
        if (std::find(begin, begin + group.near, before.pair) == begin + group.near)
            near_[group.first_pair + group.near++] = before.pair;
    }
}

void GroupLevels::refresh_share(Group& group) const {
    group.share = 0;
    for (std::uint32_t pair = group.first_pair; pair < group.end_pair; ++pair)
        if (count_[pair] > 0)
            group.share =
                std::max(group.share, (base_[pair] + group.level * slope_[pair]) * inverse_size_[pair]);
    group.share *= 1 - 1e-12;  // rounding must not make anybody far
}

double GroupLevels::reach(std::uint32_t number, double share) {
    undo();
    Group& group = groups_[number];
    if (group.active == 0)
        return show(group.level, 0);
    share *= group.weight;
    if (share < group.floor) {
        if (!full_[group.floor_resource])
            return show(group.level, 0);
        refresh_floor(group);
        if (share < group.floor)
            return show(group.level, 0);
    }
    const Least least = least_level(group, share);
    group.next = next_active(group, group.next);
    if (least.level > flows_[group.next].full_level)
        return reach_slowly(group, share);
    if (least.level <= group.level)
        return show(group.level, 0);
    return show(least.level, least.speed * group.weight);
}

// Some flow has its demand on the way.
double GroupLevels::reach_slowly(Group& group, double share) {
    double floor = group.floor;
    std::uint32_t floor_resource = group.floor_resource;
    double level = group.level;
    for (std::uint32_t f = group.next; f < group.end_flow; f = next_active(group, f + 1)) {
        if (share < floor)
            return show(level, 0);
        const Least least = least_level(group, share);
        if (least.level <= flows_[f].full_level)
            return least.level <= level ? show(level, 0) : show(least.level, least.speed * group.weight);
        level = std::max(level, flows_[f].full_level);
        remember(flows_[f]);
        leave(flows_[f], 1, floor, floor_resource);
    }
    return show(level, 0);
}

void GroupLevels::remember(const Flow& flow) {
    for (std::uint32_t e = flow.first_entry; e < flow.end_entry; ++e) {
        const std::uint32_t pair = entries_[e].pair;
        trial_.push_back({pair, count_[pair], base_[pair], slope_[pair], reach_a_[pair], reach_b_[pair]});
    }
}

void GroupLevels::look(std::uint32_t number, double level) {
    undo();
    Group& group = groups_[number];
    group.next = next_active(group, group.next);
    double floor = group.floor;
    std::uint32_t floor_resource = group.floor_resource;
    for (std::uint32_t f = group.next; f < group.end_flow && flows_[f].full_level <= level;
         f = next_active(group, f + 1)) {
        remember(flows_[f]);
        leave(flows_[f], 1, floor, floor_resource);
    }
    show(level, 0);
}

void GroupLevels::raise(std::uint32_t number, double level) {
    undo();
    Group& group = groups_[number];
    group.next = next_active(group, group.next);
    while (group.next < group.end_flow && flows_[group.next].full_level <= level) {
        leave(flows_[group.next], 1, group.floor, group.floor_resource);
        --group.active;
        group.next = next_active(group, group.next + 1);
    }
    group.level = level;
    if (2 * group.active < group.summed_at)
        add_up(group);
}

void GroupLevels::stop_at(const Member& member, Allocation& out) {
    undo();
    Group& group = groups_[member.group];
    for (std::uint32_t f = group.next; f < group.end_flow; ++f) {
        Flow& flow = flows_[f];
        const auto touches = [&] {
            return std::any_of(entries_.begin() + flow.first_entry, entries_.begin() + flow.end_entry,
                               [&](const Entry& entry) { return entry.pair == member.pair; });
        };
        if (flow.stopped || !touches())
            continue;
        flow.stopped = true;
        flow.full_level = group.level;
        out.fill[flow.number] = group.level * flow.speed;
        out.bottleneck[flow.number] = resource_[member.pair];
        leave(flow, group.level * flow.speed, group.floor, group.floor_resource);
        --group.active;
    }
    if (2 * group.active < group.summed_at)
        add_up(group);
    group.near = 0;  // the group's share has fallen
    group.near_until = -1;
    refresh_share(group);
}

}  // namespace weir::alloc
