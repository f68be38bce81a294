// price.cc - Table 2 of SoftBW, line by line.
#include "ctrl/billing/price.h"

#include <algorithm>

namespace weir::billing {
namespace {

/// Never above that of a dynamic guarantee: more than the link may be measured for a moment, or between VMs
/// of one host.
double fair_price(const Prices& prices, double rate) {
    return std::min(1.0, rate / prices.link) * prices.beta * prices.p0;
}

}  // namespace

double unit_price(const Prices& prices, GuaranteeKind guarantee, double promised) {
    const double strict = (1 + promised / prices.link) * prices.p0;
    switch (guarantee) {
        case GuaranteeKind::kStrict:
            return strict;
        case GuaranteeKind::kDynamic:
            return prices.beta * strict;
        case GuaranteeKind::kFairness:
        case GuaranteeKind::kBestEffort:
            break;
    }
    return 0;
}

Charge charge_of(const Prices& prices, const Period& period) {
    if (period.guarantee == GuaranteeKind::kBestEffort)
        return {};
    const double fair = fair_price(prices, period.delivered);
    if (period.guarantee == GuaranteeKind::kFairness)
        return {.money = period.delivered * fair, .fulfillment = {}};
    const double kept = std::min(period.delivered, period.promised);
    Charge charge{.money = kept * unit_price(prices, period.guarantee, period.promised) +
                           (period.delivered - kept) * fair,
                  .fulfillment = {}};
    if (period.promised > 0)
        charge.fulfillment = period.delivered / period.promised;
    return charge;
}

}  // namespace weir::billing
