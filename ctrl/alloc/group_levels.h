// group_levels.h - groups of flows (tenants) that each share by one level: flow i of a group at level s has
// fill s / (delta / w), 1 at most. What a group has of a resource is linear in s between the levels where
// flows stop, and the group's own share is the largest part that it has of a resource that is not full. H-DRF
// asks how far a group may rise until its share per weight is L, and what it then uses.
//
// A pair is one group on one resource. Threads: one.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "ctrl/alloc/mechanism.h"

namespace weir::alloc {

class GroupLevels {
  public:
    /// A group on a resource, seen from the resource.
    struct Member {
        std::uint32_t group;
        std::uint32_t pair;
    };

    /// @param group_of_flow kNone: takes no part
    /// @param group_weight positive
    /// Flows that want something of an empty resource get nothing and take no part.
    void build(const Problem& problem, std::span<const std::uint32_t> group_of_flow,
               std::span<const double> group_weight, Allocation& out);

    [[nodiscard]] std::uint32_t groups() const { return static_cast<std::uint32_t>(groups_.size()); }
    [[nodiscard]] bool busy(std::uint32_t group) const { return groups_[group].active > 0; }
    [[nodiscard]] double level(std::uint32_t group) const { return groups_[group].level; }
    /// The pairs on resources that can fill, and what they are on.
    [[nodiscard]] std::uint32_t first_pair(std::uint32_t group) const { return groups_[group].first_pair; }
    [[nodiscard]] std::uint32_t end_pair(std::uint32_t group) const { return groups_[group].end_fillable; }
    [[nodiscard]] std::uint32_t pairs() const { return static_cast<std::uint32_t>(resource_.size()); }
    [[nodiscard]] std::uint32_t resource(std::uint32_t pair) const { return resource_[pair]; }
    [[nodiscard]] std::span<const Member> members(std::uint32_t resource) const;
    [[nodiscard]] bool can_fill(std::uint32_t resource) const { return can_fill_[resource] != 0; }
    [[nodiscard]] bool is_full(std::uint32_t resource) const { return full_[resource] != 0; }

    /// The level that the group reaches when its share per weight may be `share`; never below where it is.
    /// Both this and look() show the group there: use_of() and slope_of() answer for its pairs until the next
    /// call.
    double reach(std::uint32_t group, double share);
    /// Shows the group at a level, at least its own.
    void look(std::uint32_t group, double level);
    [[nodiscard]] double use_of(std::uint32_t pair) const { return base_[pair] + view_level_ * slope_[pair]; }
    /// Tokens per level.
    [[nodiscard]] double rise_of(std::uint32_t pair) const { return slope_[pair]; }
    /// After reach(): tokens per share, and a share up to which nothing jumps.
    [[nodiscard]] double slope_of(std::uint32_t pair) const { return view_speed_ * slope_[pair]; }
    [[nodiscard]] double steady_until() const { return steady_until_; }
    /// Ends what reach() and look() show: everybody is where raise() left them.
    void undo();
    /// Whether flows of the group rise there, and what it uses when none do.
    [[nodiscard]] bool rises_on(std::uint32_t pair) const { return count_[pair] > 0; }
    [[nodiscard]] double settled_use(std::uint32_t pair) const { return base_[pair]; }
    /// Brings the group there for good.
    void raise(std::uint32_t group, double level);
    /// Stops every flow of the group on this pair where it is.
    void stop_at(const Member& member, Allocation& out);
    void set_full(std::uint32_t resource) { full_[resource] = 1; }

  private:
    /// The lines of a group's pairs that can be the least up to a share, as long as the two that say so have
    /// not changed: the least at its beginning, and the least at its end.
    struct Front {
        static constexpr std::uint32_t kMost = 6;
        double until = -1;
        std::array<std::uint32_t, 2> witness{};
        std::array<double, 2> slope{};  // of the witnesses' lines
        std::array<double, 2> offset{};
        std::uint32_t count = 0;
        std::array<std::uint32_t, kMost> pairs{};
    };
    struct Group {
        double weight = 1;
        double level = 0;
        double floor = 0;  // the largest share of a pair where nobody rises any more
        std::uint32_t floor_resource = kNone;
        std::uint32_t first_flow = 0;
        std::uint32_t end_flow = 0;
        std::uint32_t next = 0;  // the first flow that is not at its demand, in the order of their levels
        std::uint32_t active = 0;
        std::uint32_t summed_at = 0;  // `active` when slopes were last added up anew
        std::uint32_t first_pair = 0;
        std::uint32_t end_fillable = 0;
        std::uint32_t end_pair = 0;
        double share = 0;  // at most what it has, over pairs where somebody rises
        // Only so many of its pairs, from first_pair on in near_, reach a share below the level near_until.
        std::uint32_t near = 0;
        double near_until = -1;
        Front front;
    };
    struct Flow {
        double full_level;  // where it has its demand
        double speed;       // 1 / full_level
        std::uint32_t number;
        std::uint32_t first_entry;
        std::uint32_t end_entry;
        bool stopped;
    };
    struct Entry {
        std::uint32_t pair;
        double tokens;
    };
    /// A pair before a trial changed it.
    struct Before {
        std::uint32_t pair;
        std::uint32_t count;
        double base;
        double slope;
        double reach_a;
        double reach_b;
    };
    /// Where the first of a group's pairs reaches a share, and how fast its level grows with the share.
    struct Least {
        double level;
        double speed;
        double offset;
    };

    void measure(const Problem& problem, std::span<const std::uint32_t> group_of_flow, Allocation& out);
    void place_flows(const Problem& problem, std::span<const std::uint32_t> group_of_flow);
    void place_pairs(const Problem& problem);
    void place_members(std::size_t resources);
    void add_up(Group& group);
    void set_reach(std::uint32_t pair);
    [[nodiscard]] Least least_level(Group& group, double share);
    [[nodiscard]] Least least_of(std::span<const std::uint32_t> pairs, double share) const;
    void find_near(Group& group, double share);
    void find_front(Group& group, double share);
    [[nodiscard]] bool holds(const Front& front, double share) const;
    void refresh_share(Group& group) const;
    [[nodiscard]] std::uint32_t next_active(const Group& group, std::uint32_t from) const;
    /// Takes a flow out of the slopes at fill `part`; at the group's expense when `floor` is its own.
    void leave(const Flow& flow, double part, double& floor, std::uint32_t& floor_resource);
    void refresh_floor(Group& group) const;
    double reach_slowly(Group& group, double share);
    double show(double level, double speed, double steady_until) {
        view_level_ = level;
        view_speed_ = speed;
        steady_until_ = steady_until;
        return level;
    }
    double show(const Group& group, const Least& least, const Flow& next);
    /// Notes the pairs of a flow that leaves on trial.
    void remember(const Flow& flow);

    std::vector<Group> groups_;
    std::vector<Flow> flows_;
    std::vector<Entry> entries_;
    std::vector<double> delta_;  // per flow of the problem: level of its demand; 0: takes no part
    std::vector<std::uint8_t> can_fill_;
    std::vector<std::uint8_t> full_;
    // One per pair.
    std::vector<std::uint32_t> resource_;
    std::vector<double> size_;  // of the resource, for shares
    std::vector<double> inverse_size_;
    std::vector<double> base_;     // what those who have stopped use
    std::vector<double> slope_;    // per level, of those who rise
    std::vector<double> reach_a_;  // the share x is reached at the level x * a - b
    std::vector<double> reach_b_;
    std::vector<std::uint32_t> count_;  // who rise
    std::vector<std::uint32_t> near_;
    // One per resource, then all members.
    std::vector<std::uint32_t> first_member_;
    std::vector<Member> members_;
    std::vector<Before> trial_;
    double view_level_ = 0;
    double view_speed_ = 0;
    double steady_until_ = 0;
};

}  // namespace weir::alloc
