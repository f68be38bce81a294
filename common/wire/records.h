// records.h - what is said of a flow every interval: its demand upwards, its rates downwards.
// Source: design section 5; Pulsar 4.2 (eq. 6); byte by byte in docs/protocol.md.
// Units: tokens of the resource (bytes at links) in an interval; rates per second. Threads: any (values).
//
// A flow is named by the ids that the controller gave to its two ends (TABLES). Whatever it does uses at most
// three things: the way there, the appliance, and the way back; the controller knows which resources those
// are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/wire/header.h"

namespace weir::wire {

inline constexpr std::size_t kDemandBytes =
    60;  // with its part of a header below 64, from eight flows a message on
inline constexpr std::size_t kAllocationBytes = 32;

/// The parts of a flow's vectors. A flow to another vNIC has the way there alone.
enum class Part : std::uint8_t { kThere, kAppliance, kBack };
inline constexpr std::size_t kParts = 3;
// The same as places in such a vector; at an appliance tokens are asked for.
inline constexpr auto kThere = static_cast<std::size_t>(Part::kThere);
inline constexpr auto kTokens = static_cast<std::size_t>(Part::kAppliance);
inline constexpr auto kBack = static_cast<std::size_t>(Part::kBack);

/// No one has that many tokens in an interval: 1e15 bytes are 80 Tbit/s for 100 s.
inline constexpr float kTokensMax = 1e15F;
/// In a rate: the controller says nothing, what the switch has by itself counts.
inline constexpr std::uint64_t kNoStatement = UINT64_MAX;

/// What a FlowAllocation may speak of besides a flow's rates. From this source to an appliance: how many of
/// its tokens the switch that hears it may have outstanding there (`rate` of the appliance).
inline constexpr std::uint32_t kWholeHost = 0;
/// Added to an appliance as destination: what of that is reserved for the source, tokens per second, and in
/// `rate` of the way there its shares of what is over, 1..10000.
inline constexpr std::uint32_t kReserved = 0x8000'0000;

struct FlowKey {
    std::uint32_t source = 0;
    std::uint32_t destination = 0;
    auto operator<=>(const FlowKey&) const = default;
};

/// A flow's interval as its switch saw it.
struct FlowDemand {
    static constexpr std::uint32_t kNew = 1;   ///< its first packets came in this interval
    static constexpr std::uint32_t kGone = 2;  ///< nothing is known of it any more; all else is 0
    FlowKey flow;
    static constexpr std::uint32_t kLatencyMax = (1U << 28) - 1;  ///< us: four minutes and more
    std::uint32_t marks = 0;
    std::uint32_t latency_us =
        0;  ///< mean time of its requests at the appliance; 0 = none; at most kLatencyMax is said
    std::array<float, kParts> used{};         ///< tokens that passed; at the appliance: were answered
    std::array<float, kParts> backlog{};      ///< tokens that waited at the end
    std::array<float, kParts> queued{};       ///< tokens waiting, mean over the samples
    std::array<float, kParts> outstanding{};  ///< tokens on their way, mean over the samples
    bool operator==(const FlowDemand&) const = default;
};

/// What a flow may use until the next allocation, per second.
struct FlowAllocation {
    FlowKey flow;
    std::array<std::uint64_t, kParts> rate{kNoStatement, kNoStatement, kNoStatement};
    bool operator==(const FlowAllocation&) const = default;
};

// A record says that its flow is gone, and makes one that says so.
[[nodiscard]] inline bool is_gone(const FlowDemand& record) {
    return (record.marks & FlowDemand::kGone) != 0;
}
[[nodiscard]] bool is_gone(const FlowAllocation& record);
void make_gone(FlowDemand& record);
void make_gone(FlowAllocation& record);
/// Whether the other side should hear of it.
[[nodiscard]] bool differs(const FlowDemand& said, const FlowDemand& now);
[[nodiscard]] bool differs(const FlowAllocation& said, const FlowAllocation& now);

/// Appends the record to the body.
void encode(const FlowDemand& record, Bytes& body);
void encode(const FlowAllocation& record, Bytes& body);
/// Decodes a body of whole records, as decode_header() found it. Records that cannot be (NaN, negative,
/// beyond 1e15, unknown marks, a flow to itself, the same flow again) are left out. @return how many were
std::size_t decode(std::span<const std::uint8_t> body, std::vector<FlowDemand>& records);
std::size_t decode(std::span<const std::uint8_t> body, std::vector<FlowAllocation>& records);

}  // namespace weir::wire
