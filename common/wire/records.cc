// records.cc - demands and allocations to bytes and back, and what of them is worth saying.
#include "common/wire/records.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "common/wire/bytes.h"

namespace weir::wire {
namespace {

/// Smaller changes are left for the snapshot: they are within the headroom.
constexpr double kDemandChange = 0.01;
constexpr double kRateChange = 0.005;
constexpr unsigned kMarksShift = 28;  // the latency is below

// 0, and anything within `part` of what was said, is no change; from or to 0 always is.
bool changed(double said, double now, double part) {
    return std::abs(now - said) > part * std::max(said, now);
}

template <std::size_t N>
bool any_changed(const std::array<float, N>& said, const std::array<float, N>& now) {
    for (std::size_t i = 0; i < N; ++i)
        if (changed(double{said[i]}, double{now[i]}, kDemandChange))
            return true;
    return false;
}

// Written so that NaN is refused.
bool possible(const std::array<float, kParts>& tokens) {
    return std::all_of(tokens.begin(), tokens.end(),
                       [](float value) { return value >= 0.0F && value <= kTokensMax; });
}

bool possible(const FlowDemand& record) {
    return record.flow.source != record.flow.destination &&
           (record.marks & ~(FlowDemand::kNew | FlowDemand::kGone)) == 0 && possible(record.used) &&
           possible(record.backlog) && possible(record.queued) && possible(record.outstanding);
}

bool possible(const FlowAllocation& record) {
    return record.flow.source != record.flow.destination;
}

void read(Reader& in, FlowDemand& record) {
    in.get(record.flow.source);
    in.get(record.flow.destination);
    std::uint32_t marks_and_latency = 0;
    in.get(marks_and_latency);
    record.marks = marks_and_latency >> kMarksShift;
    record.latency_us = marks_and_latency & FlowDemand::kLatencyMax;
    for (auto* part : {&record.used, &record.backlog, &record.queued, &record.outstanding})
        for (float& value : *part)
            in.get(value);
}

void read(Reader& in, FlowAllocation& record) {
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
        Reader in(&body[at]);
        Record record;
        read(in, record);
        const std::uint64_t key = std::uint64_t{record.flow.source} << 32 | record.flow.destination;
        if (possible(record) && seen.insert(key).second)
            records.push_back(record);
        else
            ++refused;
    }
    return refused;
}

}  // namespace

bool is_gone(const FlowAllocation& record) {
    return std::all_of(record.rate.begin(), record.rate.end(),
                       [](std::uint64_t rate) { return rate == kNoStatement; });
}

void make_gone(FlowDemand& record) {
    record = FlowDemand{.flow = record.flow, .marks = FlowDemand::kGone};
}

void make_gone(FlowAllocation& record) {
    record = FlowAllocation{.flow = record.flow};
}

bool differs(const FlowDemand& said, const FlowDemand& now) {
    return now.marks != 0 || any_changed(said.used, now.used) || any_changed(said.backlog, now.backlog) ||
           any_changed(said.queued, now.queued) || any_changed(said.outstanding, now.outstanding) ||
           changed(said.latency_us, now.latency_us, kDemandChange);
}

bool differs(const FlowAllocation& said, const FlowAllocation& now) {
    for (std::size_t i = 0; i < kParts; ++i) {
        if ((said.rate[i] == kNoStatement) != (now.rate[i] == kNoStatement))
            return true;
        if (changed(static_cast<double>(said.rate[i]), static_cast<double>(now.rate[i]), kRateChange))
            return true;
    }
    return false;
}

void encode(const FlowDemand& record, Bytes& body) {
    body.resize(body.size() + kDemandBytes);
    Writer out(&body[body.size() - kDemandBytes]);
    out.put(record.flow.source);
    out.put(record.flow.destination);
    out.put(record.marks << kMarksShift | std::min(record.latency_us, FlowDemand::kLatencyMax));
    for (const auto* part : {&record.used, &record.backlog, &record.queued, &record.outstanding})
        for (const float value : *part)
            out.put(value);
}

void encode(const FlowAllocation& record, Bytes& body) {
    body.resize(body.size() + kAllocationBytes);
    Writer out(&body[body.size() - kAllocationBytes]);
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

}  // namespace weir::wire
