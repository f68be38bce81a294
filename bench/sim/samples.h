// samples.h - measured values and their exact percentiles.
// Threads: one owner.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

namespace weir::sim {

/// All values are kept: percentiles are compared to within a few percent, which no histogram's buckets allow.
class Samples {
  public:
    void add(std::uint64_t value) {
        sorted_ = false;
        values_.push_back(value);
    }
    [[nodiscard]] std::size_t count() const { return values_.size(); }
    /// The smallest value that `fraction` (0..1) of all values do not exceed; 0 if there are none.
    [[nodiscard]] std::uint64_t percentile(double fraction) {
        if (values_.empty())
            return 0;
        if (!sorted_)
            std::sort(values_.begin(), values_.end());
        sorted_ = true;
        const double rank = std::ceil(fraction * static_cast<double>(values_.size()));
        return values_[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
    }
    [[nodiscard]] std::uint64_t mean() const {
        std::uint64_t sum = 0;
        for (const std::uint64_t value : values_)
            sum += value;
        return values_.empty() ? 0 : sum / values_.size();
    }
    /// {count, mean, p50, p90, p99, p999, max, quantiles: 0 %, 1 % .. 100 %}
    [[nodiscard]] nlohmann::json to_json() {
        nlohmann::json quantiles = nlohmann::json::array();
        for (int percent = 0; percent <= 100 && !values_.empty(); ++percent)
            quantiles.push_back(percentile(percent / 100.0));
        return {{"count", count()},       {"mean", mean()},          {"p50", percentile(0.5)},
                {"p90", percentile(0.9)}, {"p99", percentile(0.99)}, {"p999", percentile(0.999)},
                {"max", percentile(1)},   {"quantiles", quantiles}};
    }

  private:
    std::vector<std::uint64_t> values_;
    bool sorted_ = true;
};

}  // namespace weir::sim
