// group_levels.cc - layout of a problem, trials of a share or a level, and the changes that last.
#include "ctrl/alloc/group_levels.h"

#include <algorithm>

namespace weir::alloc {
namespace {

constexpr double kSameLine = 1 + 1e-14;  // times a level: two lines that differ by less are one

}  // namespace

std::span<const GroupLevels::Member> GroupLevels::rising_members(std::uint32_t resource) {
    end_trial();
    const std::uint32_t first = first_member_[resource];
    std::uint32_t& end = end_member_[resource];
    for (std::uint32_t m = first; m < end;) {
        if (const std::uint32_t pair = members_[m].pair; count_[pair] == 0) {
            settled_[resource] += use_[pair].base;
            members_[m] = members_[--end];
        } else {
            ++m;
        }
    }
    return {members_.data() + first, end - first};
}

void GroupLevels::set_line(std::uint32_t pair) {
    line_[pair] = {};
    if (count_[pair] == 0)
        return;
    const double inverse = 1 / use_[pair].slope;
    // A pair on a resource of infinite size bounds no level.
    if (const double speed = size_[pair] * inverse; speed < kInfinite)
        line_[pair] = {speed, use_[pair].base * inverse};
}

// Sums the slopes anew: repeated subtraction from a slope leaves a rounding error in it.
void GroupLevels::sum_slopes(Group& group) {
    const auto each_entry = [&](auto&& visit) {
        for (std::uint32_t f = group.next; f < group.end_flow; ++f)
            for (std::uint32_t e = flows_[f].first_entry; !flows_[f].stopped && e < flows_[f].end_entry; ++e)
                visit(entries_[e].pair, entries_[e].tokens * flows_[f].speed);
    };
    each_entry([&](std::uint32_t pair, double) { use_[pair].slope = 0; });
    each_entry([&](std::uint32_t pair, double slope) { use_[pair].slope += slope; });
    each_entry([&](std::uint32_t pair, double) { set_line(pair); });
    group.summed_at = group.rising;
}

void GroupLevels::refresh_floor(Group& group) const {
    group.floor = 0;
    group.floor_resource = kNone;
    for (std::uint32_t p = group.first_pair; p < group.end_pair; ++p) {
        if (count_[p] > 0 || full_[resource_[p]] || use_[p].base <= group.floor * size_[p])
            continue;
        group.floor = use_[p].base / size_[p];
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
        Use& use = use_[pair];
        use.base += entries_[e].tokens * fill;
        if (--count_[pair] > 0) {
            use.slope -= entries_[e].tokens * flow.speed;
            set_line(pair);
            continue;
        }
        use.slope = 0;
        line_[pair] = {};
        if (use.base <= floor * size_[pair] || full_[resource_[pair]])
            continue;
        floor = use.base / size_[pair];
        floor_resource = resource_[pair];
    }
}

void GroupLevels::end_trial() {
    while (!saved_.empty()) {
        const Saved& saved = saved_.back();
        count_[saved.pair] = saved.count;
        use_[saved.pair] = saved.use;
        line_[saved.pair] = saved.line;
        saved_.pop_back();
    }
}

// Few of a group's pairs can have the least level. Levels grow with the share, and a flow that stops only
// raises them; so a pair that was above another at both ends of an interval of shares stays above it while
// the other's line is unchanged.
GroupLevels::Least GroupLevels::least_level(Group& group, double share) {
    if (!holds(group.envelope, share)) {
        if (!saved_.empty()) {  // an envelope of the lines on trial would not outlast the trial
            const std::uint32_t least = last_least(group, share);
            return {line_[least].level(share), least, line_[least]};
        }
        find_envelope(group, share);
    }
    return least_of_candidates(group, share);
}

GroupLevels::Least GroupLevels::least_of_candidates(const Group& group, double share) const {
    Least least{kInfinite, group.first_pair, {}};
    for (std::uint32_t c = group.first_pair; c < group.first_pair + group.envelope.count; ++c) {
        const std::uint32_t pair = candidates_[c];
        const double level = line_[pair].level(share);
        if (level < least.level)
            least = {level, pair, line_[pair]};
    }
    return least;
}

// The pair whose level at the share is the least. All flows of one weight have one line, each on its dominant
// resource. Of equal lines the last stays the longest, because the pairs stand in the order of the flows.
std::uint32_t GroupLevels::last_least(const Group& group, double share) const {
    std::array<double, 4> least;  // several minima at once, none of which waits for another
    least.fill(kInfinite);
    std::uint32_t pair = group.first_pair;
    for (; pair + least.size() <= group.end_pair; pair += least.size())
        for (std::size_t i = 0; i < least.size(); ++i)
            least[i] = std::min(least[i], line_[pair + i].level(share));
    for (; pair < group.end_pair; ++pair)
        least[0] = std::min(least[0], line_[pair].level(share));
    const double most = *std::min_element(least.begin(), least.end()) * kSameLine;
    for (pair = group.end_pair - 1; pair > group.first_pair && line_[pair].level(share) > most;)
        --pair;
    return pair;
}

bool GroupLevels::holds(const Envelope& envelope, double share) const {
    return share <= envelope.until && line_[envelope.witness[0]] == envelope.line[0] &&
           line_[envelope.witness[1]] == envelope.line[1];
}

// The group's share is the start of the interval. The first witness has that share; so while its line stands,
// the group's share is no less.
void GroupLevels::find_envelope(Group& group, double share) {
    constexpr double kStretch = 16;  // times the share: the end of the interval
    const double first = share_of(group);
    const double last = std::max(share, first) * kStretch;
    const std::array witness{last_least(group, first), last_least(group, last)};
    const std::array line{line_[witness[0]], line_[witness[1]]};
    group.envelope = {.until = last, .witness = witness, .line = line};
    // A line that is above another at both ends of an interval is above it throughout.
    const double first_most = line[1].level(first) / kSameLine;
    const double last_most = line[0].level(last) / kSameLine;
    std::uint32_t* candidate = candidates_.data() + group.first_pair;
    for (std::uint32_t pair = group.first_pair; pair < group.end_pair; ++pair) {
        *candidate = pair;
        const bool is_below = line_[pair].level(first) < first_most && line_[pair].level(last) < last_most;
        candidate += is_below || pair == witness[0] || pair == witness[1];
    }
    group.envelope.count = static_cast<std::uint32_t>(candidate - candidates_.data()) - group.first_pair;
}

// The group's largest share of a resource on which its flows rise.
double GroupLevels::share_of(const Group& group) const {
    double share = 0;
    for (std::uint32_t pair = group.first_pair; pair < group.end_pair; ++pair) {
        const double own = (use_[pair].base + group.level * use_[pair].slope) * inverse_size_[pair];
        share = std::max(share, count_[pair] > 0 ? own : 0);
    }
    return share * (1 - 1e-12);  // so that rounding excludes no candidate
}

// The line of the least pair holds until the next flow has its demand; other lines only make the level less.
double GroupLevels::set_trial(const Group& group, const Least& least, const Flow& next) {
    const double speed = least.line.speed * group.weight;
    return set_trial(least.level, speed, (next.end_level + least.line.offset) / speed);
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
        return try_share_past_demands(group, share, least);
    if (least.level <= group.level)
        return set_trial(group.level, 0,
                         (group.level + least.line.offset) / (least.line.speed * group.weight));
    return set_trial(group, least, flows_[group.next]);
}

// Stops flows on trial, in the order of their demands, until the share's level precedes the next demand.
double GroupLevels::try_share_past_demands(Group& group, double share, Least least) {
    double floor = group.floor;
    std::uint32_t floor_resource = group.floor_resource;
    double level = group.level;
    for (std::uint32_t f = group.next; f < group.end_flow; f = next_rising(group, f + 1)) {
        if (share < floor)
            return set_trial(level, 0, floor / group.weight);
        if (line_[least.pair] != least.line)
            least = least_level(group, share);
        if (least.level <= level)
            return set_trial(level, 0, (level + least.line.offset) / (least.line.speed * group.weight));
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
        saved_.push_back({pair, count_[pair], use_[pair], line_[pair]});
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
        sum_slopes(group);
}

void GroupLevels::stop_flows(const Member& member, Allocation& out) {
    end_trial();
    Group& group = groups_[member.group];
    for (std::uint32_t f = std::max(group.next, first_flow_[member.pair]); f <= last_flow_[member.pair];
         ++f) {
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
        sum_slopes(group);
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
    wanted_.assign(problem.capacity.size(), 0.0);
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
            wanted_[demand.resource()[k]] += demand.tokens()[k];
    }
    can_fill_.resize(wanted_.size());
    full_.assign(wanted_.size(), 0);
    for (std::size_t j = 0; j < wanted_.size(); ++j)
        can_fill_[j] = wanted_[j] > problem.capacity[j];
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

// Adds the pairs of the group on resources that can fill, or on the others, in the order of its flows.
void GroupLevels::add_pairs(const Problem& problem, const Group& group, bool fillable) {
    const DemandMatrix& demand = problem.demand;
    const auto base = problem.share_base.empty() ? problem.capacity : problem.share_base;
    for (std::uint32_t f = group.first_flow; f < group.end_flow; ++f) {
        for (const std::uint32_t k : demand.row(flows_[f].number)) {
            const std::uint32_t j = demand.resource()[k];
            if (can_fill(j) != fillable)
                continue;
            if (pair_of_[j] == kNone || pair_of_[j] < group.first_pair) {
                pair_of_[j] = static_cast<std::uint32_t>(resource_.size());
                resource_.push_back(j);
                use_.push_back({});
                count_.push_back(0);
                size_.push_back(base[j]);
                inverse_size_.push_back(1 / base[j]);
                first_flow_.push_back(f);
                last_flow_.push_back(f);
            }
            const std::uint32_t pair = pair_of_[j];
            use_[pair].slope += demand.tokens()[k] * flows_[f].speed;
            ++count_[pair];
            last_flow_[pair] = f;
        }
    }
}

void GroupLevels::place_pairs(const Problem& problem) {
    const DemandMatrix& demand = problem.demand;
    pair_of_.assign(problem.capacity.size(), kNone);
    resource_.clear();
    use_.clear();
    count_.clear();
    size_.clear();
    inverse_size_.clear();
    first_flow_.clear();
    last_flow_.clear();
    entries_.clear();
    for (Group& group : groups_) {
        group.first_pair = static_cast<std::uint32_t>(resource_.size());
        add_pairs(problem, group, true);
        group.end_fillable = static_cast<std::uint32_t>(resource_.size());
        add_pairs(problem, group, false);
        group.end_pair = static_cast<std::uint32_t>(resource_.size());
        group.summed_at = group.rising;
        for (std::uint32_t f = group.first_flow; f < group.end_flow; ++f) {
            Flow& flow = flows_[f];
            flow.first_entry = static_cast<std::uint32_t>(entries_.size());
            for (const std::uint32_t k : demand.row(flow.number))
                entries_.push_back({pair_of_[demand.resource()[k]], demand.tokens()[k]});
            flow.end_entry = static_cast<std::uint32_t>(entries_.size());
        }
    }
    line_.resize(resource_.size());
    for (std::uint32_t pair = 0; pair < line_.size(); ++pair)
        set_line(pair);
    candidates_.resize(resource_.size());
    saved_.clear();
}

void GroupLevels::place_members(std::size_t resources) {
    first_member_.assign(resources + 1, 0);
    for (const std::uint32_t j : resource_)
        ++first_member_[j + 1];
    for (std::size_t j = 0; j < resources; ++j)
        first_member_[j + 1] += first_member_[j];
    members_.resize(resource_.size());
    end_member_.assign(first_member_.begin(), first_member_.end() - 1);
    settled_.assign(resources, 0.0);
    for (std::uint32_t g = 0; g < groups_.size(); ++g)
        for (std::uint32_t p = groups_[g].first_pair; p < groups_[g].end_pair; ++p)
            members_[end_member_[resource_[p]]++] = {g, p};
}

}  // namespace weir::alloc
