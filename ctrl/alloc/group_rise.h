// group_rise.h - solver that raises all groups of flows together: H-DRF for two levels.
// Source: H-DRF (SoCC'13); docs/algorithms.md 8.2
// Units: tokens in the control interval; a share is a part of a resource. Threads: one owner.
//
// All groups rise at one share per weight, L; a group's use is a function of L (group_levels.h) until a
// resource fills. Then the group's flows on that resource stop. The full resource no longer counts in the
// group's share, so the share may fall below L: the group lags, and rises to L again before any other group
// gets more. On the way it may fill further resources.
//
// Example: 10 CPU, 10 GPU. G has flows that want 10 CPU (weight 1) and 10 GPU (weight 1/2), H has flows that
// want 10 CPU and 10 GPU. At L = 0.5 the CPU is full, 5 for each group. G has 2.5 GPU, a share of 0.25 now:
// it lags, and its GPU flow rises alone to 5. H has 5 GPU, so the GPU is full too.
//
// L grows in steps small enough that few resources fill in one. The use at the end of a step (the target)
// shows which resources may fill within it. The first of them, and its L, are found by Newton's steps on the
// resource's use, which involve only the groups on that resource. Resources that cannot fill take no part in
// this; they still count in the shares.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ctrl/alloc/group_levels.h"
#include "ctrl/alloc/mechanism.h"

namespace weir::alloc {

class GroupRise {
  public:
    /// Sets fill and bottleneck of every flow that stops below its demand.
    /// @param problem outlives the run
    /// @param groups just built
    /// @param weights of the groups, above 0
    void run(const Problem& problem, GroupLevels& groups, std::span<const double> weights, Allocation& out);

  private:
    /// Where a resource fills: between two shares that are nearly equal. Where use jumps in between (a
    /// group's largest share stands still while its other shares catch up), the resource is full after `part`
    /// of the jump.
    struct Crossing {
        std::uint32_t resource = kNone;
        double low = 0;
        double high = 0;
        double part = 0;

        [[nodiscard]] bool is_before(const Crossing& other) const {
            const bool same_point = low <= other.high && other.low <= high;
            return other.resource == kNone || (same_point ? part < other.part : low < other.low);
        }
    };
    /// Use of a resource beyond its capacity, with the rising groups at a share; and its slope.
    struct Excess {
        double tokens;
        double slope;
        double steady_until;  // the share up to which no group's use jumps
    };
    /// A group's levels at both ends of a crossing.
    struct Ends {
        double low;
        double high;
        [[nodiscard]] double at(double part) const { return part == 0 ? low : low + part * (high - low); }
    };
    /// A pair on which flows rise, or rose a moment ago.
    struct LivePair {
        double tried;  // its tokens at the target
        std::uint32_t number;
        std::uint32_t resource;
    };
    struct Pairs {
        std::uint32_t first = 0;
        std::uint32_t end = 0;
        std::uint32_t rising = 0;  // flows of the group when its pairs were last looked through
    };
    /// A resource that is over its capacity at some share, and a guess where it fills.
    struct Suspect {
        std::uint32_t resource;
        double guess;
    };
    /// The knowledge in this step about the crossing of a resource.
    enum class Knowledge : std::uint8_t {
        kUnknown,
        kLater,  ///< after the first crossing that was known
        kExact,
    };
    /// Which groups rise with the share; the others stay at L.
    enum class Rising { kAll, kLagging };

    void begin(const Problem& problem, std::span<const double> weights);
    /// Raises L by up to step_.
    void step(Allocation& out);
    [[nodiscard]] std::span<LivePair> live_pairs(std::uint32_t g) {
        return std::span(pairs_).subspan(pairs_of_[g].first, pairs_of_[g].end - pairs_of_[g].first);
    }
    /// Takes the pairs on which no flow rises out of the group's, when a quarter of its flows has stopped.
    void settle(std::uint32_t g);
    /// @return the part of the step in which about so many of over_ fill, if their use grows evenly
    double part_with_fills(std::size_t fills);
    /// Tries the target: sets aim_, tried_, used_ and over_.
    void try_target();
    void note_if_over(std::uint32_t resource);
    /// Tries the target again for a group of which flows have stopped.
    void retry_target(std::uint32_t g);
    /// Fills the next resource. @return false when no resource fills up to the target
    bool next_fill(Allocation& out);
    /// Sets suspects_ and later_: the resources over their capacity whose crossing is not known.
    void find_suspects(const Crossing& first);
    /// @param known the first of the crossings that are known
    /// @return the first crossing up to the target; its resource is kNone when there is none
    Crossing first_crossing(const Crossing& known);
    /// The first crossing while the lagging groups rise to L; its resource is kNone when there is none.
    Crossing first_crossing_of_lagging();
    /// The resource, if it is over its capacity at `share`.
    std::optional<Suspect> suspect_at(std::uint32_t resource, double share, Rising rising);
    Excess excess_at(std::uint32_t resource, double share, Rising rising);
    /// Finds the crossing of a resource between two shares.
    Crossing cross(const Suspect& suspect, double low, double high);
    /// Sets ends_ of the groups on the resource.
    void find_ends(const Crossing& crossing);
    /// In a jump all groups move from their low to their high ends in step. @return the part of the way after
    /// which the resource is full
    double part_of_jump(std::uint32_t resource);
    void fill(const Crossing& crossing, Allocation& out);
    [[nodiscard]] Rising rising() const { return lagging_.empty() ? Rising::kAll : Rising::kLagging; }

    GroupLevels* groups_ = nullptr;
    std::span<const double> capacity_;
    double share_ = 0;   // L: share per weight of all groups that do not lag
    double target_ = 0;  // L at the end of this step
    double step_ = 0;
    std::vector<std::uint32_t> live_;     // groups with flows that rise
    std::vector<std::uint32_t> lagging_;  // groups below L
    std::vector<std::uint8_t> lags_;      // per group
    std::vector<double> aim_;             // per group: its level at the target
    std::vector<LivePair> pairs_;
    std::vector<Pairs> pairs_of_;      // per group, in pairs_
    std::vector<double> settled_;      // per resource: tokens of the pairs that left pairs_
    std::vector<double> used_;         // per resource, at the target
    std::vector<double> started_;      // per resource, at the step's start
    std::vector<double> parts_;        // of the step, where resources may fill
    std::vector<std::uint32_t> over_;  // resources over their capacity at the target
    std::vector<std::uint8_t> is_over_;
    std::vector<Crossing> crossings_;  // per resource, where `knowledge_` is exact
    std::vector<Knowledge> knowledge_;
    std::vector<Suspect> suspects_;
    std::vector<Suspect> later_;
    std::vector<Ends> ends_;  // per member of a resource
};

}  // namespace weir::alloc
