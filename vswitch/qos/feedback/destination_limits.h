// destination_limits.h - limiters of single destinations, opened by a receiver's feedback or by the
// controller. Source: EyeQ 3.3; Pulsar 4.4; docs/algorithms.md 4.4. Units: tokens are accounted bytes; rates
// in tokens per second; ns. Threads: one owner (a worker). Allocates only when built.
//
// A destination is the traffic of one vNIC to one address (the VLAN is the vNIC's). It gets a limiter when
// its receiver's switch advertises a rate below the line rate, or when the controller allocates a rate to it;
// the lower of the two rates holds. Destinations with an allocation are counted, too.
//
// Feedback frames get lost, so an advertised rate is trusted for 100 ms. After that it halves every 100 ms: 1
// Gbit/s falls to the minimum of 10 Mbit/s in 0.7 s. A destination without an allocation is erased when its
// rate has reached the line rate, or when it had no traffic for 2 s.
//
// The table holds rates only: packets wait in the scheduler, which asks for the limiter. New destinations
// take the lowest free place, so that a sweep visits the places used of late and not the whole table.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/clock.h"
#include "common/types.h"
#include "vswitch/qos/buckets/token_bucket.h"

namespace weir {

/// Place of a limited destination in its table, 0 .. capacity-1.
using DestinationId = std::uint32_t;
/// The destination has no limiter.
inline constexpr DestinationId kNoDestination = UINT32_MAX;

class DestinationLimits {
  public:
    struct Profile {
        std::uint64_t rate_min = 1'250'000;       ///< lowest rate that feedback or silence sets: 10 Mbit/s
        std::uint64_t line_rate = 1'250'000'000;  ///< rate from which on a destination needs no limiter
        Nanos silence = 100'000'000;              ///< time without feedback after which the rate halves
        /// Time without traffic and feedback (up to 2 ms more) that erases a limiter.
        Nanos idle = 2'000'000'000;
    };
    enum class Change : std::uint8_t {
        kOpened,     ///< the destination has a limiter now
        kChanged,    ///< its rate was set
        kNotNeeded,  ///< there is no limiter, and the rate needs none
        kStale,      ///< the feedback's sequence is not newer than the last one
        kFull        ///< the table has no free place
    };
    struct Result {
        Change change;
        DestinationId destination;  ///< kNoDestination unless opened or changed
    };

    /// @param capacity destinations, a power of two above 1  @param vnics VnicIds are 0 .. vnics-1
    DestinationLimits(std::uint32_t capacity, std::size_t vnics, const Profile& profile);

    /// Costs one compare for a vNIC without limited destinations.
    [[nodiscard]] DestinationId find(VnicId vnic, std::uint64_t address) const {
        if (counts_[vnic] == 0)
            return kNoDestination;
        DestinationId at = buckets_[bucket_of(vnic, address)];
        while (at != kNoDestination && (entries_[at].address != address || entries_[at].vnic != vnic))
            at = entries_[at].next;
        return at;
    }
    [[nodiscard]] bool has_any(VnicId vnic) const { return counts_[vnic] != 0; }
    [[nodiscard]] bool has_allocated(VnicId vnic) const { return allocated_counts_[vnic] != 0; }

    /// A receiver's switch advertises `rate` for the vNIC's packets to `address`. Sequences compare as serial
    /// numbers (RFC 1982); once a rate was halved in silence any sequence is accepted, as the receiver may
    /// have restarted.
    Result on_feedback(VnicId vnic, std::uint64_t address, std::uint64_t rate, std::uint32_t sequence,
                       Nanos now);

    /// The controller allocates `rate`, at least 1 (UINT64_MAX: the destination is only counted), or
    /// withdraws its allocation (nullopt). @return opened, changed, full; not needed when there is nothing to
    /// withdraw
    Result allocate(VnicId vnic, std::uint64_t address, std::optional<std::uint64_t> rate, Nanos now);
    [[nodiscard]] bool is_allocated(DestinationId at) const { return entries_[at].allocated; }
    /// Bytes sent to the destination since it got an allocation.
    [[nodiscard]] std::uint64_t allocated_bytes(DestinationId at) const { return allocations_[at].bytes; }

    /// Bytes to the destination that were dropped because its queue was full, since it got an allocation, but
    /// for those that the receiver's rate held.
    [[nodiscard]] std::uint64_t refused_bytes(DestinationId at) const { return allocations_[at].refused; }
    /// A rate that its receiver advertised holds the destination's traffic, and not the allocated one.
    [[nodiscard]] bool is_held_by_receiver(DestinationId at) const {
        return advertised_rate(at) < (entries_[at].allocated ? allocations_[at].rate : UINT64_MAX) &&
               advertised_rate(at) < profile_.line_rate;
    }

    /// Nothing may wait for the destination any more.
    void erase(DestinationId at);
    /// Erases the vNIC's destinations; calls closed(destination) before each.
    template <typename Closed>
    void erase_vnic(VnicId vnic, Closed&& closed);

    [[nodiscard]] TokenBucket& limiter(DestinationId at) { return entries_[at].limiter; }
    [[nodiscard]] VnicId vnic_of(DestinationId at) const { return entries_[at].vnic; }
    [[nodiscard]] std::uint64_t rate(DestinationId at) const { return entries_[at].rate; }
    /// The destination has traffic: it is not idle.
    void touch(DestinationId at, Nanos now) { entries_[at].used_at = ticks(now); }
    /// Counts sent bytes, if the destination has an allocation.
    void count(DestinationId at, std::uint32_t bytes) {
        if (!entries_[at].allocated)
            return;
        allocations_[at].bytes += bytes;
        sent_[entries_[at].vnic] += bytes;
    }
    /// Counts dropped bytes likewise.
    void count_refused(DestinationId at, std::uint32_t bytes) {
        if (entries_[at].allocated && !is_held_by_receiver(at))
            allocations_[at].refused += bytes;
    }

    /// Visits the next `budget` places: halves rates in silence and calls changed(destination); erases
    /// destinations that are idle or need no limiter if may_erase(destination) is true (nothing waits for
    /// them).
    template <typename MayErase, typename Changed>
    void sweep(Nanos now, unsigned budget, MayErase&& may_erase, Changed&& changed);

    [[nodiscard]] std::uint32_t size() const { return size_; }
    /// Destinations that only feedback limits: those without an allocation.
    [[nodiscard]] std::uint32_t advertised() const { return size_ - allocated_; }
    [[nodiscard]] std::uint32_t advertised(VnicId vnic) const {
        return counts_[vnic] - allocated_counts_[vnic];
    }
    /// Bytes that the vNIC has sent to destinations with an allocation.
    [[nodiscard]] std::uint64_t sent_bytes(VnicId vnic) const { return sent_[vnic]; }
    [[nodiscard]] std::uint32_t capacity() const { return static_cast<std::uint32_t>(entries_.size()); }

  private:
    /// Coarse time, 2^20 ns (1.05 ms) each: 32 bits wrap after 52 days. Compared by difference.
    using Ticks = std::uint32_t;
    static constexpr unsigned kTickBits = 20;

    struct alignas(64) Entry {
        std::uint64_t address = 0;
        TokenBucket limiter;
        std::uint64_t rate = 0;
        Nanos feedback_at = 0;  ///< when feedback came or the rate was halved last
        Ticks used_at = 0;
        DestinationId next = kNoDestination;  ///< in its hash bucket, or among the free places
        std::uint32_t sequence = 0;           ///< of the last feedback
        VnicId vnic = kNoVnic;                ///< kNoVnic: the place is free
        bool silent = false;                  ///< the rate was halved since the last feedback
        bool allocated = false;
    };
    static_assert(sizeof(Entry) == 64);
    /// Apart from Entry, as the data path reads it only where an allocation is set.
    struct Allocation {
        std::uint64_t rate = 0;
        std::uint64_t advertised = 0;  ///< the receiver's rate; the line rate without feedback
        std::uint64_t bytes = 0;
        std::uint64_t refused = 0;
    };

    [[nodiscard]] static Ticks ticks(Nanos time) { return static_cast<Ticks>(time >> kTickBits); }
    [[nodiscard]] std::size_t bucket_of(VnicId vnic, std::uint64_t address) const {
        return ((address ^ static_cast<std::uint64_t>(vnic) << 48) * 0x9E37'79B9'7F4A'7C15) >> shift_;
    }
    Result open(VnicId vnic, std::uint64_t address, std::uint64_t rate, std::uint32_t sequence, Nanos now);
    void set_rate(Entry& entry, std::uint64_t rate, Nanos now);
    void set_allocated(Entry& entry, bool allocated);
    void set_advertised(DestinationId at, std::uint64_t rate, Nanos now);
    [[nodiscard]] std::uint64_t advertised_rate(DestinationId at) const {
        return entries_[at].allocated ? allocations_[at].advertised : entries_[at].rate;
    }
    [[nodiscard]] bool idle(const Entry& entry, Nanos now) const {
        return ticks(now) - entry.used_at > idle_ticks_;
    }
    [[nodiscard]] bool dispensable(const Entry& entry, Nanos now) const {
        return !entry.allocated && (entry.rate >= profile_.line_rate || idle(entry, now));
    }

    Profile profile_;
    Ticks idle_ticks_;  ///< at least Profile::idle
    unsigned shift_;
    std::uint32_t size_ = 0;
    std::uint32_t allocated_ = 0;
    DestinationId end_ = 0;                ///< no place from here on was in use since the table was empty
    DestinationId free_ = kNoDestination;  ///< list of the free places before end_
    DestinationId cursor_ = 0;             ///< the sweep's next place
    std::vector<DestinationId> buckets_;
    std::vector<Entry> entries_;
    std::vector<Allocation> allocations_;  // by destination
    std::vector<std::uint32_t> counts_;    // destinations by vNIC
    std::vector<std::uint32_t> allocated_counts_;
    std::vector<std::uint64_t> sent_;  // bytes to destinations with an allocation, by vNIC
};

template <typename MayErase, typename Changed>
void DestinationLimits::sweep(Nanos now, unsigned budget, MayErase&& may_erase, Changed&& changed) {
    for (budget = std::min(budget, end_); budget > 0 && size_ != 0; --budget) {
        if (cursor_ >= end_)
            cursor_ = 0;
        const DestinationId at = cursor_++;
        Entry& entry = entries_[at];
        if (entry.vnic == kNoVnic)
            continue;
        if (dispensable(entry, now) && may_erase(at)) {
            erase(at);
        } else if (advertised_rate(at) < profile_.line_rate && now >= entry.feedback_at + profile_.silence) {
            entry.silent = true;
            entry.feedback_at = now;
            // An idle destination with an allocation is not erased, but its feedback has expired all the
            // same.
            const bool expired = entry.allocated && idle(entry, now);
            set_advertised(at, expired ? profile_.line_rate : advertised_rate(at) / 2, now);
            changed(at);
        }
    }
}

template <typename Closed>
void DestinationLimits::erase_vnic(VnicId vnic, Closed&& closed) {
    for (DestinationId at = 0; counts_[vnic] != 0; ++at) {
        if (entries_[at].vnic != vnic)
            continue;
        closed(at);
        erase(at);
    }
    sent_[vnic] = 0;
}

}  // namespace weir
