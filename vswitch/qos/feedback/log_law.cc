// log_law.cc - the logarithmic rate law: rate * load^-gain.
// Source: docs/algorithms.md 4.2. Threads: any (pure).
//
// The factor is positive for every load, so the rate needs no clamp at 0. With constant senders the law is
// linear in the logarithm of the rate, so it is stable from any start if gain < 2 sin(pi / (2 (2 d + 1))) for
// feedback that is delayed by d periods: below 0.445 for three periods. Four senders at 9 Gbit/s each to a
// vNIC with 9 Gbit/s are advertised 4.5, 3.18, 2.68, 2.45 ... Gbit/s with a gain of 0.5: within 5 % of 2.25
// after five periods.
#include "vswitch/qos/feedback/rate_law.h"

namespace weir {
namespace {

/// A lower load counts as this one: 0 has no power.
constexpr double kLoadMin = 1.0 / 256;

}  // namespace

RateLaw make_log() {
    return {.factor = [](double gain, double load) { return std::pow(std::max(load, kLoadMin), -gain); },
            .gain = 0.25,  // calm when feedback is three periods late
            .knows_senders = true};
}

}  // namespace weir
