// spread.h - a vNIC whose queue pairs several workers poll: the buckets and parts of its members.
// Source: docs/design.md 2; docs/algorithms.md 3.17. Units: as BucketProfile, ClassProfile. Threads: Spread:
// built by the agent, then as its parts say; SpreadMember: the member's worker.
//
// Each worker has a member: a VnicPath with an id of its own, with some of the guest's queue pairs, and with
// its queues. The first member is the vNIC's home; the agent, addresses and other switches know the vNIC by
// it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "common/types.h"
#include "vswitch/base/limits.h"
#include "vswitch/qos/buckets/common_bucket.h"
#include "vswitch/qos/buckets/limiter.h"
#include "vswitch/qos/link_share.h"
#include "vswitch/qos/schedulers/link_scheduler.h"

namespace weir {

struct Spread {
    /// Of `parts`: all of the vNIC's reservation and shares of the uplink.
    static constexpr std::uint64_t kWhole = 1U << 30;

    /// @param all_ids of the members, home first, 2 to limits::kWorkersMax
    /// @param link its rate, bytes per second
    Spread(std::span<const VnicId> all_ids, std::uint64_t link)
        : members(all_ids.size()), link_rate(link), parts(all_ids.size(), kWhole, 0) {
        std::ranges::copy(all_ids, ids.begin());
    }

    [[nodiscard]] std::span<const VnicId> all() const { return {ids.data(), members}; }

    std::size_t members;
    std::array<VnicId, limits::kWorkersMax> ids{};  ///< of the members, home first
    std::uint64_t link_rate;
    LinkShare parts;  ///< by member
    CommonBucket limit_bytes;
    CommonBucket limit_packets;
    CommonBucket encryption;
    CommonBucket promise;
    CommonBucket encryption_promise;
    CommonBucket flood;
    CommonBucket receive;
};

struct SpreadMember {
    SpreadMember(Spread& of, std::size_t at)
        : spread(of),
          index(at),
          limit{BucketShare(of.limit_bytes, at), BucketShare(of.limit_packets, at)},
          encryption(of.encryption, at),
          promise(of.promise, at),
          encryption_promise(of.encryption_promise, at),
          flood(of.flood, at),
          receive(of.receive, at) {}

    /// The member's part of the vNIC's class.
    [[nodiscard]] ClassProfile part(const ClassProfile& whole) const;
    /// Reports the member's use of the uplink; without any the others may have its part.
    /// @param used bytes per second  @param backlogged frames wait for the uplink
    void report(const ClassProfile& whole, std::uint64_t used, bool backlogged);

    Spread& spread;
    std::size_t index;
    LimiterShares limit;
    BucketShare encryption;
    BucketShare promise;
    BucketShare encryption_promise;
    BucketShare flood;
    BucketShare receive;
    std::uint64_t sent_before = 0;  ///< bytes, at the last report of a rate
};

}  // namespace weir
