// group_levels_build.cc - layout of a problem in GroupLevels.
//
// The flows and pairs of a group stand together: flows by the level of their demand, pairs on resources that
// can fill before the others.
#include <algorithm>

#include "ctrl/alloc/group_levels.h"

namespace weir::alloc {

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
            flows_[groups_[group_of_flow[flow]].end_flow++] = {.end_level = demand_level_[flow],
                                                               .speed = 1 / demand_level_[flow],
                                                               .number = flow,
                                                               .first_entry = 0,
                                                               .end_entry = 0,
                                                               .stopped = false};
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
