// packet_promise.h - packets per second that are taken from a vNIC's ring, independent of other vNICs.
// Source: docs/algorithms.md 3.5. Units: packets; TSC cycles; ns. Threads: one owner (the worker).
//
// A core is divided by shares of cycles (cycle_share.h), so the packets per second that a vNIC gets depend on
// its neighbors. The promise is a floor under that division, as a reservation is under the shares of a link
// (wrr_scheduler.h): a bucket that earns `reservation_pps` packets per second. While it holds a packet, the
// ring may be polled though the vNIC has no credit of cycles, and the credit is not charged. Packets that
// were paid with credit count as well, so a vNIC whose shares give it more than its promise gets no more for
// it. A promised packet is worth 1,024 cycles at most, five times the cost of a packet of 64 bytes: a poll
// that took longer pays by its cycles, so that promised packets cannot be used to take the core.
//
// Example: with 100,000 packets per second the bucket holds 128. A poll of 32 packets that took 3,200 cycles
// pays 32, so four follow each other, and then one packet passes every 10 us. A poll of one packet that was
// flooded to 100 vNICs and took 102,400 cycles pays 100.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "vswitch/base/limits.h"
#include "vswitch/qos/buckets/sharable_bucket.h"

namespace weir {

class PacketPromise {
  public:
    /// Keeps sums in range: of one poll, a second of the core and more.
    static constexpr std::uint64_t kPaymentMax = 1 << 22;

    /// The ring may be polled, and pay() has to follow when that moved packets.
    [[nodiscard]] bool may_poll(Nanos now) const { return bucket_.can_pay(1, now); }
    /// @param cycles of the core that the poll of these packets used  @return time in which the promise earns
    /// the price
    FineTime pay(std::uint32_t packets, std::uint64_t cycles, Nanos now) {
        static_assert(std::has_single_bit(limits::kPromisedPacketCycles));  // a shift, not a division
        const std::uint64_t price = std::max<std::uint64_t>(packets, cycles / limits::kPromisedPacketCycles);
        const auto packets_paid = static_cast<std::uint32_t>(std::min(price, kPaymentMax));
        bucket_.pay(packets_paid, now);
        return bucket_.price(packets_paid);
    }
    /// Charges packets whose cycles the vNIC's credit has paid; the debt stays below one bucket's burst.
    void count(std::uint32_t packets, Nanos now) { bucket_.pay_bounded(packets, now); }

    /// @param profile made with burst_for_promise(), or unlimited: no promise
    void set_profile(const BucketProfile& profile, Nanos now) { bucket_.set_profile(profile, now); }
    /// See SharableBucket::share().
    void share(BucketShare* share) { bucket_.share(share); }
    [[nodiscard]] bool given() const { return !bucket_.profile().unlimited(); }

  private:
    SharableBucket bucket_;
};

}  // namespace weir
