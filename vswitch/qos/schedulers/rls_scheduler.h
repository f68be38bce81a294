// rls_scheduler.h - reservation, limit, shares by tags: who is behind its reservation first, then who is
// behind its shares. Source: mClock (OSDI'10), SRP 4. Units: bytes, Nanos, fine time. Threads: one owner.
//
// Only a class's first packet has tags (delayed tags), so that a change counts from the next packet on. The
// reservation tag is a time-to-send: due packets go first, the one that is longest due before the others, and
// may drive the link's bucket into bounded debt. Service by shares does not move it; service by reservation
// moves the shares' tag too, so that shares are of the whole link. The limit's tag is the class's limiter.
//
// Where this leaves mClock: a class that becomes eligible starts at the virtual time, the tag of the last
// service by shares, and not at the least tag of the others: what others took of the part that a limit left
// over is not held against them. And service by reservation moves the shares' tag no further than one burst
// beyond the virtual time: a large reservation, once given up, leaves no debt.
#pragma once

#include "vswitch/qos/schedulers/link_scheduler.h"
#include "vswitch/qos/schedulers/tag_heap.h"
#include "vswitch/qos/schedulers/time_to_send.h"

namespace weir {

class RlsScheduler final : public LinkScheduler {
  public:
    explicit RlsScheduler(const Setup& setup);

    [[nodiscard]] std::size_t dequeue_burst(Nanos now, std::span<PacketRef> out) override;
    [[nodiscard]] Nanos next_ready(Nanos now) const override;

  private:
    /// What a class has beside the base's; one line of cache.
    struct alignas(64) Tags {
        TimeToSend due;                             ///< reservation
        FineTime share = 0;                         ///< in virtual time
        BucketProfile weight = make_profile(0, 0);  ///< price: virtual time of bytes; burst: of one burst
        bool contends = false;                      ///< if not, its places in the heaps are void
    };
    static_assert(sizeof(Tags) == 64);

    void join(VnicId id, Nanos now) override;
    void leave(VnicId id) override;
    void shares_changed(Nanos now) override;

    /// Somebody is due; who is longest due is on top.
    [[nodiscard]] bool any_due(Nanos now);
    /// Somebody contends; who has the least tag is on top.
    [[nodiscard]] bool any_by_share();
    bool serve_due(Nanos now, PacketRef& out);
    bool serve_by_share(Nanos now, PacketRef& out);
    /// Long before virtual time runs over: all of it is moved back.
    void move_virtual_time_back();

    // Tags move later while a class is not on top: then it is found too early, and put in its place.
    TagHeap by_due_;
    TagHeap by_share_;
    std::vector<Tags> tags_;
    FineTime virtual_ = 0;  ///< tag of the last packet sent by shares
};

}  // namespace weir
