// request_mix.cc - half of the sum of differences: what moved from one kind to another counts once.
#include "ctrl/estimate/request_mix.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace weir::estimate {

double RequestMix::moved(std::span<const double> tokens) const {
    const double total = std::accumulate(tokens.begin(), tokens.end(), 0.0);
    if (total <= 0 || parts_.empty())
        return 0;
    double moved = 0;
    for (std::size_t i = 0; i < std::max(tokens.size(), parts_.size()); ++i) {
        const double now = i < tokens.size() ? tokens[i] / total : 0;
        moved += std::abs(now - (i < parts_.size() ? parts_[i] : 0));
    }
    return moved / 2;
}

void RequestMix::remember(std::span<const double> tokens) {
    const double total = std::accumulate(tokens.begin(), tokens.end(), 0.0);
    if (total <= 0)
        return;
    parts_.assign(tokens.begin(), tokens.end());
    for (double& part : parts_)
        part /= total;
}

}  // namespace weir::estimate
