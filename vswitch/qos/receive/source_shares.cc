// source_shares.cc - SourceShares: credits in a table of hashes, and the share that follows the queue.
#include "vswitch/qos/receive/source_shares.h"

#include <algorithm>

namespace weir {
namespace {

/// Ticks of 1.024 us: 32 bits are 73 minutes.
constexpr unsigned kTickBits = 10;
constexpr double kTicksPerSec = 1e9 / (1U << kTickBits);
/// Credit that a source may save up: this time of its share, in s, and eight full frames at least, in bytes,
/// so that a TCP sender that has waited for its timer gets more than one frame through.
constexpr double kSaved = 0.02;
constexpr double kSavedLeast = 8 * 1538;
/// A source that was silent for longer may lose its places: a second.
constexpr std::uint32_t kForgotten = 976'563;
/// One that has come only once, sooner: 100 ms.
constexpr std::uint32_t kForgottenOnce = 97'656;
/// How the share follows the queue, per period: by its distance from a half, and by its change.
constexpr double kByDistance = 0.06;
constexpr double kByChange = 1.0;
constexpr double kFactorLeast = 0.5;
constexpr double kFactorMost = 1.1;
/// With a queue beyond this part of its bound the share is far too high.
constexpr double kFull = 0.95;
constexpr double kFullFactor = 0.7;
/// No share is below this: 8 kbit/s.
constexpr double kShareLeast = 1000;

/// SplitMix64's last step: every bit of the input changes half of the output's.
std::uint64_t mix(std::uint64_t word) {
    word = (word ^ word >> 30) * 0xBF58'476D'1CE4'E5B9;
    word = (word ^ word >> 27) * 0x94D0'49BB'1331'11EB;
    return word ^ word >> 31;
}

std::uint32_t tick(Nanos now) {
    return static_cast<std::uint32_t>(now >> kTickBits) | 1U;  // 0 means never
}

}  // namespace

SourceShares::SourceShares(std::size_t receivers, const SourceKey& key)
    : key_(key), receivers_(receivers), places_(kRows << kPlaceBits) {}

/// @param queued part of the queue's bound that is in use
void SourceShares::follow(Receiver& r, double queued, Nanos now) {
    if (now - r.changed < kPeriod)
        return;
    r.changed = now;
    const double wanted = 1 + kByDistance * (0.5 - queued) - kByChange * (queued - r.queued);
    r.share *= queued > kFull ? kFullFactor : std::clamp(wanted, kFactorLeast, kFactorMost);
    r.share = std::clamp(r.share, kShareLeast, kShareMost);
    r.queued = queued;
}

bool SourceShares::may_enter(VnicId receiver, const SourceAddress& source, std::uint32_t bytes,
                             std::uint32_t queued, std::uint32_t most, Nanos now) {
    constexpr std::uint64_t kPlaceMask = (std::uint64_t{1} << kPlaceBits) - 1;
    Receiver& r = receivers_[receiver];
    follow(r, static_cast<double>(queued) / most, now);
    const double saved = std::max(kSavedLeast, r.share * kSaved);
    const double per_tick = r.share / kTicksPerSec;
    const std::uint32_t at = tick(now);
    const std::uint64_t first = mix((source.high ^ key_[0]) + mix(source.low ^ key_[1]) + receiver);
    const std::uint64_t second = mix(first ^ key_[2]);
    const auto tag = static_cast<std::uint32_t>(first >> 32 ^ second);
    std::array<Place*, kRows> mine;
    std::size_t places = 0;
    float best = 0;
    for (std::size_t row = 0; row < kRows; ++row) {
        const std::uint64_t hash = (row % 2 == 0 ? first : second) >> (row / 2 * kPlaceBits);
        Place& place = places_[row << kPlaceBits | (hash & kPlaceMask)];
        const std::uint32_t since = at - place.seen;
        const std::uint32_t kept = place.credit > 0 ? kForgotten : kForgottenOnce;
        if (place.tag != tag && place.seen != 0 && since < kept)
            continue;
        const bool new_here = place.tag != tag || place.seen == 0;
        const double credit = new_here ? 0 : std::min(saved, place.credit + since * per_tick);
        place = {tag, at, static_cast<float>(credit)};
        best = std::max(best, place.credit);
        mine[places++] = &place;
    }
    const bool pays = best >= static_cast<float>(bytes);
    for (std::size_t i = 0; pays && i < places; ++i)
        mine[i]->credit -= std::min(mine[i]->credit, static_cast<float>(bytes));
    return pays ? queued + bytes <= most : queued < most / 4;
}

}  // namespace weir
