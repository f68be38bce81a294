// records.h - the fixed-size records of messages: a flow's demand and allocation in an interval, a vNIC's
// usage in a billing period.
// Source: Pulsar 4.2; SoftBW 4.2; docs/design.md 5.5; docs/protocol.md.
// Units: tokens of the resource (bytes at links) per interval in demands, per second in rates.
// Threads: any (values).
//
// A flow is identified by the ids that the controller assigned to its two endpoints (TABLES). It uses at most
// three resources, the parts of its vectors: the way there, the appliance, and the way back.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/guarantee.h"
#include "common/wire/header.h"

namespace weir::wire {

inline constexpr std::size_t kDemandBytes =
    60;  ///< from eight flows a message on, with header below 64 a flow
inline constexpr std::size_t kAllocationBytes = 32;
inline constexpr std::size_t kUsageBytes = 40;
inline constexpr std::size_t kBilledBytes = 8;

/// The parts of a flow's vectors. A flow to another vNIC has only the way there.
enum class Part : std::uint8_t { kThere, kAppliance, kBack };
inline constexpr std::size_t kParts = 3;
// The same as indices.
inline constexpr auto kThere = static_cast<std::size_t>(Part::kThere);
inline constexpr auto kTokens = static_cast<std::size_t>(Part::kAppliance);
inline constexpr auto kBack = static_cast<std::size_t>(Part::kBack);

/// Largest amount in a demand: 1e15 bytes are 80 Tbit/s for 100 s.
inline constexpr float kTokensMax = 1e15F;
/// As a rate: the controller states none, and the switch uses its own.
inline constexpr std::uint64_t kNoStatement = UINT64_MAX;

/// A FlowAllocation from this source to an appliance holds, as `rate` of the appliance, the tokens that all
/// requests of the receiving switch may have outstanding there.
inline constexpr std::uint32_t kWholeHost = 0;
/// Added to an appliance as destination: `rate` of the appliance holds the tokens per second of that window
/// that are reserved for the source, and `rate` of the way there its shares of the rest, 1..10000.
inline constexpr std::uint32_t kReserved = 0x8000'0000;

struct FlowKey {
    std::uint32_t source = 0;
    std::uint32_t destination = 0;
    auto operator<=>(const FlowKey&) const = default;
};

/// The limit for which a flow's requests waited most of the interval.
enum class Blocked : std::uint8_t {
    kNotStated,  ///< nothing waited for long, or the switch does not state it
    kAppliance,  ///< the rate at the appliance that the controller allocated, or the appliance's window
    kWay,        ///< the controller's rate of the way there or back
    kOwnLimit,   ///< a limit that the switch has besides, and the controller does not know
};
inline constexpr std::size_t kBlockedBy = 4;

/// Demand of a flow in one interval, as its switch measured it.
struct FlowDemand {
    static constexpr std::uint32_t kNew = 1;      ///< the flow's first packets came in this interval
    static constexpr std::uint32_t kRemoved = 2;  ///< the switch forgot the flow; all amounts are 0
    FlowKey flow;
    static constexpr std::uint32_t kLatencyMax = (1U << 28) - 1;  ///< us: more than four minutes
    std::uint32_t marks = 0;
    std::uint32_t latency_us = 0;  ///< mean of its requests at the appliance; 0 = none; capped at kLatencyMax
    Blocked blocked = Blocked::kNotStated;    ///< stated only to a controller with the capability `blocked`
    std::array<float, kParts> used{};         ///< tokens that passed; at the appliance, those answered
    std::array<float, kParts> backlog{};      ///< tokens waiting at the end of the interval
    std::array<float, kParts> queued{};       ///< tokens waiting, mean over the samples
    std::array<float, kParts> outstanding{};  ///< tokens sent and not answered, mean over the samples
    bool operator==(const FlowDemand&) const = default;
};

/// Rates that a flow may use until the next allocation, per second.
struct FlowAllocation {
    FlowKey flow;
    std::array<std::uint64_t, kParts> rate{kNoStatement, kNoStatement, kNoStatement};
    bool operator==(const FlowAllocation&) const = default;
};

/// Times and amounts of usage are below it.
inline constexpr std::uint64_t kUsageMax = std::uint64_t{1} << 62;

/// Usage of a vNIC in one billing period. Times are Unix nanoseconds.
struct Usage {
    std::uint32_t vnic = 0;  ///< id of its endpoint
    GuaranteeKind guarantee = GuaranteeKind::kBestEffort;
    std::uint64_t began = 0;
    std::uint64_t ended = 0;
    std::uint64_t promised = 0;   ///< bytes per second
    std::uint64_t delivered = 0;  ///< bytes in the period
    bool operator==(const Usage&) const = default;
};

/// A record that removes its flow from the receiver's table.
[[nodiscard]] inline bool is_removed(const FlowDemand& record) {
    return (record.marks & FlowDemand::kRemoved) != 0;
}
[[nodiscard]] bool is_removed(const FlowAllocation& record);
void make_removed(FlowDemand& record);
void make_removed(FlowAllocation& record);
/// `now` differs enough from the record that was sent last to be sent before the next snapshot.
[[nodiscard]] bool differs(const FlowDemand& sent, const FlowDemand& now);
[[nodiscard]] bool differs(const FlowAllocation& sent, const FlowAllocation& now);

/// Appends the record to the body.
void encode(const FlowDemand& record, Bytes& body);
void encode(const FlowAllocation& record, Bytes& body);
void encode(const Usage& record, Bytes& body);
/// Decodes a body of whole records, whose size decode_header() has checked. Impossible records are left out:
/// amounts that are NaN, negative or beyond 1e15; unknown guarantees; a flow to itself, or repeated in the
/// message; usage that ends before it begins, or exceeds 2^62. @return records left out
std::size_t decode(std::span<const std::uint8_t> body, std::vector<FlowDemand>& records);
std::size_t decode(std::span<const std::uint8_t> body, std::vector<FlowAllocation>& records);
std::size_t decode(std::span<const std::uint8_t> body, std::vector<Usage>& records);

/// Body of a BILLED: the usage of periods that ended at or before `through` is stored, or refused for good,
/// and need not be sent again.
[[nodiscard]] Bytes encode_billed(std::uint64_t through);
/// @return 0 when the body has a wrong size
[[nodiscard]] std::uint64_t decode_billed(std::span<const std::uint8_t> body);

}  // namespace weir::wire
