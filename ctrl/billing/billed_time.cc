// billed_time.cc - subtraction and union of spans.
#include "ctrl/billing/billed_time.h"

#include <algorithm>

namespace weir::billing {

BilledTime::BilledTime(std::int64_t through, const std::vector<Span>& spans) : through_(through) {
    for (const Span& span : spans)
        if (span.began < span.ended && span.began >= through_)
            add(span);
}

std::optional<BilledTime::Span> BilledTime::unbilled_part(Span span) const {
    if (span.began >= ended())
        return span;
    Span longest{0, 0};
    const auto offer = [&longest](std::int64_t began, std::int64_t ended) {
        if (ended > began && ended - began > longest.ended - longest.began)
            longest = {began, ended};
    };
    std::int64_t free_from = std::max(span.began, through_);
    for (const Span& billed : spans_) {
        offer(free_from, std::min(span.ended, billed.began));
        free_from = std::max(free_from, billed.ended);
    }
    offer(free_from, span.ended);
    return longest.ended > longest.began ? std::optional(longest) : std::nullopt;
}

void BilledTime::add(Span span) {
    auto at = std::ranges::lower_bound(spans_, span.began, {}, &Span::ended);  // the first that it may touch
    while (at != spans_.end() && at->began <= span.ended) {
        span = {std::min(span.began, at->began), std::max(span.ended, at->ended)};
        at = spans_.erase(at);
    }
    spans_.insert(at, span);
    if (spans_.size() > kSpansMax) {
        through_ = spans_.front().ended;
        spans_.erase(spans_.begin());
    }
}

}  // namespace weir::billing
