// overcommit.cc - sum of eq. 2, from its largest term outwards.
#include "ctrl/billing/overcommit.h"

#include <algorithm>
#include <cmath>

namespace weir::billing {
namespace {

constexpr double kNegligible = 1e-18;  // of the sum: smaller terms do not change it
constexpr int kHalvings = 60;          // narrow an interval to the precision of a double

}  // namespace

double failure_probability(std::uint32_t vms, double utilisation, double ratio) {
    const double load = utilisation * ratio;
    if (load <= 0 || vms == 0)
        return 0;
    const double k = vms / load;
    if (!std::isfinite(k))
        return 0;
    // The terms k^j / j! rise until j = k and fall from there.
    const auto largest = static_cast<std::uint32_t>(std::min<double>(vms - 1, std::floor(k)));
    double log_term = -k;
    for (std::uint32_t j = 1; j <= largest; ++j)
        log_term += std::log(k / j);
    const double peak = std::exp(log_term);
    double sum = peak;
    double term = peak;
    for (std::uint32_t j = largest; j > 0 && term > kNegligible * sum; --j)
        sum += term *= j / k;
    term = peak;
    for (std::uint32_t j = largest + 1; j < vms && term > kNegligible * sum; ++j)
        sum += term *= k / j;
    return std::min(sum, 1.0);
}

double ratio_within(std::uint32_t vms, double utilisation, double bound, double ratio_max) {
    if (failure_probability(vms, utilisation, ratio_max) <= bound)
        return ratio_max;
    double low = 0;
    double high = ratio_max;
    for (int i = 0; i < kHalvings; ++i) {
        const double middle = (low + high) / 2;
        (failure_probability(vms, utilisation, middle) <= bound ? low : high) = middle;
    }
    return low;
}

}  // namespace weir::billing
