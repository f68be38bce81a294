// encryption_promise.h - tokens of encryption per second that a vNIC may use independent of other vNICs.
// Source: Pulsar 2.1 (encryption as an appliance); docs/algorithms.md 3.5. Units: tokens of the tunnels' cost
// tables; TSC cycles; ns. Threads: one owner (the worker).
//
// The switch encrypts on its workers' cores, so the capacity of encryption is a part of their cycles. These
// are divided by shares (cycle_share.h), and `encrypt_limit` is the limit. The promise is the reservation: a
// bucket that earns `encrypt_reservation` tokens per second. While it holds a token, the ring may be polled
// though the vNIC has no credit of cycles. Frames that were polled by credit count as well, so a vNIC whose
// shares give it more than its promise gets no more for it.
//
// A poll pays for the cost of its frames, and at least as much as so many of the smallest frames in a tunnel:
// frames to VMs of the same host are not encrypted and must not be free. Every 1,024 cycles count as a frame.
//
// Example: with 1 Mtokens/s the bucket holds 10,000 tokens. A poll of 32 frames of 1,500 tokens leaves a debt
// of 38,000, and the next one follows 38 ms later.
#pragma once

#include <algorithm>
#include <cstdint>

#include "vswitch/base/limits.h"
#include "vswitch/qos/buckets/sharable_bucket.h"

namespace weir {

class EncryptionPromise {
  public:
    /// Keeps sums in range: of one poll, a second of the core and more.
    static constexpr std::uint64_t kFramesMax = 1 << 22;

    /// The ring may be polled, and pay() has to follow when that moved frames.
    [[nodiscard]] bool may_poll(Nanos now) const { return bucket_.can_pay(1, now); }
    /// @param tokens that the frames of the poll cost  @param least cost of the smallest frame
    /// @return time in which the promise earns the price
    FineTime pay(std::uint64_t tokens, std::uint32_t frames, std::uint64_t cycles, std::uint32_t least,
                 Nanos now) {
        const std::uint64_t counted = std::clamp<std::uint64_t>(
            cycles / limits::kPromisedPacketCycles, frames, std::max<std::uint64_t>(frames, kFramesMax));
        const auto paid = static_cast<std::uint32_t>(std::min(std::max(tokens, counted * least), kTokensMax));
        bucket_.pay(paid, now);
        return bucket_.price(paid);
    }
    /// Charges tokens for which the vNIC's credit of cycles has paid; the debt stays below one bucket.
    void count(std::uint64_t tokens, Nanos now) {
        bucket_.pay_bounded(static_cast<std::uint32_t>(std::min(tokens, kTokensMax)), now);
    }

    /// @param profile unlimited: no promise
    void set_profile(const BucketProfile& profile, Nanos now) { bucket_.set_profile(profile, now); }
    /// See SharableBucket::share().
    void share(BucketShare* share) { bucket_.share(share); }
    [[nodiscard]] bool given() const { return !bucket_.profile().unlimited(); }

  private:
    static constexpr std::uint64_t kTokensMax = UINT32_MAX;

    SharableBucket bucket_;
};

}  // namespace weir
