// samples.cc - percentiles as JSON.
#include "bench/sim/samples.h"

#include <nlohmann/json.hpp>

namespace weir::sim {

nlohmann::json Samples::to_json() {
    nlohmann::json quantiles = nlohmann::json::array();
    for (int percent = 0; percent <= 100 && !values_.empty(); ++percent)
        quantiles.push_back(percentile(percent / 100.0));
    return {{"count", count()},       {"mean", mean()},          {"p50", percentile(0.5)},
            {"p90", percentile(0.9)}, {"p99", percentile(0.99)}, {"p999", percentile(0.999)},
            {"max", percentile(1)},   {"quantiles", quantiles}};
}

}  // namespace weir::sim
