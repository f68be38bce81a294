// linear_law.cc - EyeQ's rate law: rate * (1 - gain * (load - 1)).
// Source: EyeQ 3.4; docs/algorithms.md 4.2. Threads: any (pure).
//
// The rate moves in proportion to the load's distance from 1. With a load of 1.2 and a gain of 0.5 it falls
// by 10 % per period; two senders at 1 Gbit/s to a vNIC with 9 Gbit/s (a load of 0.22) are advertised 1.39
// Gbit/s next, and are within 0.01 % of 4.5 Gbit/s after 17 periods.
//
// The factor is negative for a load above 1 + 1 / gain, which is 3 for the paper's gain of 0.5: the rate then
// falls to its minimum, from where it grows by half per period. A link shows no load above its own rate, so
// many senders are slowed down by a few percent per period only: 14 at line rate need 57 periods to come
// within 5 % of their parts.
//
// As in the paper, the receiver then knows neither the bytes of each sender nor the demand of its vNICs: the
// rate follows the measured load alone, and an idle part is divided as soon as its vNIC is silent for 3
// periods.
#include "vswitch/qos/feedback/rate_law.h"

namespace weir {

RateLaw make_linear() {
    return {.factor = [](double gain, double load) { return 1.0 - gain * (load - 1.0); },
            .gain = 0.5,
            .knows_senders = false};
}

}  // namespace weir
