// sender_summary.h - all who send to one vNIC, against the rate that they were told.
// Source: EyeQ 3.2 (feedback goes to senders); the meter that knows its senders is ours.
// Units: accounted bytes; bytes per second; ns. Threads: any (pure); the table's owner.
#pragma once

#include <cstdint>
#include <span>

#include "common/clock.h"
#include "vswitch/qos/feedback/sender_table.h"

namespace weir {

/// A full frame on the wire.
inline constexpr float kFullFrame = 1538;
/// More bytes than chance brings: 5 full frames.
inline constexpr std::uint32_t kManyBytes = 8'000;

struct SenderSummary {
    std::uint32_t backlogged = 0;              ///< how many send as much as they were told
    std::uint32_t risen = 0;                   ///< how many are new, or send more than twice what they did
    double others = 0;                         ///< what those send that are not backlogged, per second
    std::span<const std::uint32_t> windows{};  ///< what each sent in the window, if anything
};

[[nodiscard]] inline double per_second(double amount, Nanos span) {
    return amount * static_cast<double>(kNanosPerSec) / static_cast<double>(span);
}
[[nodiscard]] inline double over(double per_sec, Nanos span) {
    return per_sec * static_cast<double>(span) / static_cast<double>(kNanosPerSec);
}

/// The level to which what each sent must be cut to be `room` bytes together.
[[nodiscard]] double level_of(std::span<const std::uint32_t> windows, double room);

/// Closes the window of every sender of a vNIC and forgets those long silent.
/// @param of_vnic the chain of its senders  @param told the least that they were told of late
/// @param room    for the windows: as many places as there may be senders
[[nodiscard]] SenderSummary close_windows(SenderTable& senders, std::uint32_t& of_vnic, std::uint64_t told,
                                          Nanos span, std::span<std::uint32_t> room);
/// The windows as they stand now.
[[nodiscard]] std::span<const std::uint32_t> open_windows(SenderTable& senders, std::uint32_t& of_vnic,
                                                          std::span<std::uint32_t> room);

}  // namespace weir
