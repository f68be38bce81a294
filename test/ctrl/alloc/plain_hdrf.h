// plain_hdrf.h - H-DRF of two levels in the plainest form: water that rises, every level by bisection.
// Source: H-DRF (SoCC'13); docs/algorithms.md 8.2
// Units: tokens in the control interval; a share is a part of a resource. Threads: tests only.
//
// Nothing is kept between two questions: a level, a use and a share are summed anew from the demands each
// time. Example: a link of 100 tokens, two groups of one flow that want 80 each. Their shares rise to 0.5,
// where the link is full; both flows have fill 0.625.
#pragma once

#include <algorithm>
#include <vector>

#include "ctrl/alloc/share_tree.h"
#include "test/ctrl/alloc/problems.h"

namespace weir::alloc::test {

class PlainHdrf {
  public:
    /// @param one its nodes stand below the root
    explicit PlainHdrf(const Case& one) : case_(one), full_(one.capacity.size(), false) {
        std::vector<std::size_t> group_of_node(one.tree.parent.size());
        for (std::size_t node = 0; node < group_of_node.size(); ++node) {
            group_of_node[node] = groups_.size();
            groups_.push_back({.weight = one.tree.weight[node]});
        }
        fill_.resize(one.weights.size(), 0.0);
        takes_part_.resize(one.weights.size(), false);
        for (std::uint32_t i = 0; i < one.weights.size(); ++i) {
            const std::uint32_t node = one.tree.node_of_flow[i];
            if (node == kNone)
                groups_.push_back({.weight = one.weights[i]});
            add_flow(i, node == kNone ? groups_.back() : groups_[group_of_node[node]], node == kNone);
        }
    }

    /// @return the fill of every flow that takes part
    const std::vector<double>& run() {
        while (fill_next()) {
        }
        return fill_;
    }
    /// Whether the flow has a weight and a demand, of resources that have tokens.
    [[nodiscard]] bool takes_part(std::size_t flow) const { return takes_part_[flow]; }

    /// Whether at some share several things happened at once of which the order matters, and which H-DRF does
    /// not order: groups that rise while their shares stand still, and resources that fill.
    [[nodiscard]] bool is_open() const { return is_open_; }

  private:
    struct Flow {
        std::uint32_t number;
        double end_level;  // where it has its demand
        bool stopped = false;
    };
    struct Group {
        double weight = 1;
        double level = 0;
        std::vector<Flow> flows = {};
    };
    using Levels = std::vector<double>;

    void add_flow(std::uint32_t i, Group& group, bool is_alone) {
        double share = 0;
        bool has_tokens = !case_.demand.row(i).empty();
        for (const std::uint32_t k : case_.demand.row(i)) {
            const double capacity = case_.capacity[case_.demand.resource()[k]];
            has_tokens = has_tokens && capacity > 0;
            share = std::max(share, case_.demand.tokens()[k] / capacity);
        }
        takes_part_[i] = has_tokens && case_.weights[i] > 0 && group.weight > 0;
        if (takes_part_[i])
            group.flows.push_back({.number = i, .end_level = share / (is_alone ? 1 : case_.weights[i])});
    }

    [[nodiscard]] double fill_at(const Flow& flow, double level) const {
        return flow.stopped ? fill_[flow.number] : std::min(1.0, level / flow.end_level);
    }
    [[nodiscard]] std::vector<double> use_at(const Group& group, double level) const {
        std::vector<double> use(case_.capacity.size(), 0.0);
        for (const Flow& flow : group.flows)
            for (const std::uint32_t k : case_.demand.row(flow.number))
                use[case_.demand.resource()[k]] += case_.demand.tokens()[k] * fill_at(flow, level);
        return use;
    }
    /// The group's share per weight.
    [[nodiscard]] double share_at(const Group& group, double level) const {
        const std::vector<double> use = use_at(group, level);
        double share = 0;
        for (std::size_t j = 0; j < use.size(); ++j)
            if (!full_[j] && use[j] > 0)
                share = std::max(share, use[j] / case_.capacity[j]);
        return share / group.weight;
    }
    [[nodiscard]] static double end_level(const Group& group) {
        double end = group.level;
        for (const Flow& flow : group.flows)
            end = flow.stopped ? end : std::max(end, flow.end_level);
        return end;
    }
    /// The greatest level at which the group's share per weight is at most `share`; at least its own.
    [[nodiscard]] double level_at(const Group& group, double share) const {
        const double end = end_level(group);
        if (share_at(group, end) <= share)
            return end;
        return last_that(group.level, end, [&](double level) { return share_at(group, level) <= share; });
    }
    /// The last number from `low` to `high` of which `holds` is true; `low` if it is true of none.
    template <typename Holds>
    [[nodiscard]] static double last_that(double low, double high, const Holds& holds) {
        constexpr int kTurns = 80;
        for (int turn = 0; turn < kTurns && low < high; ++turn) {
            const double middle = low + (high - low) / 2;
            (holds(middle) ? low : high) = middle;
        }
        return low;
    }

    [[nodiscard]] Levels levels_at(double share) const {
        Levels levels;
        for (const Group& group : groups_)
            levels.push_back(level_at(group, share));
        return levels;
    }
    /// The first resource that is over this part of its capacity at these levels; kNone when none is.
    [[nodiscard]] std::uint32_t over_at(const Levels& levels, double most = kFull) const {
        std::vector<double> use(case_.capacity.size(), 0.0);
        for (std::size_t g = 0; g < groups_.size(); ++g) {
            const std::vector<double> own = use_at(groups_[g], levels[g]);
            std::transform(use.begin(), use.end(), own.begin(), use.begin(), std::plus<>());
        }
        for (std::uint32_t j = 0; j < use.size(); ++j)
            if (!full_[j] && use[j] > case_.capacity[j] * most)
                return j;
        return kNone;
    }

    /// Raises the groups until a resource is full, and stops its flows. @return false when none fills
    bool fill_next() {
        double most = 0;
        for (const Group& group : groups_)
            most = std::max(most, share_at(group, end_level(group)));
        if (over_at(levels_at(most)) == kNone) {
            set_levels(levels_at(most));
            return false;
        }
        const double share =
            last_that(0, most, [&](double each) { return over_at(levels_at(each)) == kNone; });
        // Where a group's share stands still while its flows rise, the group goes a part of the way.
        const Levels low = levels_at(share * kBelow);
        const Levels high = levels_at(share * kAbove);
        is_open_ = is_open_ || is_open_at(share);
        const auto between = [&](double part) {
            Levels levels = low;
            for (std::size_t g = 0; g < levels.size(); ++g)
                levels[g] += part * (high[g] - low[g]);
            return levels;
        };
        const double part = last_that(0, 1, [&](double each) { return over_at(between(each)) == kNone; });
        const std::uint32_t over = over_at(between(std::min(1.0, part + kPart)));
        set_levels(between(part));
        stop_flows(over == kNone ? over_at(high) : over);
        return true;
    }
    /// Whether the groups whose shares stand still about here, while their flows rise, are several; or one,
    /// and a resource is full before it rises.
    [[nodiscard]] bool is_open_at(double share) const {
        const Levels low = levels_at(share * (1 - kAbout));
        const Levels high = levels_at(share * (1 + kAbout));
        std::size_t groups = 0;
        for (std::size_t g = 0; g < groups_.size(); ++g)
            groups += high[g] - low[g] > kRise * high[g];
        return groups > 1 || (groups == 1 && over_at(low, 1 - kRise) != kNone);
    }
    void set_levels(const Levels& levels) {
        for (std::size_t g = 0; g < groups_.size(); ++g) {
            groups_[g].level = levels[g];
            for (const Flow& flow : groups_[g].flows)
                fill_[flow.number] = fill_at(flow, levels[g]);
        }
    }
    void stop_flows(std::uint32_t resource) {
        REQUIRE(resource != kNone);
        full_[resource] = true;
        for (Group& group : groups_)
            for (Flow& flow : group.flows)
                for (const std::uint32_t k : case_.demand.row(flow.number))
                    flow.stopped = flow.stopped || case_.demand.resource()[k] == resource;
    }

    static constexpr double kFull =
        1 + 1e-11;  // a resource that is over its capacity uses more than this part
    static constexpr double kAbove = 1 + 1e-10;
    static constexpr double kBelow = 1 - 1e-10;
    static constexpr double kPart = 1e-9;  // of the way from the levels below to those above

    static constexpr double kAbout = 1e-8;  // shares that differ by less of themselves may be one
    static constexpr double kRise = 1e-6;   // of a level: more than levels rise within kAbout

    const Case& case_;
    std::vector<Group> groups_;
    std::vector<bool> full_;
    std::vector<bool> takes_part_;
    std::vector<double> fill_;
    bool is_open_ = false;
};

}  // namespace weir::alloc::test
