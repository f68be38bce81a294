// measured_use.cc - histograms, and their convolution on a grid over the link.
#include "ctrl/billing/measured_use.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace weir::billing {
namespace {

/// Cells between nothing and all of the link.
constexpr std::size_t kCells = 1024;
/// Less than that of a promise is nothing.
constexpr double kNothing = 1e-3;
/// Of a cell: what fills the link exactly is not beyond it.
constexpr double kRounding = 1e-6;

/// How likely each sum is, in cells of the link; what is beyond it is in `over`.
struct Sum {
    std::vector<double> at = std::vector<double>(kCells + 1);
    double over = 0;

    /// What `before` is when so many cells are added, with this probability: between two cells, so that the
    /// mean stays what it is.
    void add(const Sum& before, double cells, double probability) {
        const double whole = std::min(std::floor(cells + kRounding), static_cast<double>(kCells) + 1);
        const double above = std::max(0.0, std::min(cells - whole, 1.0)) * probability;
        const double below = probability - above;
        const auto shift = static_cast<std::size_t>(whole);
        for (std::size_t cell = 0; cell + shift <= kCells; ++cell)
            at[cell + shift] += before.at[cell] * below;
        for (std::size_t cell = 0; cell + shift + 1 <= kCells; ++cell)
            at[cell + shift + 1] += before.at[cell] * above;
        for (std::size_t cell = kCells + 1 - std::min(shift, kCells + 1); cell <= kCells; ++cell)
            over += before.at[cell] * below;
        for (std::size_t cell = kCells - std::min(shift, kCells); cell <= kCells; ++cell)
            over += before.at[cell] * above;
    }
};

}  // namespace

MeasuredUse::MeasuredUse(const Bins& bins) : bins_(bins) {
    for (const double each : bins_)
        seconds_ += each;
}

void MeasuredUse::add(double used, double seconds) {
    const double width = static_cast<double>(kBins - 1);
    const std::size_t bin =
        used < kNothing ? 0 : std::min(kBins - 1, 1 + static_cast<std::size_t>(std::min(used, 1.0) * width));
    bins_[bin] += seconds;
    seconds_ += seconds;
    if (seconds_ <= kMost)
        return;
    for (double& each : bins_)
        each /= 2;
    seconds_ /= 2;
}

void MeasuredUse::add(const MeasuredUse& other) {
    for (std::size_t i = 0; i < kBins; ++i)
        bins_[i] += other.bins_[i];
    seconds_ += other.seconds_;
}

double failure_probability(double capacity, std::span<const PromisedUse> parts) {
    Sum sum;
    sum.at[0] = 1;
    for (const PromisedUse& part : parts) {
        Sum next;
        next.over = sum.over;
        for (std::size_t bin = 0; bin < MeasuredUse::kBins; ++bin) {
            const double likely = part.use->bins()[bin] / part.use->seconds();
            const double more = MeasuredUse::part_of(bin) * part.promised / capacity;
            if (likely > 0)
                next.add(sum, more * static_cast<double>(kCells), likely);
        }
        sum = std::move(next);
    }
    return std::min(sum.over, 1.0);
}

}  // namespace weir::billing
