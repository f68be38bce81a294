// token_bucket.cc - TokenBucket: the level in tokens, and how a change of rate keeps it.
#include "vswitch/qos/buckets/token_bucket.h"

namespace weir {

/// 1/65536 tokens; the bucket is not unlimited.
SignedWide TokenBucket::fine_level(Nanos now) const {
    const FineTime start = origin(profile_, now);
    const FineTime missing = is_after(full_at_, start) ? full_at_ - start : 0;
    const SignedWide earned = SignedWide{profile_.burst_time} - SignedWide{missing};
    // Multiplied, not shifted: the level may be negative.
    return earned * (SignedWide{1} << (kTokenBits + kLevelBits)) / SignedWide{profile_.time_per_token};
}

std::int64_t TokenBucket::level(Nanos now) const {
    if (profile_.unlimited())
        return INT64_MAX;
    // To nearest: prices are rounded, and 719.9999 tokens are 720.
    return static_cast<std::int64_t>((fine_level(now) + (SignedWide{1} << (kLevelBits - 1))) >> kLevelBits);
}

void TokenBucket::set_profile(const BucketProfile& profile, Nanos now) {
    SignedWide earned = SignedWide{profile.burst_time};
    if (!profile_.unlimited()) {
        const SignedWide rescaled =
            (fine_level(now) * SignedWide{profile.time_per_token}) >> (kTokenBits + kLevelBits);
        earned = std::clamp(rescaled, -SignedWide{kPriceMax}, earned);
    }
    full_at_ = origin(profile, now) + static_cast<FineTime>(SignedWide{profile.burst_time} - earned);
    profile_ = profile;
}

}  // namespace weir
