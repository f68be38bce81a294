// destination_limits.cc - DestinationLimits: opening, changing and erasing destinations.
#include "vswitch/qos/feedback/destination_limits.h"

#include <bit>
#include <cassert>

namespace weir {
namespace {

/// Tokens that a limiter pays at once after a pause: 150 us of its rate, at least two full frames. The
/// receiver measures over 200 us, so longer bursts would look like overload.
std::uint64_t burst_of(std::uint64_t rate) {
    constexpr std::uint64_t kTwoFrames = 2 * 1538;
    constexpr std::uint64_t kBurstsPerSec = 1'000'000 / 150;
    return std::max(kTwoFrames, rate / kBurstsPerSec);
}

/// Tokens of a new limiter, less than a frame. A receiver sends feedback to many senders within microseconds;
/// if their limiters ran in phase, each would send its frames at the same moments. Sequences differ from
/// sender to sender, and multiples of the golden ratio spread evenly over a frame's time.
std::uint32_t phase_of(std::uint32_t sequence) {
    constexpr std::uint64_t kFrame = 1538;
    return static_cast<std::uint32_t>(std::uint64_t{sequence * 0x9E37'79B9U} * kFrame >> 32);
}

}  // namespace

DestinationLimits::DestinationLimits(std::uint32_t capacity, std::size_t vnics, const Profile& profile)
    : profile_(profile),
      idle_ticks_(ticks(profile.idle) + 1),
      shift_(64 - static_cast<unsigned>(std::countr_zero(capacity))),
      buckets_(capacity, kNoDestination),
      entries_(capacity),
      allocations_(capacity),
      counts_(vnics),
      allocated_counts_(vnics),
      sent_(vnics) {
    assert(std::has_single_bit(capacity) && capacity > 1);
}

DestinationLimits::Result DestinationLimits::on_feedback(VnicId vnic, std::uint64_t address,
                                                         std::uint64_t rate, std::uint32_t sequence,
                                                         Nanos now) {
    const DestinationId at = find(vnic, address);
    if (at == kNoDestination)
        return rate >= profile_.line_rate ? Result{Change::kNotNeeded, kNoDestination}
                                          : open(vnic, address, rate, sequence, now);
    Entry& entry = entries_[at];
    const auto ahead = static_cast<std::int32_t>(sequence - entry.sequence);
    if (ahead <= 0 && !entry.silent)
        return {Change::kStale, kNoDestination};
    entry.sequence = sequence;
    entry.feedback_at = now;
    entry.used_at = ticks(now);  // an idle one would be erased, with the rate just advertised
    entry.silent = false;
    set_advertised(at, rate, now);
    return {Change::kChanged, at};
}

DestinationLimits::Result DestinationLimits::allocate(VnicId vnic, std::uint64_t address,
                                                      std::optional<std::uint64_t> rate, Nanos now) {
    DestinationId at = find(vnic, address);
    const bool opens = at == kNoDestination;
    if (!rate) {
        if (opens || !entries_[at].allocated)
            return {Change::kNotNeeded, kNoDestination};
        set_allocated(entries_[at], false);
        set_rate(entries_[at], allocations_[at].advertised, now);
        return {Change::kChanged, at};
    }
    if (opens) {
        const Result opened = open(vnic, address, profile_.line_rate, 0, now);
        if (opened.destination == kNoDestination)
            return opened;
        at = opened.destination;
        entries_[at].silent = true;  // the first feedback is accepted with any sequence
    }
    Entry& entry = entries_[at];
    if (!entry.allocated)
        allocations_[at] = {.advertised = entry.rate};
    set_allocated(entry, true);
    allocations_[at].rate = std::max<std::uint64_t>(*rate, 1);
    set_advertised(at, allocations_[at].advertised, now);
    return {opens ? Change::kOpened : Change::kChanged, at};
}

void DestinationLimits::set_allocated(Entry& entry, bool allocated) {
    if (entry.allocated == allocated)
        return;
    entry.allocated = allocated;
    const std::uint32_t step = allocated ? 1 : UINT32_MAX;
    allocated_ += step;
    allocated_counts_[entry.vnic] += step;
}

void DestinationLimits::set_advertised(DestinationId at, std::uint64_t rate, Nanos now) {
    rate = std::clamp(rate, profile_.rate_min, profile_.line_rate);
    if (entries_[at].allocated) {
        allocations_[at].advertised = rate;
        rate = std::min(rate, allocations_[at].rate);
    }
    set_rate(entries_[at], rate, now);
}

DestinationLimits::Result DestinationLimits::open(VnicId vnic, std::uint64_t address, std::uint64_t rate,
                                                  std::uint32_t sequence, Nanos now) {
    const DestinationId at = free_ != kNoDestination ? free_ : end_;
    if (at == capacity())
        return {Change::kFull, kNoDestination};
    Entry& entry = entries_[at];
    if (at == end_)
        ++end_;
    else
        free_ = entry.next;
    DestinationId& head = buckets_[bucket_of(vnic, address)];
    entry = Entry{.address = address,
                  .limiter = {},
                  .feedback_at = now,
                  .used_at = ticks(now),
                  .next = head,
                  .sequence = sequence,
                  .vnic = vnic};
    head = at;
    ++size_;
    ++counts_[vnic];
    set_advertised(at, rate, now);
    entry.limiter.pay(static_cast<std::uint32_t>(burst_of(entry.rate)) - phase_of(sequence), now);
    return {Change::kOpened, at};
}

void DestinationLimits::set_rate(Entry& entry, std::uint64_t rate, Nanos now) {
    if (rate == entry.rate)
        return;
    entry.rate = rate;
    entry.limiter.set_profile(make_profile(rate, burst_of(rate)), now);
}

void DestinationLimits::erase(DestinationId at) {
    Entry& entry = entries_[at];
    DestinationId* link = &buckets_[bucket_of(entry.vnic, entry.address)];
    while (*link != at)
        link = &entries_[*link].next;
    *link = entry.next;
    set_allocated(entry, false);
    --counts_[entry.vnic];
    --size_;
    entry.vnic = kNoVnic;
    entry.next = free_;
    free_ = at;
    if (size_ == 0) {
        end_ = 0;
        free_ = kNoDestination;
    }
}

}  // namespace weir
