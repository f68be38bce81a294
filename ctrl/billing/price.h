// price.h - what a vNIC's bandwidth costs in one billing period, and how much of its promise it got.
// Source: SoftBW 3.2, 4.2, 4.3 and Table 2. Units: rates in any one unit, money in that of p0.
// Threads: any (pure).
#pragma once

#include <optional>

#include "common/guarantee.h"

namespace weir::billing {

using weir::dynamic_rate;
using weir::GuaranteeKind;

struct Prices {
    double p0 = 1;    ///< for one unit of rate over one period
    double beta = 1;  ///< what dynamic and fair bandwidth cost against strict, 0 to 1
    double link = 1;  ///< C: the physical rate, above 0
};

/// One vNIC over one period.
struct Period {
    GuaranteeKind guarantee = GuaranteeKind::kBestEffort;
    double promised = 0;   ///< B, or S / T; not read without a guarantee of a rate
    double delivered = 0;  ///< r: the mean rate of the period
};

struct Charge {
    double money = 0;
    std::optional<double> fulfillment;  ///< r / B, above 1 too; none where nothing was promised
};

/// What B promised costs per unit: it rises with B, so that nobody promises himself more than he needs.
[[nodiscard]] double unit_price(const Prices& prices, GuaranteeKind guarantee, double promised);

/// Table 2. What was delivered beyond the promise costs as fair bandwidth does (4.3), whose unit price is
/// that of the vNIC's whole rate: were it that of the excess alone, a promise of less than what is used
/// could cost more than a larger one as soon as beta is above 1/2.
[[nodiscard]] Charge charge_of(const Prices& prices, const Period& period);

}  // namespace weir::billing
