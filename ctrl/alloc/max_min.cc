// max_min.cc - allocation mechanism: weighted max-min fairness of each resource by itself.
// Source: Pulsar 4.1; docs/algorithms.md 8.3
// Units: tokens in the control interval; a level is tokens per weight. Threads: one owner.
//
// On a resource that is wanted beyond its capacity each flow gets min(demand, weight * level), with the level
// at which the resource is full. A flow may so get much of one resource and little of another; the tokens
// that it cannot use without the other are stranded. This is the single-resource mechanism that DRF is
// compared with.
//
// Example: 12 tokens for flows that want 2, 8 and 20, the last with weight 2. The level is 10/3: the flows
// get 2, 3.33 and 6.67.
#include <algorithm>

#include "ctrl/alloc/registry.h"

namespace weir::alloc {
namespace {

class MaxMin final : public Mechanism {
  public:
    void allocate(const Problem& problem, Allocation& out) override {
        out.reset(problem);
        build_columns(problem);
        const auto wanted = problem.demand.tokens();
        std::copy(wanted.begin(), wanted.end(), out.tokens.begin());
        for (std::uint32_t j = 0; j < columns_.size(); ++j)
            if (columns_[j].begin != kNone)
                divide(problem, j, out);
        out.trim(problem);
    }

  private:
    struct Entry {
        double wanted;
        double weight;
        std::uint32_t flow;
        std::uint32_t number;  // among the demand's entries
    };
    struct Column {
        double wanted = 0;
        std::uint32_t count = 0;
        std::uint32_t begin = kNone;  // among entries_; kNone: all demands fit
        std::uint32_t end = 0;
    };

    void build_columns(const Problem& problem) {
        const DemandMatrix& demand = problem.demand;
        const auto resource = demand.resource();
        const auto wanted = demand.tokens();
        columns_.assign(problem.capacity.size(), {});
        for (std::size_t k = 0; k < resource.size(); ++k) {
            columns_[resource[k]].wanted += wanted[k];
            ++columns_[resource[k]].count;
        }
        std::uint32_t entries = 0;
        for (std::size_t j = 0; j < columns_.size(); ++j) {
            Column& column = columns_[j];
            if (column.wanted <= problem.capacity[j])
                continue;
            column.begin = column.end = entries;
            entries += column.count;
        }
        entries_.resize(entries);
        for (std::uint32_t flow = 0; flow < demand.flows(); ++flow) {
            const double weight = problem.weights[flow];
            for (const std::uint32_t k : demand.row(flow)) {
                Column& column = columns_[resource[k]];
                if (column.begin != kNone)
                    entries_[column.end++] = {wanted[k], weight, flow, k};
            }
        }
    }

    void divide(const Problem& problem, std::uint32_t resource, Allocation& out) {
        Entry* const begin = entries_.data() + columns_[resource].begin;
        Entry* const end = entries_.data() + columns_[resource].end;
        Entry* const weightless = std::partition(begin, end, [](const Entry& e) { return e.weight > 0; });
        const double left = fill_to_level(begin, weightless, problem.capacity[resource], out);
        for (Entry* entry = weightless; entry != end; ++entry)
            entry->weight = 1;
        fill_to_level(weightless, end, left, out);
        for (const Entry* entry = begin; entry != end; ++entry) {
            const double tokens = out.tokens[entry->number];
            if (tokens >= entry->wanted || tokens / entry->wanted >= out.fill[entry->flow])
                continue;
            out.fill[entry->flow] = tokens / entry->wanted;
            out.bottleneck[entry->flow] = resource;
        }
    }

    /// Divides `capacity` among these entries. Use is concave in the level, so Newton's steps from level 0
    /// rise to the level and never pass it. @return the tokens that are left
    static double fill_to_level(const Entry* begin, const Entry* end, double capacity, Allocation& out) {
        double level = 0;
        for (;;) {
            double used = 0;
            double slope = 0;
            for (const Entry* entry = begin; entry != end; ++entry) {
                const bool capped = entry->wanted <= level * entry->weight;
                used += capped ? entry->wanted : 0;
                slope += capped ? 0 : entry->weight;
            }
            if (slope == 0)
                break;
            const double next = std::max(0.0, capacity - used) / slope;
            if (next <= level * kSame)
                break;
            level = next;
        }
        for (const Entry* entry = begin; entry != end; ++entry) {
            out.tokens[entry->number] = std::min(entry->wanted, level * entry->weight);
            capacity -= out.tokens[entry->number];
        }
        return capacity;
    }

    std::vector<Column> columns_;
    std::vector<Entry> entries_;
};

}  // namespace

std::unique_ptr<Mechanism> make_max_min() {
    return std::make_unique<MaxMin>();
}

}  // namespace weir::alloc
