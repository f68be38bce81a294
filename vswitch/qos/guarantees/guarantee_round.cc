// guarantee_round.cc - a sort and a subtraction for each dynamic guarantee.
#include "vswitch/qos/guarantees/guarantee_round.h"

#include <algorithm>

#include "common/wide.h"

namespace weir {

void GuaranteeRound::add(GuaranteeMeter& meter, const GuaranteeMeter::Period& ended) {
    if (meter.kind() == GuaranteeKind::kDynamic) {
        dynamic_.push_back(&meter);
        return;
    }
    const auto used =
        static_cast<std::uint64_t>(Wide{ended.delivered} * kNanosPerSec / (ended.ended - ended.began));
    room_ -= std::min({room_, meter.rate(), used});
}

void GuaranteeRound::settle() {
    std::stable_sort(dynamic_.begin(), dynamic_.end(), [](const GuaranteeMeter* a, const GuaranteeMeter* b) {
        return a->time_left() < b->time_left();
    });
    for (GuaranteeMeter* meter : dynamic_) {
        meter->hold(room_);
        room_ -= meter->rate();
    }
}

}  // namespace weir
