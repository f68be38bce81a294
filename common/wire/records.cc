// records.cc - records to bytes and back, and the changes that are large enough to be sent.
#include "common/wire/records.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "common/byte_order.h"

namespace weir::wire {
namespace {

/// Smaller relative changes wait for the next snapshot: they are within the headroom.
constexpr double kDemandChange = 0.01;
constexpr double kRateChange = 0.005;
constexpr unsigned kMarksShift = 28;  // the latency is in the bits below
constexpr unsigned kBlockedShift = 30;
constexpr std::uint32_t kMarks = FlowDemand::kNew | FlowDemand::kRemoved;

/// A change by more than `part` of the larger value, and any change from or to 0.
bool changed(double sent, double now, double part) {
    return std::abs(now - sent) > part * std::max(sent, now);
}

template <std::size_t N>
bool any_changed(const std::array<float, N>& sent, const std::array<float, N>& now) {
    for (std::size_t i = 0; i < N; ++i)
        if (changed(double{sent[i]}, double{now[i]}, kDemandChange))
            return true;
    return false;
}

/// Also false for NaN, because of the direction of the comparisons.
bool is_possible(const std::array<float, kParts>& tokens) {
    return std::all_of(tokens.begin(), tokens.end(),
                       [](float value) { return value >= 0.0F && value <= kTokensMax; });
}

bool is_possible(const FlowDemand& record) {
    return record.flow.source != record.flow.destination && is_possible(record.used) &&
           is_possible(record.backlog) && is_possible(record.queued) && is_possible(record.outstanding);
}

bool is_possible(const FlowAllocation& record) {
    return record.flow.source != record.flow.destination;
}

void read(LittleEndianReader& in, FlowDemand& record) {
    in.get(record.flow.source);
    in.get(record.flow.destination);
    std::uint32_t marks_and_latency = 0;
    in.get(marks_and_latency);
    record.marks = marks_and_latency >> kMarksShift & kMarks;
    record.blocked = static_cast<Blocked>(marks_and_latency >> kBlockedShift);
    record.latency_us = marks_and_latency & FlowDemand::kLatencyMax;
    for (auto* part : {&record.used, &record.backlog, &record.queued, &record.outstanding})
        for (float& value : *part)
            in.get(value);
}

void read(LittleEndianReader& in, FlowAllocation& record) {
    in.get(record.flow.source);
    in.get(record.flow.destination);
    for (std::uint64_t& rate : record.rate)
        in.get(rate);
}

template <typename Record>
std::size_t decode_all(std::span<const std::uint8_t> body, std::size_t bytes, std::vector<Record>& records) {
    records.clear();
    records.reserve(body.size() / bytes);
    std::unordered_set<std::uint64_t> seen(body.size() / bytes);
    std::size_t refused = 0;
    for (std::size_t at = 0; at + bytes <= body.size(); at += bytes) {
        LittleEndianReader in(&body[at]);
        Record record;
        read(in, record);
        const std::uint64_t key = std::uint64_t{record.flow.source} << 32 | record.flow.destination;
        if (is_possible(record) && seen.insert(key).second)
            records.push_back(record);
        else
            ++refused;
    }
    return refused;
}

}  // namespace

bool is_removed(const FlowAllocation& record) {
    return std::all_of(record.rate.begin(), record.rate.end(),
                       [](std::uint64_t rate) { return rate == kNoStatement; });
}

void make_removed(FlowDemand& record) {
    record = FlowDemand{.flow = record.flow, .marks = FlowDemand::kRemoved};
}

void make_removed(FlowAllocation& record) {
    record = FlowAllocation{.flow = record.flow};
}

bool differs(const FlowDemand& sent, const FlowDemand& now) {
    return now.marks != 0 || sent.blocked != now.blocked || any_changed(sent.used, now.used) ||
           any_changed(sent.backlog, now.backlog) || any_changed(sent.queued, now.queued) ||
           any_changed(sent.outstanding, now.outstanding) ||
           changed(sent.latency_us, now.latency_us, kDemandChange);
}

bool differs(const FlowAllocation& sent, const FlowAllocation& now) {
    for (std::size_t i = 0; i < kParts; ++i) {
        if ((sent.rate[i] == kNoStatement) != (now.rate[i] == kNoStatement))
            return true;
        if (changed(static_cast<double>(sent.rate[i]), static_cast<double>(now.rate[i]), kRateChange))
            return true;
    }
    return false;
}

void encode(const FlowDemand& record, Bytes& body) {
    body.resize(body.size() + kDemandBytes);
    LittleEndianWriter out(&body[body.size() - kDemandBytes]);
    out.put(record.flow.source);
    out.put(record.flow.destination);
    out.put(static_cast<std::uint32_t>(record.blocked) << kBlockedShift | record.marks << kMarksShift |
            std::min(record.latency_us, FlowDemand::kLatencyMax));
    for (const auto* part : {&record.used, &record.backlog, &record.queued, &record.outstanding})
        for (const float value : *part)
            out.put(value);
}

void encode(const FlowAllocation& record, Bytes& body) {
    body.resize(body.size() + kAllocationBytes);
    LittleEndianWriter out(&body[body.size() - kAllocationBytes]);
    out.put(record.flow.source);
    out.put(record.flow.destination);
    for (const std::uint64_t rate : record.rate)
        out.put(rate);
}

std::size_t decode(std::span<const std::uint8_t> body, std::vector<FlowDemand>& records) {
    return decode_all(body, kDemandBytes, records);
}

std::size_t decode(std::span<const std::uint8_t> body, std::vector<FlowAllocation>& records) {
    return decode_all(body, kAllocationBytes, records);
}

void encode(const Usage& record, Bytes& body) {
    body.resize(body.size() + kUsageBytes);
    LittleEndianWriter out(&body[body.size() - kUsageBytes]);
    out.put(record.vnic);
    out.put(static_cast<std::uint32_t>(record.guarantee));
    for (const std::uint64_t value : {record.began, record.ended, record.promised, record.delivered})
        out.put(value);
}

std::size_t decode(std::span<const std::uint8_t> body, std::vector<Usage>& records) {
    records.clear();
    records.reserve(body.size() / kUsageBytes);
    std::size_t refused = 0;
    for (std::size_t at = 0; at + kUsageBytes <= body.size(); at += kUsageBytes) {
        LittleEndianReader in(&body[at]);
        Usage record;
        std::uint32_t guarantee = 0;
        in.get(record.vnic);
        in.get(guarantee);
        for (std::uint64_t* value : {&record.began, &record.ended, &record.promised, &record.delivered})
            in.get(*value);
        record.guarantee = static_cast<GuaranteeKind>(guarantee);
        if (guarantee <= static_cast<std::uint32_t>(GuaranteeKind::kBestEffort) &&
            record.began < record.ended && record.ended < kUsageMax && record.promised < kUsageMax &&
            record.delivered < kUsageMax)
            records.push_back(record);
        else
            ++refused;
    }
    return refused;
}

Bytes encode_billed(std::uint64_t through) {
    Bytes body(kBilledBytes);
    LittleEndianWriter(body.data()).put(through);
    return body;
}

std::uint64_t decode_billed(std::span<const std::uint8_t> body) {
    std::uint64_t through = 0;
    if (body.size() == kBilledBytes)
        LittleEndianReader(body.data()).get(through);
    return through;
}

}  // namespace weir::wire
