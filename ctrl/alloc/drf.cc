// drf.cc - allocation mechanism: dominant resource fairness with weights and demand caps, exact.
// Source: DRF (NSDI'11); Pulsar 4.1; docs/algorithms.md 8.1
// Units: tokens in the control interval; a level is a dominant share per weight. Threads: one owner.
//
// The dominant share of a flow's demand, delta, is the largest share that the demand has of any resource. All
// flows rise together: at level t a flow of weight w has fill w t / delta. A flow stops when its fill is 1 or
// when one of its resources is full.
//
// Example: resources A, B, C of 100 tokens each. f1 wants (60, 20, 0), f2 (40, 80, 0) with weight 2,
// f3 (0, 50, 50), f4 (0, 0, 80), f5 (0, 10, 0). At level 0.10 f5 has its demand. At 0.27 B is full: f1, f2
// and f3 stop at fills 0.45, 0.675 and 0.54. At 0.73 C is full: f4 stops at 0.9125. A has 46 tokens left.
//
// Every resource thus has a level at which it fills, and a heap orders resources by a lower bound of it. The
// solver takes the least bound and adds up that resource's column again: stopped flows count with their
// tokens, rising flows with their slopes, and (capacity - used) / slope is the new bound. Flows that stop
// only make use grow slower, so a bound never exceeds the true level, and a bound that stays the same is the
// true level: the resource is full and its rising flows stop. No stop has to be announced to other columns. A
// resource whose demands add up to no more than its capacity never fills and has no column.
#include <algorithm>

#include "ctrl/alloc/registry.h"

namespace weir::alloc {
namespace {

/// Binary heap of resources by the lower bound of the level at which they fill, the least on top. Its top is
/// raised in place, which is most of the solver's work.
class LevelHeap {
  public:
    struct Item {
        double level;
        std::uint32_t resource;
    };

    void clear() { items_.clear(); }
    void add(Item item) { items_.push_back(item); }
    /// Orders the heap, after the last add().
    void build() { std::make_heap(items_.begin(), items_.end(), is_later); }

    [[nodiscard]] bool empty() const { return items_.empty(); }
    [[nodiscard]] const Item& top() const { return items_.front(); }
    void pop() {
        const Item last = items_.back();
        items_.pop_back();
        if (!items_.empty())
            sink(last);
    }
    /// @param level at least the top's
    void raise_top(double level) { sink({level, items_.front().resource}); }

  private:
    // Equal levels by number, so that the answer depends on the problem alone.
    static bool is_later(const Item& a, const Item& b) {
        return a.level > b.level || (a.level == b.level && a.resource > b.resource);
    }

    void sink(Item item) {
        const std::size_t size = items_.size();
        std::size_t at = 0;
        for (std::size_t child = 1; child < size; child = 2 * at + 1) {
            if (child + 1 < size && is_later(items_[child], items_[child + 1]))
                ++child;
            if (!is_later(item, items_[child]))
                break;
            items_[at] = items_[child];
            at = child;
        }
        items_[at] = item;
    }

    std::vector<Item> items_;
};

class Drf final : public Mechanism {
  public:
    /// A second pass divides the rest of the capacities among flows of weight 0.
    void allocate(const Problem& problem, Allocation& out) override {
        out.reset(problem);
        stopped_.assign(problem.demand.flows(), 0);
        left_.assign(problem.capacity.begin(), problem.capacity.end());
        const bool has_weightless = set_speeds(problem, out, true);
        rise(problem, out);
        if (has_weightless) {
            out.settle(problem);
            for (std::size_t j = 0; j < left_.size(); ++j)
                left_[j] = std::max(0.0, problem.capacity[j] - out.used[j]);
            set_speeds(problem, out, false);
            rise(problem, out);
        }
        out.settle(problem);
    }

  private:
    using Row = DemandMatrix::Row;
    struct Entry {
        double tokens;
        double speed;  // fill per level
        std::uint32_t flow;
    };
    struct Column {
        double tokens = 0;  // at first the sum of demands, then the use by stopped flows
        double slope = 0;   // tokens per level, of all flows
        std::uint32_t count = 0;
        std::uint32_t begin = kNone;  // among entries_; kNone: the resource cannot fill
        std::uint32_t end = kNone;
    };

    /// Sets the speed of every flow, and the sums of every column.
    /// @param weighted the pass of the flows with a weight; the other pass counts weight 0 as 1
    /// @return whether flows wait for the other pass
    bool set_speeds(const Problem& problem, Allocation& out, bool weighted) {
        const DemandMatrix& demand = problem.demand;
        const auto resource = demand.resource();
        const auto wanted = demand.tokens();
        const auto base = problem.share_base.empty() ? problem.capacity : problem.share_base;
        columns_.assign(left_.size(), {});
        inverse_base_.resize(left_.size());
        for (std::size_t j = 0; j < left_.size(); ++j)
            inverse_base_[j] = left_[j] < kTokensLeast ? kInfinite : 1 / base[j];
        speed_.resize(demand.flows());
        bool others = false;
        for (std::uint32_t flow = 0; flow < demand.flows(); ++flow) {
            const double weight = weighted ? problem.weights[flow] : 1;
            const Row row = demand.row(flow);
            speed_[flow] = 0;
            if (row.empty() || (problem.weights[flow] > 0) != weighted) {
                others |= !row.empty() && weighted;
                out.fill[flow] = row.empty() || !weighted ? out.fill[flow] : 0;
                continue;
            }
            const double delta = dominant_share(resource, wanted, row);
            if (delta == kInfinite) {
                exclude(flow, resource, row, out);
                continue;
            }
            out.fill[flow] = 1;
            const double speed = weight / delta;
            speed_[flow] = speed;
            for (const std::uint32_t k : row) {
                Column& column = columns_[resource[k]];
                column.tokens += wanted[k];
                column.slope += wanted[k] * speed;
                ++column.count;
            }
        }
        return others;
    }

    /// @return infinite when one of the resources has nothing to give
    [[nodiscard]] double dominant_share(std::span<const std::uint32_t> resource,
                                        std::span<const double> wanted, Row row) const {
        double delta = 0;
        for (const std::uint32_t k : row)
            delta = std::max(delta, wanted[k] * inverse_base_[resource[k]]);
        return delta > 0 ? delta : kTokensLeast;  // all its resources have an infinite share base
    }

    /// A flow that needs an empty resource gets nothing and slows no other flow down.
    void exclude(std::uint32_t flow, std::span<const std::uint32_t> resource, Row row, Allocation& out) {
        out.fill[flow] = 0;
        const auto empty =
            std::ranges::find_if(row, [&](auto k) { return inverse_base_[resource[k]] == kInfinite; });
        out.bottleneck[flow] = resource[*empty];
    }

    void rise(const Problem& problem, Allocation& out) {
        build_columns(problem);
        heap_.build();
        while (!heap_.empty())
            visit(heap_.top().resource, heap_.top().level, out);
    }

    /// Builds the columns of the resources that can fill, and puts their first bounds into the heap.
    void build_columns(const Problem& problem) {
        const DemandMatrix& demand = problem.demand;
        const auto resource = demand.resource();
        const auto wanted = demand.tokens();
        heap_.clear();
        std::uint32_t entries = 0;
        for (std::uint32_t j = 0; j < columns_.size(); ++j) {
            Column& column = columns_[j];
            if (column.tokens <= left_[j])
                continue;
            heap_.add({left_[j] / column.slope, j});
            column.begin = column.end = entries;
            entries += column.count;
            column.tokens = 0;
        }
        if (entries_.size() < entries)
            entries_.resize(entries);
        for (std::uint32_t flow = 0; flow < demand.flows(); ++flow) {
            if (speed_[flow] == 0)
                continue;
            for (const std::uint32_t k : demand.row(flow)) {
                Column& column = columns_[resource[k]];
                if (column.begin != kNone)
                    entries_[column.end++] = {wanted[k], speed_[flow], flow};
            }
        }
    }

    /// Raises the bound of the top resource, or fills the resource. Every resource that fills below `level`
    /// has filled before, so its flows have stopped.
    void visit(std::uint32_t resource, double level, Allocation& out) {
        Column& column = columns_[resource];
        Entry* const begin = entries_.data() + column.begin;
        Entry* rising_end = begin;
        double used = column.tokens;
        double slope = 0;
        for (Entry* entry = begin; entry != entries_.data() + column.end; ++entry) {
            if (stopped_[entry->flow]) {
                used += entry->tokens * out.fill[entry->flow];
            } else if (level * entry->speed >= 1) {
                used += entry->tokens;
            } else {
                slope += entry->tokens * entry->speed;
                *rising_end++ = *entry;
            }
        }
        column.tokens = used;
        column.end = static_cast<std::uint32_t>(rising_end - entries_.data());
        if (rising_end == begin) {
            heap_.pop();
            return;
        }
        const double next = (left_[resource] - used) / slope;
        if (next > level * kSame) {
            heap_.raise_top(next);
            return;
        }
        for (const Entry* entry = begin; entry != rising_end; ++entry) {
            stopped_[entry->flow] = 1;
            out.fill[entry->flow] = level * entry->speed;
            out.bottleneck[entry->flow] = resource;
        }
        heap_.pop();
    }

    std::vector<double> left_;           // per resource: tokens that this pass may give
    std::vector<double> inverse_base_;   // per resource: 1 / share base; infinite when it is empty
    std::vector<double> speed_;          // per flow: fill per level; 0: not in this pass
    std::vector<std::uint8_t> stopped_;  // per flow: below its demand, at the fill in the answer
    std::vector<Column> columns_;
    std::vector<Entry> entries_;
    LevelHeap heap_;
};

}  // namespace

std::unique_ptr<Mechanism> make_drf() {
    return std::make_unique<Drf>();
}

}  // namespace weir::alloc
