// price.cc - prices of Table 2.
#include "ctrl/billing/price.h"

#include <algorithm>

namespace weir::billing {
namespace {

/// Unit price of fair bandwidth. A rate beyond the link, measured for a moment or between VMs of one host,
/// costs no more than the link's.
double fair_price(const Prices& prices, double rate) {
    return std::min(1.0, rate / prices.link) * prices.beta * prices.p0;
}

}  // namespace

double unit_price(const Prices& prices, GuaranteeKind guarantee_kind, double promised) {
    const double strict = (1 + promised / prices.link) * prices.p0;
    switch (guarantee_kind) {
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
    if (period.guarantee_kind == GuaranteeKind::kBestEffort)
        return {};
    const double fair = fair_price(prices, period.delivered);
    if (period.guarantee_kind == GuaranteeKind::kFairness)
        return {.money = period.delivered * fair, .fulfillment = {}};
    const double kept = std::min(period.delivered, period.promised);
    Charge charge{.money = kept * unit_price(prices, period.guarantee_kind, period.promised) +
                           (period.delivered - kept) * fair,
                  .fulfillment = {}};
    if (period.promised > 0)
        charge.fulfillment = period.delivered / period.promised;
    return charge;
}

}  // namespace weir::billing
