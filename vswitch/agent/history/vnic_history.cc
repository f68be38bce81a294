// vnic_history.cc - from counters to records, and records packed and found again.
#include "vswitch/agent/history/vnic_history.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace weir {
namespace {

constexpr Nanos kMicro = 1'000;
constexpr Nanos kMilli = 1'000'000;
/// Longer gaps end the samples: their times are kept modulo 71 minutes.
constexpr Nanos kFineGapMax = 60 * kNanosPerSec;
/// A whole second in the unit of held-back shares: 20 us.
constexpr std::uint64_t kShareUnits = 50'000;

/// The value, or the largest one of the type.
template <typename Small>
Small bounded(std::uint64_t value) {
    return static_cast<Small>(std::min<std::uint64_t>(value, std::numeric_limits<Small>::max()));
}

/// Bytes of the sample; of a longer one than a millisecond per millisecond.
std::uint64_t burst_of(std::uint64_t bytes, Nanos span) {
    return span <= kMilli ? bytes : bytes * kMilli / span;
}

HistoryRecord growth(const VnicSample& before, Nanos from, const VnicSample& after, Nanos until) {
    HistoryRecord record{.from = from, .until = until, .samples = 1};
    record.sent_bytes = after.sent_bytes - before.sent_bytes;
    record.received_bytes = after.received_bytes - before.received_bytes;
    record.sent_burst = burst_of(record.sent_bytes, record.span());
    record.received_burst = burst_of(record.received_bytes, record.span());
    record.queue_delay = after.queue_delay;
    record.dropped = after.dropped - before.dropped;
    for (std::size_t i = 0; i < kHoldReasons; ++i)
        record.held[i] = after.held[i] - before.held[i];
    return record;
}

template <typename Records>
void keep_overlapping(Records& records, Nanos from, Nanos until) {
    std::erase_if(records,
                  [&](const HistoryRecord& each) { return each.until <= from || each.from >= until; });
}

}  // namespace

Nanos HistoryRecord::held_in_all() const {
    return std::accumulate(held.begin(), held.end(), Nanos{0});
}

HoldReason HistoryRecord::held_by() const {
    const auto longest = std::max_element(held.begin(), held.end());
    return *longest == 0 ? HoldReason::kCount : static_cast<HoldReason>(longest - held.begin());
}

void HistoryRecord::extend(const HistoryRecord& next) {
    if (samples == 0)
        from = next.from;
    until = next.until;
    samples += next.samples;
    sent_bytes += next.sent_bytes;
    received_bytes += next.received_bytes;
    sent_burst = std::max(sent_burst, next.sent_burst);
    received_burst = std::max(received_burst, next.received_burst);
    queue_delay = std::max(queue_delay, next.queue_delay);
    dropped += next.dropped;
    for (std::size_t i = 0; i < kHoldReasons; ++i)
        held[i] += next.held[i];
}

bool VnicHistory::add(const VnicSample& sample, Nanos at) {
    if (before_ && at <= before_at_)
        return false;
    const bool is_late = at - before_at_ > kFineGapMax;
    if (is_late)
        fine_.clear();
    if (!before_ || is_late) {
        Fine begin{};
        begin.at = static_cast<std::uint32_t>(at / kMicro);
        begin.begins = true;
        fine_.push(begin);
    }
    bool ended = false;
    if (before_) {
        const HistoryRecord record = growth(*before_, before_at_, sample, at);
        if (!is_late)
            push_fine(record);
        // A sample that ends with the second is still of it.
        ended = open_.samples != 0 &&
                (open_.until - 1 + phase_) / kNanosPerSec != (at - 1 + phase_) / kNanosPerSec;
        if (ended) {
            push_second(open_);
            open_ = {};
        }
        open_.extend(record);
    } else if (open_.samples != 0) {
        push_second(open_);
        open_ = {};
        ended = true;
    }
    before_ = sample;
    before_at_ = at;
    return ended;
}

void VnicHistory::push_fine(const HistoryRecord& record) {
    fine_.push({.at = static_cast<std::uint32_t>(record.until / kMicro),
                .sent = bounded<std::uint32_t>(record.sent_bytes),
                .received = bounded<std::uint32_t>(record.received_bytes),
                .queue_delay = bounded<std::uint32_t>(record.queue_delay),
                .held = bounded<std::uint32_t>(record.held_in_all() / kMicro),
                .dropped = bounded<std::uint16_t>(record.dropped),
                .held_by = static_cast<std::uint8_t>(record.held_by()),
                .begins = false});
}

void VnicHistory::push_second(const HistoryRecord& record) {
    Second packed{.until = record.until,
                  .sent = record.sent_bytes,
                  .received = record.received_bytes,
                  .span = bounded<std::uint32_t>(record.span() / kMicro),
                  .sent_burst = bounded<std::uint32_t>(record.sent_burst),
                  .received_burst = bounded<std::uint32_t>(record.received_burst),
                  .queue_delay = bounded<std::uint32_t>(record.queue_delay),
                  .dropped = bounded<std::uint32_t>(record.dropped),
                  .samples = bounded<std::uint16_t>(record.samples),
                  .held = {}};
    for (std::size_t i = 0; i < kHoldReasons; ++i)
        packed.held[i] =
            bounded<std::uint16_t>(record.held[i] * kShareUnits / std::max(record.span(), Nanos{1}));
    seconds_.push(packed);
}

HistoryRecord VnicHistory::second(std::size_t index) const {
    const Second& packed = seconds_[index];
    const Nanos span = packed.span * kMicro;
    HistoryRecord record{.from = packed.until - span,
                         .until = packed.until,
                         .samples = packed.samples,
                         .sent_bytes = packed.sent,
                         .received_bytes = packed.received,
                         .sent_burst = packed.sent_burst,
                         .received_burst = packed.received_burst,
                         .queue_delay = packed.queue_delay,
                         .dropped = packed.dropped};
    for (std::size_t i = 0; i < kHoldReasons; ++i)
        record.held[i] = packed.held[i] * span / kShareUnits;
    return record;
}

std::optional<VnicHistory::Range> VnicHistory::range() const {
    if (seconds_.size() == 0 && open_.samples == 0)
        return std::nullopt;
    const HistoryRecord oldest = seconds_.size() == 0 ? open_ : second(0);
    const Nanos until = open_.samples == 0 ? last_second().until : open_.until;
    const auto fine = samples(0, kNever);
    return Range{.from = oldest.from, .until = until, .fine_from = fine.empty() ? until : fine.front().from};
}

std::vector<HistoryRecord> VnicHistory::all_seconds() const {
    std::vector<HistoryRecord> records;
    for (std::size_t i = 0; i < seconds_.size(); ++i)
        records.push_back(second(i));
    if (open_.samples != 0)
        records.push_back(open_);
    return records;
}

std::vector<HistoryRecord> VnicHistory::seconds(Nanos from, Nanos until) const {
    std::vector<HistoryRecord> records = all_seconds();
    keep_overlapping(records, from, until);
    return records;
}

std::vector<HistoryRecord> VnicHistory::samples(Nanos from, Nanos until) const {
    std::vector<HistoryRecord> records;
    const auto newest = static_cast<std::uint32_t>(before_at_ / kMicro);
    const auto time_of = [&](const Fine& fine) {
        return (before_at_ / kMicro - (newest - fine.at)) * kMicro;  // the difference is modulo 2^32
    };
    for (std::size_t i = 1; i < fine_.size(); ++i) {
        const Fine& fine = fine_[i];
        if (fine.begins)
            continue;
        HistoryRecord& record = records.emplace_back(HistoryRecord{.from = time_of(fine_[i - 1]),
                                                                   .until = time_of(fine),
                                                                   .samples = 1,
                                                                   .sent_bytes = fine.sent,
                                                                   .received_bytes = fine.received,
                                                                   .queue_delay = fine.queue_delay,
                                                                   .dropped = fine.dropped});
        record.sent_burst = burst_of(record.sent_bytes, record.span());
        record.received_burst = burst_of(record.received_bytes, record.span());
        if (fine.held_by < kHoldReasons)
            record.held[fine.held_by] = fine.held * kMicro;
    }
    keep_overlapping(records, from, until);
    return records;
}

VnicHistory::HeldSince VnicHistory::held_since(HoldReason reason, Nanos at) const {
    constexpr Nanos kPart = 100;  // of the time: 1 %
    const auto index = static_cast<std::size_t>(reason);
    const std::vector<HistoryRecord> records = all_seconds();
    const auto holds = [&](const HistoryRecord& each) { return each.held[index] * kPart >= each.span(); };
    auto first =
        std::find_if(records.begin(), records.end(), [&](const auto& each) { return each.until >= at; });
    if (first == records.end() || !holds(*first))
        return {at, false};
    while (first != records.begin() && holds(*std::prev(first)) &&
           first->from - std::prev(first)->until < kMilli)
        --first;
    const bool is_oldest = first == records.begin();
    const std::vector<HistoryRecord> fine = samples(first->from, first->until);
    const auto held = std::ranges::find_if(fine, [&](const auto& each) { return each.held[index] != 0; });
    if (held == fine.end() || (held == fine.begin() && held->from > first->from + kMicro))
        return {first->from, is_oldest};  // the samples of its begin are gone
    return {held->from, is_oldest && held == fine.begin()};
}

}  // namespace weir
