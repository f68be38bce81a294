// overcommit.cc - sum of eq. 2 from its largest term outwards; histograms and their convolution.
#include "ctrl/billing/overcommit.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace weir::billing {
namespace {

constexpr double kNegligible = 1e-18;  // of the sum: smaller terms do not change it
constexpr int kHalvings = 60;          // narrow an interval to the precision of a double

constexpr std::size_t kCells = 1024;  // from 0 to the whole link
constexpr double kNothing = 1e-3;     // of a promise: less counts as no use
constexpr double kRounding = 1e-6;    // of a cell: a sum that fills the link exactly is not beyond it

double to_seconds(std::int64_t nanos) {
    return static_cast<double>(nanos) * 1e-9;
}

/// Probability of each sum, in cells of the link; `over` is that of all sums beyond it.
struct Sum {
    std::vector<double> at = std::vector<double>(kCells + 1);
    double over = 0;

    /// Adds `before`, shifted by `cells`, with this probability. A shift between two cells is divided among
    /// both, so that the mean is exact.
    void add(const Sum& before, double cells, double probability) {
        const double whole = std::min(std::floor(cells + kRounding), static_cast<double>(kCells) + 1);
        const double above = std::max(0.0, std::min(cells - whole, 1.0)) * probability;
        const double below = probability - above;
        const auto shift = static_cast<std::size_t>(whole);
        for (const auto& [by, part] : {std::pair(shift, below), std::pair(shift + 1, above)}) {
            const std::size_t within = kCells + 1 - std::min(by, kCells + 1);  // cells that stay on the link
            for (std::size_t cell = 0; cell < within; ++cell)
                at[cell + by] += before.at[cell] * part;
            for (std::size_t cell = within; cell <= kCells; ++cell)
                over += before.at[cell] * part;
        }
    }
};

}  // namespace

double failure_probability(std::uint32_t vms, double utilization, double ratio) {
    const double load = utilization * ratio;
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

double ratio_within(std::uint32_t vms, double utilization, double bound, double ratio_max) {
    if (failure_probability(vms, utilization, ratio_max) <= bound)
        return ratio_max;
    double low = 0;
    double high = ratio_max;
    for (int i = 0; i < kHalvings; ++i) {
        const double middle = (low + high) / 2;
        (failure_probability(vms, utilization, middle) <= bound ? low : high) = middle;
    }
    return low;
}

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
    if (seconds_ <= kSecondsMost)
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

void UseTable::add(const Record& record, std::int64_t since) {
    const std::int64_t length = record.ended - record.began;
    if (length <= 0)
        return;
    const auto [last, first] = ended_.try_emplace(record.vnic, record.ended);
    if (!first && record.began < last->second)
        return;
    const std::int64_t idle =
        !first && last->second >= since ? std::min(record.began - last->second, kIdleMost) : 0;
    last->second = record.ended;
    if (record.promised == 0)
        return;
    common_.reset();
    MeasuredUse& use = uses_[record.vnic];
    use.add(0, to_seconds(idle));
    if (length <= kPeriodMost)
        use.add(
            static_cast<double>(record.delivered) / to_seconds(length) / static_cast<double>(record.promised),
            to_seconds(length));
}

const MeasuredUse& UseTable::common() const {
    if (!common_) {
        common_.emplace();
        for (const auto& [vnic, use] : uses_)
            if (use.is_enough())
                common_->add(use);
    }
    return *common_;
}

std::optional<double> UseTable::failure(double need, double have, std::span<const Sharer> sharers) const {
    if (!common().is_enough())
        return std::nullopt;
    double promised = 0;
    for (const Sharer& each : sharers)
        promised += each.promised;
    if (promised <= 0 || need <= have)
        return 0;
    if (have <= 0)
        return 1;
    std::vector<PromisedUse> parts;
    for (const Sharer& each : sharers) {
        const auto own = uses_.find(each.vnic);
        const bool is_known = own != uses_.end() && own->second.is_enough();
        parts.push_back(
            {is_known ? &own->second : &common(), each.promised * std::min(1.0, need / promised)});
    }
    return failure_probability(have, parts);
}

}  // namespace weir::billing
