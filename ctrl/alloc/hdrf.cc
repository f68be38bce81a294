// hdrf.cc - hierarchical DRF (SoCC'13) for tenants and their flows, exact in the fluid limit of its quanta.
//
// The quantum rule: from the root down to the child that is not blocked and has the least share per weight;
// an inner share is the largest over resources that are not full. In the limit all tenants rise at one share
// per weight L, and each tenant's flows at a level of their own (group_levels.h), so what the tenant uses is
// a function of L until a resource fills. Then its flows there stop, the share of their tenants falls because
// the full resource no longer counts, and these tenants lag: they rise to L before anybody else gets more,
// and may fill further resources on the way.
//
// L goes up in steps, small enough that few resources fill in one. Use at the step's end says which may; the
// first of them and its level are found by regula falsi on its use, which only asks the tenants on that
// resource. Resources that cannot fill are left out of this, but not of the shares.
//
// A deeper tree goes to the quanta themselves (quantum_tree.h).
#include <algorithm>
#include <cmath>
#include <limits>

#include "ctrl/alloc/group_levels.h"
#include "ctrl/alloc/leftover.h"
#include "ctrl/alloc/mechanism.h"
#include "ctrl/alloc/quantum_tree.h"
#include "ctrl/alloc/share_tree.h"

namespace weir::alloc {
namespace {

constexpr double kNear = 1e-10;   // a resource is full when this part of it is left
constexpr double kOver = 1e-11;   // and over when it is above by this part
constexpr double kPoint = 1e-13;  // an interval of levels that is a point, relative
constexpr std::size_t kFewFills = 4;
constexpr std::size_t kManyFills = 12;

/// Where a resource fills: between two shares that are nearly the same. Where use jumps there (a tenant's
/// largest share stands still while what else it has catches up), `part` of the jump is made when it fills.
struct Crossing {
    std::uint32_t resource = kNone;
    double low = 0;
    double high = 0;
    double part = 0;

    [[nodiscard]] bool before(const Crossing& other) const {
        const bool same_point = low <= other.high && other.low <= high;
        return other.resource == kNone || (same_point ? part < other.part : low < other.low);
    }
};

class Hdrf final : public Mechanism {
  public:
    void allocate(const Problem& given, Allocation& out) override {
        out.reset(given);
        plant(given, out);
        const Problem problem{given.demand, weights_, given.capacity, given.share_base, &tree_};
        if (tree_.is_deep()) {
            quanta_.allocate(problem, out);
            left_out_.clear();
            for (std::uint32_t flow = 0; flow < problem.demand.flows(); ++flow)
                if (out.fill[flow] < 1)
                    left_out_.push_back(flow);
        } else {
            group();
            groups_.build(problem, group_of_flow_, group_weight_, out);
            begin(problem);
            while (!live_.empty())
                step(out);
        }
        if (!left_out_.empty())
            leftover_.give(problem, left_out_, out);
        out.settle(problem);
    }

  private:
    /// The tree of those who have a weight, as simple as it can be.
    void plant(const Problem& problem, Allocation& out) {
        const std::uint32_t flows = problem.demand.flows();
        tree_ = problem.tree == nullptr ? ShareTree{} : *problem.tree;
        tree_.node_of_flow.resize(flows, kNone);
        weights_.assign(problem.weights.begin(), problem.weights.end());
        // A node below a weightless one is weightless.
        for (std::size_t n = 0; n < tree_.parent.size(); ++n)
            if (tree_.parent[n] != kNone && tree_.weight[tree_.parent[n]] <= 0)
                tree_.weight[n] = 0;
        takes_part_.assign(flows, 0);
        left_out_.clear();
        for (std::uint32_t flow = 0; flow < flows; ++flow) {
            const std::uint32_t node = tree_.node_of_flow[flow];
            if (problem.demand.begin(flow) == problem.demand.begin(flow + 1))
                continue;
            takes_part_[flow] = weights_[flow] > 0 && (node == kNone || tree_.weight[node] > 0);
            if (takes_part_[flow])
                continue;
            left_out_.push_back(flow);
            weights_[flow] = 0;
            out.fill[flow] = 0;
        }
        simplify(tree_, weights_, takes_part_);
    }

    /// Tenants, and a group of its own for every flow below the root.
    void group() {
        group_weight_ = tree_.weight;
        group_of_flow_ = tree_.node_of_flow;
        for (std::uint32_t flow = 0; flow < takes_part_.size(); ++flow) {
            if (!takes_part_[flow]) {
                group_of_flow_[flow] = kNone;
            } else if (group_of_flow_[flow] == kNone) {
                // Alone in its group, the weight is the group's or its own, which comes to the same.
                group_of_flow_[flow] = static_cast<std::uint32_t>(group_weight_.size());
                group_weight_.push_back(weights_[flow]);
                weights_[flow] = 1;
            }
        }
    }

    void begin(const Problem& problem) {
        capacity_ = problem.capacity;
        settled_.assign(capacity_.size(), 0.0);
        share_ = 0;
        live_.clear();
        double weights = 0;
        for (std::uint32_t g = 0; g < groups_.groups(); ++g) {
            if (!groups_.busy(g))
                continue;
            live_.push_back(g);
            weights += group_weight_[g];
        }
        rise_ = 1 / std::max(weights, kTokensLeast) / 64;
        lags_.assign(groups_.groups(), 0);
        lagging_.clear();
        aim_.assign(groups_.groups(), 0.0);
        tried_.assign(groups_.pairs(), 0.0);
        over_here_.assign(capacity_.size(), 0);
        known_.assign(capacity_.size(), 0);
        crossings_.assign(capacity_.size(), {});
    }

    /// L rises by up to `rise_`.
    void step(Allocation& out) {
        target_ = share_ + rise_;
        try_target();
        for (int turn = 0; over_.size() > kManyFills && turn < 24; ++turn) {
            rise_ /= 2;
            target_ = share_ + rise_;
            try_target();
        }
        std::size_t fills = 0;
        while (next_fill(out))
            ++fills;
        share_ = target_;
        for (const std::uint32_t g : live_) {
            groups_.raise(g, aim_[g]);
            if (groups_.busy(g))
                continue;
            groups_.look(g, groups_.level(g));
            for (std::uint32_t p = groups_.first_pair(g); p < groups_.end_pair(g); ++p)
                settled_[groups_.resource(p)] += groups_.use_of(p);
        }
        std::erase_if(live_, [this](auto g) { return !groups_.busy(g); });
        if (fills < kFewFills)
            rise_ *= 2;
    }

    /// Everybody's use at the target, and which resources would be over.
    void try_target() {
        used_ = settled_;
        over_.clear();
        std::fill(over_here_.begin(), over_here_.end(), std::uint8_t{0});
        std::fill(known_.begin(), known_.end(), std::uint8_t{0});
        for (const std::uint32_t g : live_) {
            aim_[g] = groups_.reach(g, target_);
            for (std::uint32_t p = groups_.first_pair(g); p < groups_.end_pair(g); ++p) {
                tried_[p] = groups_.use_of(p);
                used_[groups_.resource(p)] += tried_[p];
            }
        }
        for (std::uint32_t j = 0; j < used_.size(); ++j)
            note_if_over(j);
    }

    void note_if_over(std::uint32_t resource) {
        if (over_here_[resource] || groups_.is_full(resource) || !groups_.can_fill(resource) ||
            used_[resource] <= capacity_[resource] * (1 + kOver))
            return;
        over_here_[resource] = 1;
        over_.push_back(resource);
    }

    /// The group's use at the target anew, after some of its flows have stopped.
    void try_again(std::uint32_t g) {
        aim_[g] = groups_.reach(g, target_);
        for (std::uint32_t p = groups_.first_pair(g); p < groups_.end_pair(g); ++p) {
            const std::uint32_t j = groups_.resource(p);
            const double use = groups_.use_of(p);
            used_[j] += use - tried_[p];
            tried_[p] = use;
            known_[j] = 0;
            note_if_over(j);
        }
    }

    /// Fills the next resource. @return false when none fills up to the target
    bool next_fill(Allocation& out) {
        std::erase_if(over_, [this](auto j) {
            const bool stays = !groups_.is_full(j) && used_[j] > capacity_[j] * (1 + kOver);
            over_here_[j] = stays;
            return !stays;
        });
        if (!lagging_.empty()) {
            const Crossing crossing = first_crossing_of_lagging();
            if (crossing.resource != kNone) {
                for (const std::uint32_t g : lagging_)
                    groups_.raise(g, groups_.reach(g, crossing.low));
                fill(crossing, out);
                return true;
            }
            for (const std::uint32_t g : lagging_)
                lags_[g] = 0;
            lagging_.clear();
        }
        const Crossing crossing = first_crossing();
        if (crossing.resource == kNone)
            return false;
        share_ = crossing.low;
        fill(crossing, out);
        return true;
    }

    /// The first of `over_` to fill up to the target.
    Crossing first_crossing() {
        Crossing first;
        for (const std::uint32_t j : over_) {
            if (!known_[j]) {
                crossings_[j] = cross(j, share_, target_);
                known_[j] = 1;
            }
            if (crossings_[j].before(first))
                first = crossings_[j];
        }
        return first;
    }

    /// The first to fill while those who lag rise to the others. Only what they use more of can.
    Crossing first_crossing_of_lagging() {
        Crossing first;
        for (const std::uint32_t j : over_) {
            const double high = first.resource == kNone ? share_ : first.high;
            if (known_[j] || excess_at(j, high).tokens <= capacity_[j] * kOver)
                continue;
            const Crossing crossing = cross(j, 0, high);
            if (crossing.before(first))
                first = crossing;
        }
        return first;
    }

    /// What the resource gives out when those who may rise are at `share`, less its capacity; and how that
    /// grows.
    struct Excess {
        double tokens;
        double slope;
    };
    Excess excess_at(std::uint32_t resource, double share) {
        Excess excess{-capacity_[resource], 0};
        groups_.undo();
        for (const GroupLevels::Member& member : groups_.members(resource)) {
            if (!groups_.rises_on(member.pair)) {
                excess.tokens += groups_.settled_use(member.pair);
                continue;
            }
            const bool rises = lagging_.empty() || lags_[member.group];
            groups_.reach(member.group, rises ? share : share_);
            excess.tokens += groups_.use_of(member.pair);
            excess.slope += rises ? groups_.slope_of(member.pair) : 0;
        }
        return excess;
    }

    /// Newton's steps between the ends, which are exact where nothing happens between; bisection when they
    /// leave.
    Crossing cross(std::uint32_t resource, double low, double high) {
        const double capacity = capacity_[resource];
        double next = (low + high) / 2;
        for (int turn = 0; turn < 100 && high - low > kPoint * high; ++turn) {
            if (!(next > low && next < high) || turn % 8 == 7)
                next = (low + high) / 2;
            const Excess here = excess_at(resource, next);
            if (here.tokens > capacity * kOver) {
                high = next;
            } else {
                low = next;
                if (here.tokens > -capacity * kNear)
                    return {resource, low, low};
            }
            next -= here.tokens / here.slope;
        }
        Crossing crossing{resource, low, high};
        find_stops(crossing);
        crossing.part = part_of_jump(resource);
        return crossing;
    }

    /// Where the groups of the resource are at both ends.
    void find_stops(const Crossing& crossing) {
        stops_.clear();
        for (const GroupLevels::Member& member : groups_.members(crossing.resource)) {
            const bool rises = lagging_.empty() || lags_[member.group];
            const double low = groups_.reach(member.group, rises ? crossing.low : share_);
            const double high = rises ? groups_.reach(member.group, crossing.high) : low;
            stops_.push_back({low, high});
        }
    }

    /// In a jump the groups go their ways from low to high in step: how far until the resource is full.
    double part_of_jump(std::uint32_t resource) {
        const auto members = groups_.members(resource);
        double low = 0;
        double high = 1;
        double next = 0;
        for (int turn = 0; turn < 100 && high - low > kPoint; ++turn) {
            double excess = -capacity_[resource];
            double slope = 0;
            for (std::size_t i = 0; i < members.size(); ++i) {
                groups_.look(members[i].group, stops_[i].at(next));
                excess += groups_.use_of(members[i].pair);
                slope += groups_.rise_of(members[i].pair) * (stops_[i].high - stops_[i].low);
            }
            if (std::abs(excess) <= kNear * capacity_[resource])
                return next;
            (excess > 0 ? high : low) = next;
            next -= excess / slope;
            if (!(next > low && next < high) || turn % 8 == 7)
                next = (low + high) / 2;
        }
        return low;
    }

    void fill(const Crossing& crossing, Allocation& out) {
        const auto members = groups_.members(crossing.resource);
        find_stops(crossing);
        groups_.set_full(crossing.resource);
        groups_.undo();
        for (std::size_t i = 0; i < members.size(); ++i) {
            const std::uint32_t g = members[i].group;
            if (!groups_.rises_on(members[i].pair))
                continue;
            groups_.raise(g, stops_[i].at(crossing.part));
            groups_.stop_at(members[i], out);
            if (!lags_[g])
                lagging_.push_back(g);
            lags_[g] = 1;
            try_again(g);
            groups_.undo();
        }
    }

    struct Stop {
        double low;
        double high;
        [[nodiscard]] double at(double part) const { return part == 0 ? low : low + part * (high - low); }
    };

    GroupLevels groups_;
    QuantumTree quanta_;
    Leftover leftover_;
    ShareTree tree_;
    std::vector<double> weights_;
    std::vector<std::uint8_t> takes_part_;
    std::vector<std::uint32_t> left_out_;  // flows that get what is left in the end
    std::span<const double> capacity_;
    std::vector<std::uint32_t> group_of_flow_;
    std::vector<double> group_weight_;
    double share_ = 0;   // L: the share per weight of all who do not lag
    double target_ = 0;  // where this step wants to be
    double rise_ = 0;
    std::vector<std::uint32_t> live_;
    std::vector<std::uint32_t> lagging_;  // below L until they have caught up
    std::vector<std::uint8_t> lags_;
    std::vector<double> aim_;      // per group: its level at the target
    std::vector<double> tried_;    // per pair: its use there
    std::vector<double> settled_;  // per resource: used by groups where nobody rises any more
    std::vector<double> used_;     // per resource, at the target
    std::vector<std::uint32_t> over_;
    std::vector<std::uint8_t> over_here_;
    std::vector<Crossing> crossings_;  // of those, where `known_`: nobody there has stopped since
    std::vector<std::uint8_t> known_;
    std::vector<Stop> stops_;
};

}  // namespace

std::unique_ptr<Mechanism> make_hdrf() {
    return std::make_unique<Hdrf>();
}

}  // namespace weir::alloc
