// rate_profile.cc - rates and bursts to fixed-point numbers: the divisions that the data path must not do.
#include "vswitch/qos/buckets/rate_profile.h"

#include <algorithm>

namespace weir {
namespace {

constexpr std::uint64_t kTwoFrames = 2 * (1514 + 24);       // MTU 1500 on the wire, without a VLAN tag
constexpr std::uint64_t kSuperFrame = 64 * 1024;            // the largest buffer of a guest with TSO
constexpr std::uint64_t kRateMax = std::uint64_t{1} << 50;  // 9 Pbit/s: beyond it a token takes no time

}  // namespace

BucketProfile unlimited_profile() {
    return {.time_per_token = 0, .burst_time = 1};
}

BucketProfile make_profile(std::uint64_t tokens_per_sec, std::uint64_t burst_tokens) {
    // Parked: one token is one tick, so that the bucket keeps its debt, counted in tokens (see
    // token_bucket.h).
    if (tokens_per_sec == 0)
        return {.time_per_token = std::uint64_t{1} << kTokenBits, .burst_time = 0};
    if (tokens_per_sec > kRateMax)
        return unlimited_profile();
    const Wide per_sec = Wide{kNanosPerSec} << (kFineBits + kTokenBits);
    const auto time_per_token = static_cast<std::uint64_t>((per_sec + tokens_per_sec / 2) / tokens_per_sec);
    const Wide burst = (Wide{burst_tokens} * time_per_token) >> kTokenBits;
    return {.time_per_token = time_per_token,
            .burst_time = static_cast<FineTime>(std::clamp<Wide>(burst, 1, kPriceMax))};
}

std::uint64_t burst_for_rate(std::uint64_t bytes_per_sec) {
    const std::uint64_t least = bytes_per_sec / 1000;
    const std::uint64_t most = bytes_per_sec / 250;
    return std::max(kTwoFrames, std::clamp(kSuperFrame, least, most));
}

std::uint64_t burst_for_packet_rate(std::uint64_t packets_per_sec) {
    return std::max<std::uint64_t>(2, packets_per_sec / 250);
}

std::uint64_t burst_for_promise(std::uint64_t packets_per_sec) {
    return std::max<std::uint64_t>(128, packets_per_sec / 1000);
}

std::uint64_t burst_for_link(std::uint64_t bytes_per_sec) {
    return std::max(kTwoFrames, bytes_per_sec / 10'000);
}

}  // namespace weir
