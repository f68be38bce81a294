// common_bucket.cc - CommonBucket: loans, the places of workers that wait, and changes of the rate.
#include "vswitch/qos/buckets/common_bucket.h"

#include <bit>

namespace weir {
namespace {

/// A place holds for this long after its tokens were there.
constexpr FineTime kPlaceHolds = to_fine(100'000);
/// Part of a small bucket that is lent beyond a price.
constexpr FineTime kBurstParts = 8;

}  // namespace

void CommonBucket::set_profile(const BucketProfile& profile, Nanos now) {
    if (profile == profile_)
        return;
    FineTime word = word_.load(std::memory_order_relaxed);
    FineTime changed = 0;
    do {
        TokenBucket scaled(profile_, full_at_of(word));
        scaled.set_profile(profile, now);
        changed = word_of(scaled);
    } while (!word_.compare_exchange_weak(word, changed, std::memory_order_relaxed));
    burst_time_.store(profile.burst_time, std::memory_order_relaxed);
    profile_ = profile;
}

std::int64_t CommonBucket::level(Nanos now) const {
    return TokenBucket(profile_, full_at_of(word_.load(std::memory_order_relaxed))).level(now);
}

/// Tokens for which other workers wait that came before this one. A place that has ended is taken away.
FineTime CommonBucket::before(std::size_t worker, FineTime now) {
    const std::uint32_t waiting = waiting_.load(std::memory_order_acquire);
    if (waiting == 0) [[likely]]
        return 0;
    const bool waits = (waiting >> worker & 1) != 0;
    const std::uint32_t own = places_[worker].number.load(std::memory_order_relaxed);
    FineTime sum = 0;
    for (std::uint32_t others = waiting & ~(1U << worker); others != 0; others &= others - 1) {
        const auto other = static_cast<std::size_t>(std::countr_zero(others));
        const Place& place = places_[other];
        if (is_after(now, place.until.load(std::memory_order_relaxed)))
            leave_place(other);
        else if (!waits || static_cast<std::int32_t>(place.number.load(std::memory_order_relaxed) - own) < 0)
            sum += place.price.load(std::memory_order_relaxed);
    }
    return sum;
}

bool CommonBucket::can_lend(std::size_t worker, FineTime price, FineTime now) {
    const FineTime burst = burst_time_.load(std::memory_order_relaxed);
    const FineTime word = word_.load(std::memory_order_relaxed);
    return !is_parked(word) &&
           !is_after(word + std::min(even(price) + before(worker, now), burst), now + burst);
}

/// Rounds up to an even price, and down the tokens beyond it: those that others wait for stay.
FineTime CommonBucket::lend(std::size_t worker, FineTime exact_price, FineTime now) {
    const FineTime price = even(exact_price);
    const FineTime burst = burst_time_.load(std::memory_order_relaxed);
    const FineTime others = before(worker, now);
    const FineTime batch = std::min(kBatch, burst / kBurstParts);
    const FineTime beyond = batch < price ? 0 : batch;  // less would lie idle until the next price
    FineTime word = word_.load(std::memory_order_relaxed);
    FineTime lent = 0;
    do {
        if (is_parked(word) || is_after(word + std::min(price + others, burst), now + burst))
            return 0;
        const FineTime from = later(word, now);
        const FineTime after = from + price + others;  // when it is full again if no more is lent
        const FineTime spare = is_after(now + burst, after) ? std::min(beyond, now + burst - after) : 0;
        lent = price + (spare & ~kParkedBit);
        if (word_.compare_exchange_weak(word, from + lent, std::memory_order_relaxed))
            break;
    } while (true);
    leave_place(worker);
    return lent;
}

/// The word after a payment; `now` is even.
FineTime CommonBucket::paid(FineTime word, FineTime price, FineTime now) {
    if (is_parked(word))
        return word + (price << 1);
    return earlier(later(word, now) + even(price), now + kAheadMax / 2);
}

void CommonBucket::take(FineTime price, FineTime now) {
    FineTime word = word_.load(std::memory_order_relaxed);
    while (!word_.compare_exchange_weak(word, paid(word, price, now), std::memory_order_relaxed)) {
    }
}

void CommonBucket::take_bounded(FineTime price, FineTime now) {
    const FineTime most = now + even(2 * burst_time_.load(std::memory_order_relaxed));
    FineTime word = word_.load(std::memory_order_relaxed);
    FineTime after = word;
    do {
        if (is_parked(word))
            return;
        after = later(word, earlier(paid(word, price, now), most));
    } while (!word_.compare_exchange_weak(word, after, std::memory_order_relaxed));
}

Nanos CommonBucket::wait(std::size_t worker, FineTime price, Nanos now) {
    const FineTime burst = burst_time_.load(std::memory_order_relaxed);
    const FineTime word = word_.load(std::memory_order_relaxed);
    if (is_parked(word))
        return kNever;
    Place& place = places_[worker];
    const std::uint32_t bit = 1U << worker;
    const bool new_place = (waiting_.load(std::memory_order_relaxed) & bit) == 0;
    if (new_place)
        place.number.store(last_place_.fetch_add(1, std::memory_order_relaxed) + 1,
                           std::memory_order_relaxed);
    const FineTime needed = std::min(even(price), burst);
    const FineTime at = word + std::min(even(price) + before(worker, to_fine(now)), burst) - burst;
    place.price.store(needed, std::memory_order_relaxed);
    place.until.store(at + kPlaceHolds, std::memory_order_relaxed);
    if (new_place)
        waiting_.fetch_or(bit, std::memory_order_release);
    return to_nanos(at, now);
}

void CommonBucket::leave_place(std::size_t worker) {
    if ((waiting_.load(std::memory_order_relaxed) >> worker & 1) != 0) [[unlikely]]
        waiting_.fetch_and(~(1U << worker), std::memory_order_relaxed);
}

}  // namespace weir
