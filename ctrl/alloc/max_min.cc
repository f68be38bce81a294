// max_min.cc - every resource for itself: weighted max-min with demand caps, min(demand, weight * level), the
// level such that the resource is full. What a flow gets of one resource says nothing about the others, so
// tokens are stranded where it cannot use them: the single-resource mechanism that DRF is compared with.
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
            if (columns_[j].wanted > problem.capacity[j])
                share_out(problem, j, out);
        out.trim(problem);
    }

  private:
    struct Entry {
        double wanted;
        double weight;
        std::uint32_t flow;
        std::uint32_t place;  // among the demand's entries
    };
    struct Column {
        double wanted = 0;
        std::uint32_t count = 0;
        std::uint32_t begin = 0;
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
        for (Column& column : columns_) {
            column.begin = column.end = entries;
            entries += column.count;
        }
        entries_.resize(entries);
        for (std::uint32_t flow = 0; flow < demand.flows(); ++flow)
            for (std::uint32_t k = demand.begin(flow); k < demand.begin(flow + 1); ++k)
                entries_[columns_[resource[k]].end++] = {wanted[k], problem.weights[flow], flow, k};
    }

    void share_out(const Problem& problem, std::uint32_t resource, Allocation& out) {
        Entry* const begin = entries_.data() + columns_[resource].begin;
        Entry* const end = entries_.data() + columns_[resource].end;
        Entry* const weightless = std::partition(begin, end, [](const Entry& e) { return e.weight > 0; });
        const double left = pour(begin, weightless, problem.capacity[resource], out);
        for (Entry* entry = weightless; entry != end; ++entry)
            entry->weight = 1;
        pour(weightless, end, left, out);
        for (const Entry* entry = begin; entry != end; ++entry) {
            const double tokens = out.tokens[entry->place];
            if (tokens >= entry->wanted || tokens / entry->wanted >= out.fill[entry->flow])
                continue;
            out.fill[entry->flow] = tokens / entry->wanted;
            out.bottleneck[entry->flow] = resource;
        }
    }

    /// Shares `capacity` among these; Newton's steps from below end at the level. @return what is left
    static double pour(const Entry* begin, const Entry* end, double capacity, Allocation& out) {
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
            out.tokens[entry->place] = std::min(entry->wanted, level * entry->weight);
            capacity -= out.tokens[entry->place];
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
