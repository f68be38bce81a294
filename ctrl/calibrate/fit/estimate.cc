// estimate.cc - sorted values and the binomial distribution.
#include "ctrl/calibrate/fit/estimate.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace weir::calibrate {
namespace {

// That the true median lies between the values number `outside` and number n - 1 - `outside`: of n tosses of
// a coin neither heads nor tails come up `outside` times or less.
double confidence_of(std::size_t n, std::size_t outside) {
    double term = std::exp2(-static_cast<double>(n));
    double tail = term;
    for (std::size_t i = 1; i <= outside; ++i) {
        term *= static_cast<double>(n - i + 1) / static_cast<double>(i);
        tail += term;
    }
    return 1 - 2 * tail;
}

}  // namespace

Estimate estimate(std::vector<double> values) {
    assert(!values.empty());
    std::sort(values.begin(), values.end());
    const std::size_t n = values.size();
    std::size_t outside = 0;
    while (2 * (outside + 2) < n && confidence_of(n, outside + 1) >= kConfidence)
        ++outside;
    return {.median = (values[(n - 1) / 2] + values[n / 2]) / 2,
            .low = values[outside],
            .high = values[n - 1 - outside],
            .confidence = std::max(0.0, confidence_of(n, outside))};
}

}  // namespace weir::calibrate
