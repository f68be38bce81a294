// use_table.cc - periods into histograms, histograms into a probability.
#include "ctrl/billing/use_table.h"

#include <algorithm>
#include <vector>

namespace weir::billing {
namespace {

double seconds(std::int64_t nanos) {
    return static_cast<double>(nanos) * 1e-9;
}

}  // namespace

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
    use.add(0, seconds(idle));
    if (length <= kPeriodMost)
        use.add(
            static_cast<double>(record.delivered) / seconds(length) / static_cast<double>(record.promised),
            seconds(length));
}

const MeasuredUse& UseTable::common() const {
    if (!common_) {
        common_.emplace();
        for (const auto& [vnic, use] : uses_)
            if (use.enough())
                common_->add(use);
    }
    return *common_;
}

std::optional<double> UseTable::failure(double need, double have, std::span<const Sharer> sharers) const {
    if (!common().enough())
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
        const bool known = own != uses_.end() && own->second.enough();
        parts.push_back({known ? &own->second : &common(), each.promised * std::min(1.0, need / promised)});
    }
    return failure_probability(have, parts);
}

}  // namespace weir::billing
