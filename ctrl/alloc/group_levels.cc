// group_levels.cc - how far groups rise, what they use there, and who stops.
#include "ctrl/alloc/group_levels.h"

#include <algorithm>

namespace weir::alloc {
std::span<const GroupLevels::Member> GroupLevels::members(std::uint32_t resource) const {
    return std::span(members_).subspan(first_member_[resource],
                                       first_member_[resource + 1] - first_member_[resource]);
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
    if (holds(group.front, share)) {
        const Least least = least_of({group.front.pairs.data(), group.front.count}, share);
        if (least.level <= group.near_until)
            return least;
    }
    Least least = least_of({near_.data() + group.first_pair, group.near}, share);
    while (least.level > group.near_until) {
        find_near(group, share);
        least = least_of({near_.data() + group.first_pair, group.near}, share);
    }
    if (trial_.empty())
        find_front(group, share);
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
    group.front.until = -1;
}

bool GroupLevels::holds(const Front& front, double share) const {
    return share <= front.until && reach_a_[front.witness[0]] == front.slope[0] &&
           reach_b_[front.witness[0]] == front.offset[0] && reach_a_[front.witness[1]] == front.slope[1] &&
           reach_b_[front.witness[1]] == front.offset[1];
}

// Who is above one line at both ends of a stretch is above it in between.
void GroupLevels::find_front(Group& group, double share) {
    constexpr double kStretch = 1.5;
    const std::span<const std::uint32_t> near{near_.data() + group.first_pair, group.near};
    const std::array<double, 2> ends{group.share, share * kStretch};
    Front& front = group.front;
    const auto level_at = [this](std::uint32_t pair, double at) {
        return at * reach_a_[pair] - reach_b_[pair];
    };
    for (std::size_t end = 0; end < 2; ++end) {
        std::uint32_t least = near.front();
        for (const std::uint32_t pair : near)
            if (level_at(pair, ends[end]) < level_at(least, ends[end]))
                least = pair;
        front.witness[end] = least;
        front.slope[end] = reach_a_[least];
        front.offset[end] = reach_b_[least];
    }
    const double first = level_at(front.witness[1], ends[0]);
    const double last = level_at(front.witness[0], ends[1]);
    front.until = ends[1];
    front.count = 0;
    for (const std::uint32_t pair : near) {
        const bool is_witness = pair == front.witness[0] || pair == front.witness[1];
        if (!is_witness && (level_at(pair, ends[0]) >= first || level_at(pair, ends[1]) >= last))
            continue;
        if (front.count == Front::kMost) {
            front.until = -1;
            return;
        }
        front.pairs[front.count++] = pair;
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

// The level grows until the next flow has its demand: not before the line says so, which others may undercut.
double GroupLevels::show(const Group& group, const Least& least, const Flow& next) {
    return show(least.level, least.speed * group.weight,
                (next.full_level + least.offset) / (least.speed * group.weight));
}

double GroupLevels::reach(std::uint32_t number, double share) {
    undo();
    Group& group = groups_[number];
    if (group.active == 0)
        return show(group.level, 0, kInfinite);
    share *= group.weight;
    if (share < group.floor && full_[group.floor_resource])
        refresh_floor(group);
    if (share < group.floor)
        return show(group.level, 0, group.floor / group.weight);
    const Least least = least_level(group, share);
    group.next = next_active(group, group.next);
    if (least.level > flows_[group.next].full_level)
        return reach_slowly(group, share);
    if (least.level <= group.level)
        return show(group.level, 0, (group.level + least.offset) / (least.speed * group.weight));
    return show(group, least, flows_[group.next]);
}

// Some flow has its demand on the way.
double GroupLevels::reach_slowly(Group& group, double share) {
    double floor = group.floor;
    std::uint32_t floor_resource = group.floor_resource;
    double level = group.level;
    for (std::uint32_t f = group.next; f < group.end_flow; f = next_active(group, f + 1)) {
        if (share < floor)
            return show(level, 0, floor / group.weight);
        const Least least = least_level(group, share);
        if (least.level <= level)
            return show(level, 0, (level + least.offset) / (least.speed * group.weight));
        if (least.level <= flows_[f].full_level)
            return show(group, least, flows_[f]);
        level = std::max(level, flows_[f].full_level);
        remember(flows_[f]);
        leave(flows_[f], 1, floor, floor_resource);
    }
    return show(level, 0, kInfinite);
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
    show(level, 0, level);
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
        flow.full_level = group.level;
        out.fill[flow.number] = group.level * flow.speed;
        out.bottleneck[flow.number] = resource_[member.pair];
        leave(flow, group.level * flow.speed, group.floor, group.floor_resource);
        --group.active;
    }
    if (2 * group.active < group.summed_at)
        add_up(group);
    if (share < group.share)
        return;
    group.near = 0;  // the group's share may have fallen
    group.near_until = -1;
    group.front.until = -1;
    group.share = 0;
}

}  // namespace weir::alloc
