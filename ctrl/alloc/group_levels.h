// group_levels.h - groups of flows (tenants), the flows of each rising by one level.
// Source: H-DRF (SoCC'13); docs/algorithms.md 8.2
// Units: tokens in the control interval; a share is a part of a resource. Threads: one owner.
//
// At level s of its group a flow has fill s / d, at most 1, where d (the level of its demand) is the dominant
// share of its demand per weight. The group's use of a resource, in tokens, is therefore base + slope * s
// between the levels at which flows reach their demands: base sums the flows that stopped, slope those that
// rise. The group's share is the largest part that it uses of any resource that is not full. H-DRF asks for
// the inverse: the level up to which the group may rise until its share per weight is L, and its use there.
//
// Example: a disk of 100 tokens, a group of weight 1 whose flows want 20 and 60 of it. Their demands stand at
// levels 0.2 and 0.6. Below 0.2 the group uses 200 s; beyond, 20 + 100 s. It may rise to share 0.5 at level
// 0.3, where its flows have 20 and 30.
//
// A pair is one group on one resource. Share x is reached on a pair at level x * size / slope - base / slope,
// which is a line over x; the group's level is the least of its pairs' lines. try_share() and try_level()
// show a group at such a level on trial; raise() and stop_flows() change the groups for good.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "ctrl/alloc/mechanism.h"

namespace weir::alloc {

class GroupLevels {
  public:
    /// A pair as the resource sees it.
    struct Member {
        std::uint32_t group;
        std::uint32_t pair;
    };

    /// Starts all groups at level 0. A flow that wants tokens of an empty resource gets fill 0 in `out` and
    /// takes no part.
    /// @param group_of_flow kNone: the flow takes no part
    /// @param group_weight above 0
    void build(const Problem& problem, std::span<const std::uint32_t> group_of_flow,
               std::span<const double> group_weight, Allocation& out);

    [[nodiscard]] std::uint32_t groups() const { return static_cast<std::uint32_t>(groups_.size()); }
    /// Whether flows of the group rise.
    [[nodiscard]] bool is_rising(std::uint32_t group) const { return groups_[group].rising > 0; }
    /// Flows of the group that rise.
    [[nodiscard]] std::uint32_t rising(std::uint32_t group) const { return groups_[group].rising; }
    [[nodiscard]] double level(std::uint32_t group) const { return groups_[group].level; }
    /// The group's pairs on resources that can fill: first_pair() to end_pair().
    [[nodiscard]] std::uint32_t first_pair(std::uint32_t group) const { return groups_[group].first_pair; }
    [[nodiscard]] std::uint32_t end_pair(std::uint32_t group) const { return groups_[group].end_fillable; }
    [[nodiscard]] std::uint32_t resource(std::uint32_t pair) const { return resource_[pair]; }
    /// Ends the trial. @return the pairs of the resource on which flows rise, until the next call
    [[nodiscard]] std::span<const Member> rising_members(std::uint32_t resource);
    /// Tokens of the resource's other pairs, as rising_members() found them.
    [[nodiscard]] double settled_use(std::uint32_t resource) const { return settled_[resource]; }
    /// Whether the demands on the resource exceed its capacity.
    [[nodiscard]] bool can_fill(std::uint32_t resource) const { return can_fill_[resource] != 0; }
    [[nodiscard]] bool is_full(std::uint32_t resource) const { return full_[resource] != 0; }

    /// Shows the group on trial where its share per weight is `share`, or at its own level if that is higher.
    /// @return the level on trial
    double try_share(std::uint32_t group, double share);
    /// Shows the group on trial at a level, at least its own.
    void try_level(std::uint32_t group, double level);
    /// Of a pair of the group on trial: its tokens, and their slope over the level.
    [[nodiscard]] double use_of(std::uint32_t pair) const {
        return use_[pair].base + trial_level_ * use_[pair].slope;
    }
    [[nodiscard]] double tokens_per_level(std::uint32_t pair) const { return use_[pair].slope; }
    /// After try_share(): the slope over the share, and the share up to which it holds and use does not jump.
    [[nodiscard]] double tokens_per_share(std::uint32_t pair) const {
        return trial_speed_ * use_[pair].slope;
    }
    [[nodiscard]] double steady_until() const { return steady_until_; }
    /// Ends the trial: every pair is again as raise() and stop_flows() left it.
    void end_trial();
    /// Whether flows of the group rise on the pair, and the tokens of the pair when none do.
    [[nodiscard]] bool rises_on(std::uint32_t pair) const { return count_[pair] > 0; }
    [[nodiscard]] double stopped_use(std::uint32_t pair) const { return use_[pair].base; }
    /// Raises the group to a level, at least its own.
    void raise(std::uint32_t group, double level);
    /// Stops every flow of the pair at the group's level, with the pair's resource as its bottleneck.
    void stop_flows(const Member& member, Allocation& out);
    void set_full(std::uint32_t resource) { full_[resource] = 1; }

  private:
    /// Tokens of a group on a resource: base of the flows that stopped, slope per level of those that rise.
    struct Use {
        double base = 0;
        double slope = 0;
    };
    /// Share x of a pair is reached at level x * speed - offset. Without rising flows: at no level.
    struct Line {
        double speed = 0;
        double offset = -kInfinite;

        [[nodiscard]] double level(double share) const { return share * speed - offset; }
        bool operator==(const Line&) const = default;
    };
    /// Lower envelope of the lines of a group's pairs up to share `until`: only the first `count` of its
    /// pairs in candidates_, from first_pair on, can have the least level. It holds while the lines of its
    /// witnesses, the least at both ends, are unchanged.
    struct Envelope {
        double until = -1;
        std::uint32_t count = 0;
        std::array<std::uint32_t, 2> witness{};
        std::array<Line, 2> line{};  // of the witnesses
    };
    struct Group {
        double weight = 1;
        double level = 0;
        double floor = 0;  // the largest share of a pair on which no flow rises any more
        std::uint32_t floor_resource = kNone;
        std::uint32_t first_flow = 0;
        std::uint32_t end_flow = 0;
        std::uint32_t next = 0;  // the first flow below its demand, in the order of their levels
        std::uint32_t rising = 0;
        std::uint32_t summed_at = 0;  // `rising` when its slopes were last summed anew
        std::uint32_t first_pair = 0;
        std::uint32_t end_fillable = 0;
        std::uint32_t end_pair = 0;
        Envelope envelope;
    };
    struct Flow {
        double end_level;  // where it has its demand, or where it was stopped
        double speed;      // fill per level
        std::uint32_t number;
        std::uint32_t first_entry = 0;
        std::uint32_t end_entry = 0;
        bool stopped = false;
    };
    struct Entry {
        std::uint32_t pair;
        double tokens;
    };
    /// A pair as it was before a trial changed it.
    struct Saved {
        std::uint32_t pair;
        std::uint32_t count;
        Use use;
        Line line;
    };
    /// The pair that has the least level at a share, and its line.
    struct Least {
        double level;
        std::uint32_t pair;
        Line line;
    };

    void set_demand_levels(const Problem& problem, std::span<const std::uint32_t> group_of_flow,
                           Allocation& out);
    void place_flows(const Problem& problem, std::span<const std::uint32_t> group_of_flow);
    void place_pairs(const Problem& problem);
    void place_members(std::size_t resources);
    void add_pairs(const Problem& problem, const Group& group, bool fillable);
    void sum_slopes(Group& group);
    void set_line(std::uint32_t pair);
    [[nodiscard]] Least least_level(Group& group, double share);
    [[nodiscard]] Least least_of_candidates(const Group& group, double share) const;
    [[nodiscard]] std::uint32_t last_least(const Group& group, double share) const;
    void find_envelope(Group& group, double share);
    [[nodiscard]] bool holds(const Envelope& envelope, double share) const;
    [[nodiscard]] double share_of(const Group& group) const;
    [[nodiscard]] std::uint32_t next_rising(const Group& group, std::uint32_t from) const;
    /// Moves a flow with the given fill from the slopes of its pairs to their bases; raises the floor when a
    /// pair has no rising flow left.
    void stop(const Flow& flow, double fill, double& floor, std::uint32_t& floor_resource);
    void refresh_floor(Group& group) const;
    double try_share_past_demands(Group& group, double share, Least least);
    double set_trial(double level, double speed, double steady_until) {
        trial_level_ = level;
        trial_speed_ = speed;
        steady_until_ = steady_until;
        return level;
    }
    double set_trial(const Group& group, const Least& least, const Flow& next);
    /// Saves the pairs of a flow that stops on trial.
    void save(const Flow& flow);

    std::vector<Group> groups_;
    std::vector<Flow> flows_;
    std::vector<Entry> entries_;
    std::vector<double> demand_level_;  // per flow of the problem; 0: it takes no part
    std::vector<std::uint8_t> can_fill_;
    std::vector<std::uint8_t> full_;
    // One per pair.
    std::vector<Use> use_;
    std::vector<Line> line_;
    std::vector<std::uint32_t> resource_;
    std::vector<std::uint32_t> count_;  // flows that rise
    std::vector<double> size_;          // of the resource: the denominator of shares
    std::vector<double> inverse_size_;
    std::vector<std::uint32_t> first_flow_;  // of those that touch it
    std::vector<std::uint32_t> last_flow_;
    std::vector<std::uint32_t> candidates_;
    // One per resource, then all members.
    std::vector<std::uint32_t> first_member_;
    std::vector<std::uint32_t> end_member_;
    std::vector<double> settled_;
    std::vector<Member> members_;
    std::vector<Saved> saved_;
    // Of build() alone, one per resource.
    std::vector<double> wanted_;
    std::vector<std::uint32_t> pair_of_;
    double trial_level_ = 0;
    double trial_speed_ = 0;  // level per share
    double steady_until_ = 0;
};

}  // namespace weir::alloc
