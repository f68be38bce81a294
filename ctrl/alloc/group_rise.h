// group_rise.h - all groups of flows rise together, one share per weight for all, until nobody can: H-DRF for
// two levels in the fluid limit of its quanta.
//
// What a group uses is a function of that share L (group_levels.h) until a resource fills. Then its flows
// there stop, its share falls because the full resource no longer counts, and the group lags: it rises to L
// before anybody else gets more, and may fill further resources on the way.
//
// L goes up in steps, small enough that few resources fill in one. Use at the step's end says which may; the
// first of them and its level are found by Newton's steps on its use, which only ask the groups on that
// resource. Resources that cannot fill are left out of this, but not of the shares. Threads: one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ctrl/alloc/group_levels.h"
#include "ctrl/alloc/mechanism.h"

namespace weir::alloc {

class GroupRise {
  public:
    /// @param groups as built: nobody has anything
    /// @param weights of the groups, positive
    /// Sets fill and bottleneck of every flow that stops below its demand. `problem` outlives the run.
    void run(const Problem& problem, GroupLevels& groups, std::span<const double> weights, Allocation& out);

  private:
    /// Where a resource fills: between two shares that are nearly the same. Where use jumps there (a tenant's
    /// largest share stands still while what else it has catches up), `part` of the jump is made when it
    /// fills.
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
    /// What the resource gives out when those who may rise are at `share`, less its capacity; and how that
    /// grows.
    struct Excess {
        double tokens;
        double slope;
        double steady_until;  // a share up to which nothing jumps
    };
    /// A group's levels at both ends of a crossing.
    struct Stop {
        double low;
        double high;
        [[nodiscard]] double at(double part) const { return part == 0 ? low : low + part * (high - low); }
    };

    void begin(const Problem& problem, std::span<const double> weights);
    /// L rises by up to `rise_`.
    void step(Allocation& out);
    /// Everybody's use at the target, and which resources would be over.
    void try_target();
    void note_if_over(std::uint32_t resource);
    /// The group's use at the target anew, after some of its flows have stopped.
    void try_again(std::uint32_t g);
    /// Fills the next resource. @return false when none fills up to the target
    bool next_fill(Allocation& out);
    /// Of those whose crossing is not known, who may fill before the first that is.
    void find_suspects(const Crossing& first);
    /// The first to fill up to the target: one of the suspects, or the first that is known.
    Crossing first_crossing(const Crossing& known);
    /// The first to fill while those who lag rise to the others.
    Crossing first_crossing_of_lagging();
    /// A resource that is over at some share, and where it may fill.
    struct Suspect {
        std::uint32_t resource;
        double guess;
    };
    /// Whether the resource is over when everybody is at `share`, or only those who lag and the others where
    /// they are; if so it is added.
    bool suspect(std::uint32_t resource, double share, bool everybody, std::vector<Suspect>& out);
    Excess excess_at(std::uint32_t resource, double share, bool everybody);
    /// Newton's steps between the ends, which are exact where nothing happens between, and a look at both
    /// sides of where something may jump; bisection when they leave.
    Crossing cross(const Suspect& suspect, double low, double high);
    /// Where the groups of the resource are at both ends.
    void find_stops(const Crossing& crossing);
    /// In a jump the groups go their ways from low to high in step: how far until the resource is full.
    double part_of_jump(std::uint32_t resource);
    void fill(const Crossing& crossing, Allocation& out);

    GroupLevels* groups_ = nullptr;
    std::span<const double> capacity_;
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
    std::vector<Crossing> crossings_;  // of those, where it is known: nobody there has stopped since
    std::vector<std::uint8_t> known_;
    std::vector<Suspect> suspects_;
    std::vector<Suspect> later_;
    std::vector<Suspect> again_;  // one of them, looked at anew
    std::vector<Stop> stops_;
};

}  // namespace weir::alloc
