// registry.cc - makers of the rate laws, in the order of the table.
#include "vswitch/qos/feedback/registry.h"

#include "vswitch/qos/feedback/rate_law.h"

namespace weir {

#define WEIR_DECLARE_RATE_LAW(name, summary) RateLaw make_##name();
WEIR_RATE_LAWS(WEIR_DECLARE_RATE_LAW)
#undef WEIR_DECLARE_RATE_LAW

RateLaw make_rate_law(const RateLawEntry& entry) {
#define WEIR_RATE_LAW_MAKER(name, summary) make_##name,
    constexpr std::array kMakers{WEIR_RATE_LAWS(WEIR_RATE_LAW_MAKER)};
#undef WEIR_RATE_LAW_MAKER
    return kMakers[static_cast<std::size_t>(&entry - kRateLaws.data())]();
}

}  // namespace weir
