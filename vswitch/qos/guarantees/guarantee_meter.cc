// guarantee_meter.cc - GuaranteeMeter and GuaranteeRound; they divide, once per period and vNIC.
#include "vswitch/qos/guarantees/guarantee_meter.h"

#include <algorithm>
#include <cmath>

#include "common/types.h"

namespace weir {

GuaranteeMeter::GuaranteeMeter(const Promise& promise, std::uint64_t delivered, Nanos now)
    : delivered_(delivered), began_(now) {
    start(promise);
}

void GuaranteeMeter::start(const Promise& promise) {
    promise_ = promise;
    due_ = rate_ = promise.rate;
    owed_ = 0;
    const bool dynamic = promise.kind == GuaranteeKind::kDynamic;
    left_ = dynamic ? promise.size : 0;
    time_left_ = dynamic ? promise.time : 0;
}

bool GuaranteeMeter::Period::extend(const Period& next) {
    if (kind != next.kind || promised != next.promised)
        return false;
    ended = next.ended;
    delivered += next.delivered;
    waiting = waiting || next.waiting;
    return true;
}

std::optional<GuaranteeMeter::Period> GuaranteeMeter::change(const Promise& promise, std::uint64_t delivered,
                                                             Nanos now, bool waiting) {
    const std::optional<Period> ended = end_period(delivered, now, waiting);
    if (promise != promise_)
        start(promise);
    return ended;
}

std::optional<GuaranteeMeter::Period> GuaranteeMeter::end_period(std::uint64_t delivered, Nanos now,
                                                                 bool waiting) {
    if (now <= began_)
        return std::nullopt;
    const Period ended{.began = began_,
                       .ended = now,
                       .kind = kind(),
                       .promised = over() ? 0 : promise_.rate,
                       .delivered = delivered - std::min(delivered, delivered_),
                       .waiting = waiting};
    if (promise_.kind == GuaranteeKind::kDynamic) {
        left_ -= std::min(left_, ended.delivered);
        time_left_ -= std::min(time_left_, now - began_);
        const auto seconds = [](Nanos time) { return static_cast<double>(time) * 1e-9; };
        const double size = static_cast<double>(promise_.size);
        const double left = static_cast<double>(left_);
        const double behind = left - size * seconds(time_left_) / seconds(promise_.time);
        const double missed =
            static_cast<double>(due_) * seconds(now - began_) - static_cast<double>(ended.delivered);
        owed_ = std::max(0.0, std::min(owed_ + (waiting ? std::max(0.0, missed) : 0), behind));
        due_ = rate_ = static_cast<std::uint64_t>(
            std::ceil(dynamic_rate(size, seconds(promise_.time), left, seconds(time_left_), owed_)));
    }
    delivered_ = delivered;
    began_ = now;
    return ended;
}

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
    std::ranges::stable_sort(dynamic_, {}, &GuaranteeMeter::time_left);
    for (GuaranteeMeter* meter : dynamic_) {
        meter->hold(room_);
        room_ -= meter->rate();
    }
}

}  // namespace weir
