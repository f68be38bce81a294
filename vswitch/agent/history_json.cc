// history_json.cc - records, their sums per second, and events.
#include "vswitch/agent/history_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/units.h"
#include "common/utc_text.h"

namespace weir {
namespace {

using nlohmann::json;
using Moment = SwitchControl::Moment;

/// Seconds shown before the asked one, and after it.
constexpr Nanos kAround = 5 * kNanosPerSec;
constexpr double kPercent = 100.0;

/// Unix seconds.
double time_of(Nanos time, const Moment& moment) {
    const std::uint64_t unix_time = moment.unix_of(time);
    return static_cast<double>(unix_time / kNanosPerSec) + to_seconds(unix_time % kNanosPerSec);
}

std::string text_of(Nanos time, const Moment& moment) {
    return utc_text(static_cast<std::int64_t>(moment.unix_of(time) / kNanosPerSec));
}

double percent_of(Nanos part, Nanos whole) {
    return whole == 0 ? 0.0
                      : std::min(kPercent * static_cast<double>(part) / static_cast<double>(whole), kPercent);
}

json name_or_null(HoldReason reason) {
    return reason == HoldReason::kCount ? json() : json(kHoldReasonNames[static_cast<std::size_t>(reason)]);
}

double bit_rate(std::uint64_t bytes, Nanos span) {
    return span == 0 ? 0.0 : static_cast<double>(bytes * kBitsPerByte) / to_seconds(span);
}

json record_json(const HistoryRecord& record, const Moment& moment) {
    return {{"from", time_of(record.from, moment)},
            {"span_ns", record.span()},
            {"samples", record.samples},
            {"sent_bytes", record.sent_bytes},
            {"received_bytes", record.received_bytes},
            {"sent_bps", bit_rate(record.sent_bytes, record.span())},
            {"received_bps", bit_rate(record.received_bytes, record.span())},
            {"sent_burst_bytes", record.sent_burst},
            {"received_burst_bytes", record.received_burst},
            {"queue_delay_ns", record.queue_delay},
            {"dropped", record.dropped},
            {"held_back_ns", record.held_in_all()},
            {"held_back_percent", percent_of(record.held_in_all(), record.span())},
            {"held_back_by", name_or_null(record.held_by())}};
}

json records_json(const std::vector<HistoryRecord>& records, const Moment& moment) {
    json list = json::array();
    for (const HistoryRecord& record : records)
        list.push_back(record_json(record, moment));
    return list;
}

Nanos shared(const HistoryRecord& record, const AskedTime& asked) {
    const Nanos from = std::max(record.from, asked.from);
    const Nanos until = std::min(record.until, asked.until);
    return until > from ? until - from : 0;
}

json held_back_json(const VnicHistory& history, const HistoryRecord& second, const Moment& moment) {
    const HoldReason reason = second.held_by();
    if (reason == HoldReason::kCount)
        return {};
    const VnicHistory::HeldSince since = history.held_since(reason, second.until);
    return {{"bucket", name_or_null(reason)},
            {"percent", percent_of(second.held[static_cast<std::size_t>(reason)], second.span())},
            {"since", time_of(std::min(since.at, second.until), moment)},
            {"before_history", since.before_history}};
}

}  // namespace

json why_at_json(const VnicTrack& track, const AskedTime& asked, const Moment& moment) {
    const VnicHistory& history = track.history;
    const std::vector<HistoryRecord> found = history.seconds(asked.from, asked.until);
    if (found.empty())
        return {};
    const HistoryRecord second =
        *std::ranges::max_element(found, {}, [&](const HistoryRecord& each) { return shared(each, asked); });
    const VnicHistory::Range range = *history.range();
    json held_by_bucket = json::object();
    for (std::size_t i = 0; i < kHoldReasons; ++i)
        held_by_bucket[kHoldReasonNames[i]] = second.held[i];
    const Nanos before = std::min(second.from, kAround);
    return {{"vnic", track.name},
            {"now", time_of(moment.now, moment)},
            {"history",
             {{"from", time_of(range.from, moment)},
              {"until", time_of(range.until, moment)},
              {"samples_from", time_of(range.fine_from, moment)}}},
            {"removed", track.removed ? json(time_of(*track.removed, moment)) : json()},
            {"resolution_ns", second.span() / std::max(second.samples, 1U)},
            {"second", record_json(second, moment)},
            {"held_back_ns_by_bucket", std::move(held_by_bucket)},
            {"held_back_by", held_back_json(history, second, moment)},
            {"seconds", records_json(history.seconds(second.from - before, second.until + kAround), moment)},
            {"samples", records_json(history.samples(second.from, second.until), moment)}};
}

std::string range_text(const VnicHistory& history, const Moment& moment) {
    const std::optional<VnicHistory::Range> range = history.range();
    return range ? text_of(range->from, moment) + " to " + text_of(range->until, moment) : "nothing yet";
}

json events_json(const EventLog& events, std::uint64_t from, std::uint64_t after, const std::string& vnic,
                 const Moment& moment) {
    json list = json::array();
    for (const SwitchEvent& event : events.since(0, after)) {
        if (moment.unix_of(event.at) < from || (!vnic.empty() && event.vnic != vnic))
            continue;
        list.push_back({{"number", event.number},
                        {"time", time_of(event.at, moment)},
                        {"part", event.part},
                        {"vnic", event.vnic.empty() ? json() : json(event.vnic)},
                        {"event", name_of(event.kind)},
                        {"detail", event.detail}});
    }
    return {{"events", std::move(list)}, {"last", events.last_number()}};
}

}  // namespace weir
