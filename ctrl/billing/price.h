// price.h - charge for a vNIC's bandwidth in one billing period, and its fulfillment.
// Source: SoftBW 3.2, 4.2, 4.3; docs/algorithms.md 6.3
// Units: rates in any one unit, money in that of p0. Threads: any (pure).
//
// A strict guarantee of B costs (1 + B / link) * p0 per unit delivered: the price rises with B, so a
// guarantee beyond the need never pays. A dynamic one costs beta times that. Fair bandwidth, delivered
// without a guarantee at rate r, costs r / link * beta * p0 per unit, at most beta * p0. Best effort is free.
// Delivery beyond the guarantee is priced as fair bandwidth at the unit price of the vNIC's total rate.
// Pricing the excess by its own rate would make a guarantee that is declared too small dearer than an honest
// one when beta is above 1/2.
//
// Example: p0 1, beta 0.5, a link of 1000; a strict guarantee of 400, 500 delivered. 400 units cost 1.4 each,
// 100 units 0.25 each: 585. The fulfillment is 1.25.
#pragma once

#include <optional>

#include "common/guarantee.h"

namespace weir::billing {

using weir::GuaranteeKind;

struct Prices {
    double p0 = 1;    ///< of one unit of rate over one period
    double beta = 1;  ///< price of dynamic and fair bandwidth over that of strict, 0 to 1
    double link = 1;  ///< physical rate, above 0
};

/// One vNIC over one period.
struct Period {
    GuaranteeKind guarantee_kind = GuaranteeKind::kBestEffort;
    double promised = 0;   ///< B, or S / T; read for strict and dynamic guarantees only
    double delivered = 0;  ///< r: mean rate of the period
};

struct Charge {
    double money = 0;
    std::optional<double> fulfillment;  ///< r / B, may exceed 1; none without a guaranteed rate
};

/// Price of one unit within a guarantee of `promised`; 0 for kinds without a guaranteed rate.
[[nodiscard]] double unit_price(const Prices& prices, GuaranteeKind guarantee_kind, double promised);

[[nodiscard]] Charge charge_of(const Prices& prices, const Period& period);

}  // namespace weir::billing
