// drf.cc - dominant resource fairness with demand caps and weights, exact (NSDI'11; Pulsar 4.1).
//
// All flows rise at one level t: x = w t / delta, delta the largest share that the whole demand has of a
// resource. A flow stops at its demand, or where the first of its resources is full; so each resource has a
// level at which it fills. The solver pops resources from a heap by a lower bound of that level and looks
// again at the column of the one on top: who has stopped by then stays as used, the others' slopes give the
// next bound. The use of a resource is concave in t and stops only make it smaller, so (C - used) / slope
// never overshoots, and a bound that stands is the level itself. Nobody tells anybody of a stop: a column
// finds out when its turn comes. A resource whose demands add up to less than its capacity never fills and
// has no column.
#include <algorithm>

#include "ctrl/alloc/level_heap.h"
#include "ctrl/alloc/registry.h"

namespace weir::alloc {
namespace {

class Drf final : public Mechanism {
  public:
    void allocate(const Problem& problem, Allocation& out) override {
        out.reset(problem);
        stopped_.assign(problem.demand.flows(), 0);
        left_.assign(problem.capacity.begin(), problem.capacity.end());
        const bool without_weight = measure(problem, out, true);
        rise(problem, out);
        if (without_weight) {
            out.settle(problem);
            for (std::size_t j = 0; j < left_.size(); ++j)
                left_[j] = std::max(0.0, problem.capacity[j] - out.used[j]);
            measure(problem, out, false);
            rise(problem, out);
        }
        out.settle(problem);
    }

  private:
    struct Entry {
        double tokens;
        double speed;  // x = speed t
        std::uint32_t flow;
    };
    struct Column {
        double wanted = 0;  // then: used by those who have stopped
        double slope = 0;
        std::uint32_t count = 0;
        std::uint32_t begin = kNone;
        std::uint32_t end = kNone;
    };

    /// Every flow's speed and every resource's first bound.
    /// @param weighted the flows with a weight; else those without, with weight 1
    /// @return whether there are flows without
    bool measure(const Problem& problem, Allocation& out, bool weighted) {
        const DemandMatrix& demand = problem.demand;
        const auto resource = demand.resource();
        const auto wanted = demand.tokens();
        const auto base = problem.share_base.empty() ? problem.capacity : problem.share_base;
        columns_.assign(left_.size(), {});
        inverse_.resize(left_.size());
        for (std::size_t j = 0; j < left_.size(); ++j)
            inverse_[j] = left_[j] < kTokensLeast ? kInfinite : 1 / base[j];
        speed_.resize(demand.flows());
        bool others = false;
        for (std::uint32_t flow = 0; flow < demand.flows(); ++flow) {
            const double weight = weighted ? problem.weights[flow] : 1;
            const std::uint32_t begin = demand.begin(flow);
            const std::uint32_t end = demand.begin(flow + 1);
            speed_[flow] = 0;
            if (begin == end || (problem.weights[flow] > 0) != weighted) {
                others |= begin != end && weighted;
                out.fill[flow] = begin == end || !weighted ? out.fill[flow] : 0;
                continue;
            }
            const double delta = share(resource, wanted, begin, end);
            if (delta == kInfinite) {
                stop_at_nothing(flow, resource, begin, end, out);
                continue;
            }
            out.fill[flow] = 1;
            const double speed = weight / delta;
            speed_[flow] = speed;
            for (std::uint32_t k = begin; k < end; ++k) {
                Column& column = columns_[resource[k]];
                column.wanted += wanted[k];
                column.slope += wanted[k] * speed;
                ++column.count;
            }
        }
        return others;
    }

    [[nodiscard]] double share(std::span<const std::uint32_t> resource, std::span<const double> wanted,
                               std::uint32_t begin, std::uint32_t end) const {
        double delta = 0;
        for (std::uint32_t k = begin; k < end; ++k)
            delta = std::max(delta, wanted[k] * inverse_[resource[k]]);
        return delta > 0 ? delta : kTokensLeast;  // only resources that do not count
    }

    void stop_at_nothing(std::uint32_t flow, std::span<const std::uint32_t> resource, std::uint32_t begin,
                         std::uint32_t end, Allocation& out) {
        out.fill[flow] = 0;
        const auto empty = std::find_if(resource.begin() + begin, resource.begin() + end,
                                        [this](auto j) { return inverse_[j] == kInfinite; });
        out.bottleneck[flow] = *empty;
    }

    void rise(const Problem& problem, Allocation& out) {
        build_columns(problem);
        heap_.build();
        while (!heap_.empty())
            look_at(heap_.top().resource, heap_.top().level, out);
    }

    /// The columns of the resources that can fill, and their first bounds.
    void build_columns(const Problem& problem) {
        const DemandMatrix& demand = problem.demand;
        const auto resource = demand.resource();
        const auto wanted = demand.tokens();
        heap_.clear();
        std::uint32_t entries = 0;
        for (std::uint32_t j = 0; j < columns_.size(); ++j) {
            Column& column = columns_[j];
            if (column.wanted <= left_[j])
                continue;
            heap_.add({left_[j] / column.slope, j});
            column.begin = column.end = entries;
            entries += column.count;
            column.wanted = 0;
        }
        if (entries_.size() < entries)
            entries_.resize(entries);
        for (std::uint32_t flow = 0; flow < demand.flows(); ++flow) {
            if (speed_[flow] == 0)
                continue;
            for (std::uint32_t k = demand.begin(flow); k < demand.begin(flow + 1); ++k) {
                Column& column = columns_[resource[k]];
                if (column.begin != kNone)
                    entries_[column.end++] = {wanted[k], speed_[flow], flow};
            }
        }
    }

    /// All resources that fill below `level` have filled.
    void look_at(std::uint32_t resource, double level, Allocation& out) {
        Column& column = columns_[resource];
        Entry* const begin = entries_.data() + column.begin;
        Entry* keep = begin;
        double used = column.wanted;
        double slope = 0;
        for (Entry* entry = begin; entry != entries_.data() + column.end; ++entry) {
            if (stopped_[entry->flow]) {
                used += entry->tokens * out.fill[entry->flow];
            } else if (level * entry->speed >= 1) {
                used += entry->tokens;
            } else {
                slope += entry->tokens * entry->speed;
                *keep++ = *entry;
            }
        }
        column.wanted = used;
        column.end = static_cast<std::uint32_t>(keep - entries_.data());
        if (keep == begin) {
            heap_.pop();
            return;
        }
        const double next = (left_[resource] - used) / slope;
        if (next > level * kSame) {
            heap_.replace_top(next);
            return;
        }
        for (const Entry* entry = begin; entry != keep; ++entry) {
            stopped_[entry->flow] = 1;
            out.fill[entry->flow] = level * entry->speed;
            out.bottleneck[entry->flow] = resource;
        }
        heap_.pop();
    }

    std::vector<double> left_;  // what the pass may give out
    std::vector<double> inverse_;
    std::vector<double> speed_;          // per flow; 0: takes no part
    std::vector<std::uint8_t> stopped_;  // per flow: below its demand, `fill` says where
    std::vector<Column> columns_;
    std::vector<Entry> entries_;
    LevelHeap heap_;
};

}  // namespace

std::unique_ptr<Mechanism> make_drf() {
    return std::make_unique<Drf>();
}

}  // namespace weir::alloc
