// group_levels.cc - layout of a problem, trials of a share or a level, and the changes that last.
#include "ctrl/alloc/group_levels.h"

#include <algorithm>

namespace weir::alloc {

std::span<const GroupLevels::Member> GroupLevels::members(std::uint32_t resource) const {
    return std::span(members_).subspan(first_member_[resource],
                                       first_member_[resource + 1] - first_member_[resource]);
}

void GroupLevels::set_reach(std::uint32_t pair) {
    const bool rises = count_[pair] != 0;
    const double inverse = rises ? 1 / slope_[pair] : 0;
    reach_a_[pair] = rises ? size_[pair] * inverse : 0;
    reach_b_[pair] = rises ? base_[pair] * inverse : -kInfinite;
}

// Sums bases and slopes anew: repeated subtraction from a slope leaves a rounding error in it.
void GroupLevels::sum_pairs(Group& group) {
    const std::uint32_t pairs = group.end_pair - group.first_pair;
    std::fill_n(base_.begin() + group.first_pair, pairs, 0.0);
    std::fill_n(slope_.begin() + group.first_pair, pairs, 0.0);
    std::fill_n(count_.begin() + group.first_pair, pairs, 0U);
    for (std::uint32_t f = group.first_flow; f < group.end_flow; ++f) {
        const Flow& flow = flows_[f];
        const bool rises = f >= group.next && !flow.stopped;
        const double fill = rises ? 0 : flow.stopped ? flow.end_level * flow.speed : 1;
        for (std::uint32_t e = flow.first_entry; e < flow.end_entry; ++e) {
            const std::uint32_t pair = entries_[e].pair;
            base_[pair] += entries_[e].tokens * fill;
            slope_[pair] += rises ? entries_[e].tokens * flow.speed : 0;
            count_[pair] += rises;
        }
    }
    for (std::uint32_t pair = group.first_pair; pair < group.end_pair; ++pair)
        set_reach(pair);
    group.summed_at = group.rising;
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

std::uint32_t GroupLevels::next_rising(const Group& group, std::uint32_t from) const {
    while (from < group.end_flow && flows_[from].stopped)
        ++from;
    return from;
}

void GroupLevels::stop(const Flow& flow, double fill, double& floor, std::uint32_t& floor_resource) {
    for (std::uint32_t e = flow.first_entry; e < flow.end_entry; ++e) {
        const std::uint32_t pair = entries_[e].pair;
        base_[pair] += entries_[e].tokens * fill;
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

void GroupLevels::end_trial() {
    while (!saved_.empty()) {
        const Saved& saved = saved_.back();
        count_[saved.pair] = saved.count;
        base_[saved.pair] = saved.base;
        slope_[saved.pair] = saved.slope;
        reach_a_[saved.pair] = saved.reach_a;
        reach_b_[saved.pair] = saved.reach_b;
        saved_.pop_back();
    }
}

// Few of a group's pairs can be the one with the least level. Levels grow with the share, and a flow that
// stops only raises them; so a pair whose level at the group's present share is beyond candidates_until
// cannot be the least one below that. Only the candidates are compared, until the least of them is beyond it.
GroupLevels::Least GroupLevels::least_level(Group& group, double share) {
    if (holds(group.envelope, share)) {
        const Least least = least_of({group.envelope.pairs.data(), group.envelope.count}, share);
        if (least.level <= group.candidates_until)
            return least;
    }
    Least least = least_of({candidates_.data() + group.first_pair, group.candidates}, share);
    while (least.level > group.candidates_until) {
        find_candidates(group, share);
        least = least_of({candidates_.data() + group.first_pair, group.candidates}, share);
    }
    if (saved_.empty())
        find_envelope(group, share);
    return least;
}

GroupLevels::Least GroupLevels::least_of(std::span<const std::uint32_t> pairs, double share) const {
    Least least{kInfinite, 0, 0};
    for (const std::uint32_t pair : pairs) {
        const double level = share * reach_a_[pair] - reach_b_[pair];
        if (level < least.level)
            least = {level, reach_a_[pair], reach_b_[pair]};
    }
    return least;
}

void GroupLevels::find_candidates(Group& group, double share) {
    constexpr double kStretch = 1.4;  // times the least level, until candidates are chosen anew
    if (saved_.empty())
        refresh_share(group);
    double least = kInfinite;
    for (std::uint32_t pair = group.first_pair; pair < group.end_pair; ++pair)
        least = std::min(least, share * reach_a_[pair] - reach_b_[pair]);
    group.candidates_until = std::max(least, 0.0) * kStretch;
    group.candidates = 0;
    // At a share of 0 an infinite slope has no level; such a pair stays, so that a rising group has
    // candidates.
    for (std::uint32_t pair = group.first_pair; pair < group.end_pair; ++pair)
        if (!(group.share * reach_a_[pair] - reach_b_[pair] > group.candidates_until))
            candidates_[group.first_pair + group.candidates++] = pair;
    // A pair whose slope is less on trial may be a candidate when the trial has ended.
    for (const Saved& saved : saved_) {
        const auto begin = candidates_.begin() + group.first_pair;
        if (std::find(begin, begin + group.candidates, saved.pair) == begin + group.candidates)
            candidates_[group.first_pair + group.candidates++] = saved.pair;
    }
    group.envelope.until = -1;
}

bool GroupLevels::holds(const Envelope& envelope, double share) const {
    return share <= envelope.until && reach_a_[envelope.witness[0]] == envelope.slope[0] &&
           reach_b_[envelope.witness[0]] == envelope.offset[0] &&
           reach_a_[envelope.witness[1]] == envelope.slope[1] &&
           reach_b_[envelope.witness[1]] == envelope.offset[1];
}

// A line that is above another at both ends of an interval is above it throughout.
void GroupLevels::find_envelope(Group& group, double share) {
    constexpr double kStretch = 1.5;  // times the share: the end of the interval
    const std::span<const std::uint32_t> pairs{candidates_.data() + group.first_pair, group.candidates};
    const std::array<double, 2> ends{group.share, share * kStretch};
    Envelope& envelope = group.envelope;
    const auto level_at = [this](std::uint32_t pair, double at) {
        return at * reach_a_[pair] - reach_b_[pair];
    };
    for (std::size_t end = 0; end < 2; ++end) {
        std::uint32_t least = pairs.front();
        for (const std::uint32_t pair : pairs)
            if (level_at(pair, ends[end]) < level_at(least, ends[end]))
                least = pair;
        envelope.witness[end] = least;
        envelope.slope[end] = reach_a_[least];
        envelope.offset[end] = reach_b_[least];
    }
    const double first = level_at(envelope.witness[1], ends[0]);
    const double last = level_at(envelope.witness[0], ends[1]);
    envelope.until = ends[1];
    envelope.count = 0;
    for (const std::uint32_t pair : pairs) {
        const bool is_witness = pair == envelope.witness[0] || pair == envelope.witness[1];
        if (!is_witness && (level_at(pair, ends[0]) >= first || level_at(pair, ends[1]) >= last))
            continue;
        if (envelope.count == Envelope::kPairsMax) {
            envelope.until = -1;
            return;
        }
        envelope.pairs[envelope.count++] = pair;
    }
}

void GroupLevels::refresh_share(Group& group) const {
    group.share = 0;
    for (std::uint32_t pair = group.first_pair; pair < group.end_pair; ++pair)
        if (count_[pair] > 0)
            group.share =
                std::max(group.share, (base_[pair] + group.level * slope_[pair]) * inverse_size_[pair]);
    group.share *= 1 - 1e-12;  // so that rounding excludes no candidate
}

// The line of the least pair holds until the next flow has its demand; other lines only make the level less.
double GroupLevels::set_trial(const Group& group, const Least& least, const Flow& next) {
    return set_trial(least.level, least.speed * group.weight,
                     (next.end_level + least.offset) / (least.speed * group.weight));
}

double GroupLevels::try_share(std::uint32_t number, double share) {
    end_trial();
    Group& group = groups_[number];
    if (group.rising == 0)
        return set_trial(group.level, 0, kInfinite);
    share *= group.weight;
    if (share < group.floor && full_[group.floor_resource])
        refresh_floor(group);
    if (share < group.floor)
        return set_trial(group.level, 0, group.floor / group.weight);
    const Least least = least_level(group, share);
    group.next = next_rising(group, group.next);
    if (least.level > flows_[group.next].end_level)
        return try_share_past_demands(group, share);
    if (least.level <= group.level)
        return set_trial(group.level, 0, (group.level + least.offset) / (least.speed * group.weight));
    return set_trial(group, least, flows_[group.next]);
}

// Stops flows on trial, in the order of their demands, until the share's level precedes the next demand.
double GroupLevels::try_share_past_demands(Group& group, double share) {
    double floor = group.floor;
    std::uint32_t floor_resource = group.floor_resource;
    double level = group.level;
    for (std::uint32_t f = group.next; f < group.end_flow; f = next_rising(group, f + 1)) {
        if (share < floor)
            return set_trial(level, 0, floor / group.weight);
        const Least least = least_level(group, share);
        if (least.level <= level)
            return set_trial(level, 0, (level + least.offset) / (least.speed * group.weight));
        if (least.level <= flows_[f].end_level)
            return set_trial(group, least, flows_[f]);
        level = std::max(level, flows_[f].end_level);
        save(flows_[f]);
        stop(flows_[f], 1, floor, floor_resource);
    }
    return set_trial(level, 0, kInfinite);
}

void GroupLevels::save(const Flow& flow) {
    for (std::uint32_t e = flow.first_entry; e < flow.end_entry; ++e) {
        const std::uint32_t pair = entries_[e].pair;
        saved_.push_back({pair, count_[pair], base_[pair], slope_[pair], reach_a_[pair], reach_b_[pair]});
    }
}

void GroupLevels::try_level(std::uint32_t number, double level) {
    end_trial();
    Group& group = groups_[number];
    group.next = next_rising(group, group.next);
    double floor = group.floor;
    std::uint32_t floor_resource = group.floor_resource;
    for (std::uint32_t f = group.next; f < group.end_flow && flows_[f].end_level <= level;
         f = next_rising(group, f + 1)) {
        save(flows_[f]);
        stop(flows_[f], 1, floor, floor_resource);
    }
    set_trial(level, 0, level);
}

void GroupLevels::raise(std::uint32_t number, double level) {
    end_trial();
    Group& group = groups_[number];
    group.next = next_rising(group, group.next);
    while (group.next < group.end_flow && flows_[group.next].end_level <= level) {
        stop(flows_[group.next], 1, group.floor, group.floor_resource);
        --group.rising;
        group.next = next_rising(group, group.next + 1);
    }
    group.level = level;
    if (2 * group.rising < group.summed_at)
        sum_pairs(group);
}

void GroupLevels::stop_flows(const Member& member, Allocation& out) {
    end_trial();
    Group& group = groups_[member.group];
    const double share =
        (base_[member.pair] + group.level * slope_[member.pair]) * inverse_size_[member.pair];
    for (std::uint32_t f = group.next; f < group.end_flow; ++f) {
        Flow& flow = flows_[f];
        const auto touches = [&] {
            return std::any_of(entries_.begin() + flow.first_entry, entries_.begin() + flow.end_entry,
                               [&](const Entry& entry) { return entry.pair == member.pair; });
        };
        if (flow.stopped || !touches())
            continue;
        flow.stopped = true;
        flow.end_level = group.level;
        out.fill[flow.number] = group.level * flow.speed;
        out.bottleneck[flow.number] = resource_[member.pair];
        stop(flow, group.level * flow.speed, group.floor, group.floor_resource);
        --group.rising;
    }
    if (2 * group.rising < group.summed_at)
        sum_pairs(group);
    if (share < group.share)
        return;
    // The pair had the group's share, which may now be less: all pairs may be candidates again.
    group.candidates = 0;
    group.candidates_until = -1;
    group.envelope.until = -1;
    group.share = 0;
}

// The flows and pairs of a group stand together: flows by the level of their demand, pairs on resources that
// can fill before the others.
void GroupLevels::build(const Problem& problem, std::span<const std::uint32_t> group_of_flow,
                        std::span<const double> group_weight, Allocation& out) {
    groups_.assign(group_weight.size(), {});
    for (std::size_t g = 0; g < groups_.size(); ++g)
        groups_[g].weight = group_weight[g];
    set_demand_levels(problem, group_of_flow, out);
    if (std::none_of(can_fill_.begin(), can_fill_.end(), [](auto can) { return can != 0; })) {
        groups_.clear();
        return;
    }
    place_flows(problem, group_of_flow);
    place_pairs(problem);
    place_members(problem.capacity.size());
}

// Sets the levels of all demands, and which resources can fill.
void GroupLevels::set_demand_levels(const Problem& problem, std::span<const std::uint32_t> group_of_flow,
                                    Allocation& out) {
    const DemandMatrix& demand = problem.demand;
    const auto base = problem.share_base.empty() ? problem.capacity : problem.share_base;
    demand_level_.assign(demand.flows(), 0.0);
    std::vector<double> wanted(problem.capacity.size(), 0.0);
    for (std::uint32_t flow = 0; flow < demand.flows(); ++flow) {
        if (group_of_flow[flow] == kNone)
            continue;
        double delta = 0;
        std::uint32_t empty = kNone;
        for (const std::uint32_t k : demand.row(flow)) {
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
        if (demand.row(flow).empty())
            continue;
        demand_level_[flow] = std::max(delta, kTokensLeast) / problem.weights[flow];
        ++groups_[group_of_flow[flow]].rising;
        for (const std::uint32_t k : demand.row(flow))
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
        flows += group.rising;
    }
    flows_.resize(flows);
    for (std::uint32_t flow = 0; flow < demand.flows(); ++flow)
        if (demand_level_[flow] > 0)
            flows_[groups_[group_of_flow[flow]].end_flow++] = {
                .end_level = demand_level_[flow], .speed = 1 / demand_level_[flow], .number = flow};
    for (const Group& group : groups_)
        std::sort(flows_.begin() + group.first_flow, flows_.begin() + group.end_flow,
                  [](const Flow& a, const Flow& b) {
                      return a.end_level < b.end_level || (a.end_level == b.end_level && a.number < b.number);
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
                for (const std::uint32_t k : demand.row(flows_[f].number)) {
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
            for (const std::uint32_t k : demand.row(flow.number))
                entries_.push_back({pair_of[demand.resource()[k]], demand.tokens()[k]});
            flow.end_entry = static_cast<std::uint32_t>(entries_.size());
        }
    }
    base_.resize(resource_.size());
    slope_.resize(resource_.size());
    reach_a_.resize(resource_.size());
    reach_b_.resize(resource_.size());
    count_.resize(resource_.size());
    candidates_.resize(resource_.size());
    saved_.clear();
    for (Group& group : groups_)
        sum_pairs(group);
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

}  // namespace weir::alloc
