// rls_scheduler.h - reservation, limit and shares by tags: classes behind their reservation first, then by
// shares. Source: mClock (OSDI'10); SRP 4; docs/algorithms.md 3.4. Units: bytes; ns; fine time. Threads: one
// owner.
//
// Each contending class has two tags, for its first packet only, so that a changed rate counts from the next
// packet. The reservation's tag is a time-to-send: a packet whose tag has come is due. Due packets leave
// first, the one with the least tag before the others, and may drive the link into a bounded debt. All other
// service goes to the least shares' tag, which grows with each packet by its bytes divided by the shares. The
// limit's tag is the vNIC's limiter. Service by shares does not move the reservation's tag; service by
// reservation moves the shares' tag, so that shares divide the whole link.
//
// Two differences to mClock. A class that begins to contend starts at the virtual time, which is the tag of
// the last service by shares, and not at the least tag of the others: the service that these took while a
// limit left capacity over is not held against them. And service by reservation moves the shares' tag at most
// one burst beyond the virtual time: a class that gives up a large reservation has no debt.
//
// Example: a link of 100 packets per second; A has a reservation of 20 and one share, B two shares and a
// limit of 40, C one share. By shares they would get 25, 50 and 25. B stops at 40, and A and C get 30 each:
// A's reservation of 20 is within that and changes nothing. With a reservation of 60 A gets 60, B 27 and
// C 13.
#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdint>
#include <vector>

#include "vswitch/qos/schedulers/link_scheduler.h"
#include "vswitch/qos/schedulers/time_to_send.h"

namespace weir {

/// Classes by tag, the least on top; of equal tags the lower class. A tournament tree: every place holds the
/// lesser of the two below it, so an update touches one place per doubling of the classes and branches on no
/// tag. The low 12 bits of a key hold the class: tags that differ only there count as equal. Allocates only
/// when built.
class TagHeap {
  public:
    static constexpr unsigned kIdBits = 12;

    /// @param ids are 0 .. ids-1
    explicit TagHeap(std::size_t ids) : leaves_(std::bit_ceil(ids)), keys_(2 * leaves_, kNone) {
        assert(ids <= std::size_t{1} << kIdBits);
    }

    [[nodiscard]] bool empty() const { return keys_[kRoot] == kNone; }
    [[nodiscard]] VnicId top() const { return static_cast<VnicId>(keys_[kRoot] & kIdMask); }
    /// No more than the tag of top(), by 4095 at most.
    [[nodiscard]] std::uint64_t top_tag() const { return keys_[kRoot] & ~kIdMask; }
    /// The tag counts as top()'s.
    [[nodiscard]] bool is_top(VnicId id, std::uint64_t tag) const { return keys_[kRoot] == key(id, tag); }

    /// The class is in with this tag or less. One that is in already with less stays where it is: raise it
    /// when it is on top.
    void put(VnicId id, std::uint64_t tag) {
        const std::uint64_t k = key(id, tag);
        if (k < keys_[leaves_ + id])
            set(id, k);
    }
    /// @param tag at least the top's
    void raise_top(std::uint64_t tag) { set(top(), key(top(), tag)); }
    void pop() { set(top(), kNone); }
    void clear() { std::ranges::fill(keys_, kNone); }

  private:
    static constexpr std::uint64_t kIdMask = (std::uint64_t{1} << kIdBits) - 1;
    static constexpr std::uint64_t kNone = UINT64_MAX;
    /// Below place p are 2 p and 2 p + 1.
    static constexpr std::size_t kRoot = 1;

    [[nodiscard]] static std::uint64_t key(VnicId id, std::uint64_t tag) { return (tag & ~kIdMask) | id; }
    void set(VnicId id, std::uint64_t k) {
        std::size_t place = leaves_ + id;
        keys_[place] = k;
        for (; place != kRoot; place /= 2) {
            k = std::min(k, keys_[place ^ 1]);
            keys_[place / 2] = k;
        }
    }

    std::size_t leaves_;
    std::vector<std::uint64_t> keys_;
};

class RlsScheduler final : public LinkScheduler {
  public:
    explicit RlsScheduler(const Setup& setup);

    [[nodiscard]] std::size_t dequeue_burst(Nanos now, std::span<PacketRef> out) override;
    [[nodiscard]] Nanos next_ready(Nanos now) const override;

  private:
    /// State of a class besides LinkScheduler::Class; one cache line.
    struct alignas(64) Tags {
        TimeToSend due;                             ///< reservation
        FineTime share = 0;                         ///< in virtual time
        BucketProfile weight = make_profile(0, 0);  ///< price: virtual time of bytes; burst: of one burst
        bool contends = false;                      ///< if not, its entries in the heaps are void
    };
    static_assert(sizeof(Tags) == 64);

    void join(VnicId id, Nanos now) override;
    void leave(VnicId id) override;
    void shares_changed(Nanos now) override;

    /// A class is due; the one with the least tag is on top of by_due_.
    [[nodiscard]] bool any_due(Nanos now);
    /// A class contends; the one with the least tag is on top of by_share_.
    [[nodiscard]] bool any_by_share();
    bool serve_due(Nanos now, PacketRef& out);
    bool serve_by_share(Nanos now, PacketRef& out);
    /// Subtracts the virtual time from all tags, long before it would overflow.
    void move_virtual_time_back();
    /// Gives all classes new tags in by_due_, where moments count from `due_base_`, so that they do not wrap.
    void move_due_base(Nanos now);
    /// A moment before the base is due like the base.
    [[nodiscard]] FineTime due_tag(const TimeToSend& due) const {
        return is_after(due.fine(), due_base_) ? due.fine() - due_base_ : 0;
    }
    /// 208 days.
    static constexpr FineTime kBaseMax = kAheadMax / 2;

    // Tags may move later without an update of the heaps: a class on top is checked, and put in its place.
    TagHeap by_due_;
    TagHeap by_share_;
    std::vector<Tags> tags_;
    FineTime due_base_ = 0;
    FineTime virtual_ = 0;  ///< tag of the last packet sent by shares
};

}  // namespace weir
