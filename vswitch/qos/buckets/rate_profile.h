// rate_profile.h - a token rate and a burst as the fixed-point numbers that a bucket works with.
// Source: Pulsar 4.4 (bucket), in the virtual-time form of GCRA (ITU-T I.371).
// Units: tokens (bytes, packets, requests) and fine time, 1/128 ns: a 64-byte frame at 100 Gbit/s takes 5.12
// ns, so rounding to whole nanoseconds would err by 2 %, rounding to 1/128 ns by less than 0.1 %. Threads:
// profiles are immutable values, computed on the control side (they divide), handed to the poll thread.
#pragma once

#include <cstdint>

#include "common/clock.h"
#include "common/types.h"

namespace weir {

/// Fine time: 1/128 ns, modulo 2^64, so that it begins anew after 4.57 years. Moments are compared by the
/// functions below and by nothing else.
using FineTime = std::uint64_t;
inline constexpr unsigned kFineBits = 7;
/// A moment is no further ahead of another than this (417 days), and may be up to 3.4 years behind.
inline constexpr FineTime kAheadMax = FineTime{1} << 62;
/// Fraction bits of BucketProfile::time_per_token beyond fine time.
inline constexpr unsigned kTokenBits = 24;
/// One cost never takes longer than this to earn (6.5 days): keeps sums of times far below kAheadMax.
inline constexpr FineTime kPriceMax = FineTime{1} << 56;

[[nodiscard]] constexpr FineTime to_fine(Nanos t) {
    return t << kFineBits;
}
[[nodiscard]] constexpr bool is_after(FineTime a, FineTime b) {
    return a - b - 1 < kAheadMax;
}
[[nodiscard]] constexpr FineTime later(FineTime a, FineTime b) {
    return is_after(a, b) ? a : b;
}
[[nodiscard]] constexpr FineTime earlier(FineTime a, FineTime b) {
    return is_after(a, b) ? b : a;
}
/// The moment in ns, rounded up; 0 if it was before the epoch.
[[nodiscard]] constexpr Nanos to_nanos(FineTime t, Nanos now) {
    const FineTime here = to_fine(now);
    if (is_after(t, here))
        return now + ((t - here + to_fine(1) - 1) >> kFineBits);
    const Nanos ago = (here - t) >> kFineBits;
    return ago < now ? now - ago : 0;
}

/// Rate and burst of a bucket, as fixed-point times. Build with the functions below.
struct BucketProfile {
    std::uint64_t time_per_token;  ///< 2^-24 fine time per token; 0 = unlimited
    FineTime burst_time;           ///< time in which an empty bucket fills, at least 1; 0 = parked

    [[nodiscard]] constexpr bool unlimited() const { return time_per_token == 0; }
    [[nodiscard]] constexpr bool parked() const { return burst_time == 0; }

    /// Time in which `cost` tokens are earned, rounded to nearest, at most kPriceMax.
    [[nodiscard]] constexpr FineTime price(std::uint32_t cost) const {
        constexpr Wide kHalf = Wide{1} << (kTokenBits - 1);
        const Wide exact = (Wide{cost} * time_per_token + kHalf) >> kTokenBits;
        return exact > kPriceMax ? kPriceMax : static_cast<FineTime>(exact);
    }
    bool operator==(const BucketProfile&) const = default;
};

/// @param tokens_per_sec 0 = parked: the bucket never pays until it gets another profile
/// @param burst_tokens   capacity of the bucket; 0 = no credit at all, pure pacing
[[nodiscard]] BucketProfile make_profile(std::uint64_t tokens_per_sec, std::uint64_t burst_tokens);
[[nodiscard]] BucketProfile unlimited_profile();

/// Default burst of a limit or a reservation, bytes. 4 ms of the rate, but no more than 64 KiB unless that is
/// less than 1 ms of it, and never less than two full frames. 4 ms bridge a stall of the poll thread without
/// loss of rate (TCP keeps >= 95 %); with one 64 KiB super-frame on top they are 0.53 % of a second's bytes
/// at 100 Mbit/s (bound: 1 %).
[[nodiscard]] std::uint64_t burst_for_rate(std::uint64_t bytes_per_sec);
/// Default burst of a packet limit, packets: 4 ms of the rate, at least 2.
[[nodiscard]] std::uint64_t burst_for_packet_rate(std::uint64_t packets_per_sec);
/// Burst of promised packets: 1 ms of the rate, longer than a turn of the poll loop, at least four bursts.
[[nodiscard]] std::uint64_t burst_for_promise(std::uint64_t packets_per_sec);
/// Burst of a link's shaper, bytes: 100 us of the rate, at least two full frames. A burst queues in the NIC,
/// where the scheduler cannot reorder it, so it is kept short.
[[nodiscard]] std::uint64_t burst_for_link(std::uint64_t bytes_per_sec);

}  // namespace weir
