// link_scheduler.h - whose packet is next on a link: the table of classes and the way past it; policies
// derive from it. Source: EyeQ 3 (root scheduler), SRP/mClock (reservation, limit, shares), Carousel (blocked
// classes in a wheel). Units: tokens are accounted bytes; Nanos. Threads: one owner (the worker that owns the
// link's share).
//
// Every packet is charged at departure to its vNIC's limit, its reservation and the link, together or not at
// all. Precedence: a reservation first; then shares; a limit over both. Shares divide the link, reservations
// are floors under that division: a class gets max(its reservation, its part by shares), which is what
// water_fill() computes.
//
// A class's packets wait in its own queue; those of a flow whose destination has asked for a limit wait in
// the flow's, and that limiter is charged with the rest. A flow that cannot pay for its next packet waits in
// the wheel, and the class goes on with the others in turn: a congested destination is in nobody's way.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/ids.h"
#include "vswitch/qos/buckets/multi_bucket.h"
#include "vswitch/qos/buckets/timing_wheel.h"
#include "vswitch/qos/schedulers/flow_queues.h"
#include "vswitch/qos/schedulers/packet_queue.h"
#include "vswitch/qos/schedulers/turns.h"

namespace weir {

/// What a vNIC was promised on this link.
struct ClassProfile {
    std::uint64_t reservation = 0;               ///< tokens/s; 0 = none
    std::uint64_t reservation_burst = 0;         ///< tokens of it at once; 0 = burst_for_rate()
    std::uint32_t shares = 100;                  ///< 1..10000
    std::uint32_t queue_bytes_max = 128 * 1024;  ///< backlog at which room() becomes 0
};

class LinkScheduler {
  public:
    /// Two levels of 64-bit bitmaps.
    static constexpr std::size_t kClassesMax = 4096;
    /// Packets that wait in one flow at most: its bound in bytes in small frames would be all of a VM's
    /// buffers.
    static constexpr std::uint32_t kFlowPacketsMax = 256;

    struct Setup {
        std::size_t classes = 1024;          ///< VnicIds are 0 .. classes-1; at most kClassesMax
        std::uint32_t queue_packets = 1024;  ///< slots per class, a power of two
        TimingWheel* wheel = nullptr;        ///< where classes wait for their limit; outlives the scheduler
        std::uint32_t class_wheel_id = 0;    ///< id of class 0 in that wheel; class c has class_wheel_id + c
        std::uint32_t destinations = 0;      ///< DestinationIds are 0 .. destinations-1
        std::uint32_t destination_packets = 0;   ///< that may wait for all destinations together
        std::uint32_t destination_wheel_id = 0;  ///< id of destination 0 in the wheel
        std::uint32_t quantum = 4096;  ///< of a turn of who has most shares: two full frames, or three
    };

    /// Allocates everything. The link starts parked: call set_capacity().
    explicit LinkScheduler(const Setup& setup);
    virtual ~LinkScheduler() = default;
    LinkScheduler(const LinkScheduler&) = delete;
    LinkScheduler& operator=(const LinkScheduler&) = delete;

    // Changes; they divide and look through tables, so not per packet.

    /// @param limiter the vNIC's own limit, charged at departure; may be null; outlives the class
    void add(VnicId id, const ClassProfile& profile, Limiter* limiter, Nanos now);
    /// Also to be called after the limiter got another rate: a waiting class is put where it belongs now.
    void change(VnicId id, const ClassProfile& profile, Nanos now);
    /// Takes all packets of the class's own queue out, oldest first, and gives each to take(const
    /// PacketRef&).
    template <class Take>
    void drain(VnicId id, Take&& take);
    /// From now on packets of this flow pay `limiter` (outlives the destination) too. Those that wait
    /// already, and for which belongs(const PacketRef&) holds, move into its queue, so that order is kept.
    /// @return false when there might be no room for them all: nothing has changed
    template <class Belongs>
    [[nodiscard]] bool open_destination(DestinationId destination, VnicId id, TokenBucket* limiter, Nanos now,
                                        Belongs&& belongs);
    /// Takes all its packets out, as drain() does.
    template <class Take>
    void close_destination(DestinationId destination, Nanos now, Take&& take);
    /// Its limiter got another rate.
    void rate_changed(DestinationId destination, Nanos now);
    /// The class is empty (drain it, and close its flows first).
    void remove(VnicId id, Nanos now);
    /// The link's rate less headroom. Reservations that add up to more are scaled down in proportion.
    void set_capacity(std::uint64_t tokens_per_sec, Nanos now);
    [[nodiscard]] std::uint64_t capacity() const { return capacity_; }

    // The way past the queues. Inline, no virtual call. `bytes` may be those of a run of frames; beyond one
    // super-frame's the answer is no, so that a run drives the link no further into debt than a frame does.

    /// Nothing is backlogged anywhere and the link can pay.
    [[nodiscard]] bool can_bypass(std::uint32_t bytes, Nanos now) const {
        return packets_ == 0 && bytes <= kBypassMax && link_.can_pay(bytes, now);
    }
    /// The same for one class, asking no more than order demands: its own queue is empty, and either nobody
    /// waits for the link, which can pay, or its reservation pays (classes that wait for their own limit are
    /// in nobody's way).
    [[nodiscard]] bool can_bypass(VnicId id, std::uint32_t bytes, Nanos now) const {
        const Class& c = classes_[id];
        if (c.ready_head != kNoDestination || bytes > kBypassMax)
            return false;
        return (contenders_ == 0 && link_.can_pay(bytes, now)) ||
               (c.reserved.can_pay(bytes, now) && link_.debt_within(kDebtMax, now));
    }
    /// A flow with a limiter has nothing waiting, and the limiter can pay.
    [[nodiscard]] bool destination_pays(DestinationId destination, std::uint32_t bytes, Nanos now) const {
        const DestinationQueue& queue = destinations_[destination];
        return queue.empty() && queue.limiter->can_pay(bytes, now);
    }
    /// Both.
    [[nodiscard]] bool can_bypass(VnicId id, DestinationId destination, std::uint32_t bytes,
                                  Nanos now) const {
        return destination_pays(destination, bytes, now) && can_bypass(id, bytes, now);
    }
    /// Charges the link and the class's reservation. The caller has charged the limiters, after can_bypass().
    void bypass(VnicId id, std::uint32_t bytes, Nanos now) {
        Class& c = classes_[id];
        c.bypassed += bytes;
        charge(c, bytes, now);
    }
    void bypass(VnicId id, DestinationId destination, std::uint32_t bytes, Nanos now) {
        destinations_[destination].limiter->pay(bytes, now);
        bypass(id, bytes, now);
    }
    /// Something else has used the link.
    void charge_link(std::uint32_t bytes, Nanos now) { link_.pay(bytes, now); }

    // The way through the queues.

    /// Packets that enqueue() is sure to take: 0 once the class's backlog has reached queue_bytes_max. Ask
    /// before packets are taken from a ring; one burst may so go over the bound, none is lost.
    [[nodiscard]] std::uint32_t room(VnicId id) const {
        const Class& c = classes_[id];
        return c.queue.bytes() >= c.profile.queue_bytes_max ? 0 : c.queue.capacity() - c.queue.packets();
    }
    /// @return false when the class's slots are used up; the packet was not taken.
    [[nodiscard]] bool enqueue(VnicId id, const PacketRef& packet, Nanos now);
    /// @return false when the flow is at its bound (queue_bytes_max of its class, kFlowPacketsMax); the
    /// packet was not taken.
    [[nodiscard]] bool enqueue(VnicId id, DestinationId destination, const PacketRef& packet, Nanos now);
    /// Gives packets that may leave now, in order of departure, charged. @return how many, 0 .. out.size()
    [[nodiscard]] virtual std::size_t dequeue_burst(Nanos now, std::span<PacketRef> out) = 0;
    /// The wheel fired for the class: its limit may pay again.
    void wake(VnicId id, Nanos now);
    /// The wheel fired for the flow: its limiter may pay again.
    void wake_destination(DestinationId destination, Nanos now);
    /// When dequeue_burst() may give something, if nothing happens before; early rather than late. kNever
    /// when all that is queued, if anything, waits for limits.
    [[nodiscard]] virtual Nanos next_ready(Nanos now) const = 0;

    [[nodiscard]] bool backlogged() const { return packets_ != 0; }
    [[nodiscard]] std::uint64_t backlog_bytes(VnicId id) const { return classes_[id].queue.bytes(); }
    [[nodiscard]] std::uint32_t backlog_packets(VnicId id) const { return classes_[id].queue.packets(); }
    [[nodiscard]] std::uint32_t backlog_buffers(VnicId id) const { return classes_[id].queue.buffers(); }
    [[nodiscard]] std::uint32_t destination_backlog_bytes(DestinationId destination) const {
        return destinations_[destination].bytes;
    }
    [[nodiscard]] std::uint32_t destination_backlog_packets(DestinationId destination) const {
        return destinations_[destination].packets;
    }
    /// The class waits for its own limit.
    [[nodiscard]] bool limited(VnicId id) const { return classes_[id].limited; }
    [[nodiscard]] const TokenBucket& link() const { return link_; }
    [[nodiscard]] const TokenBucket& reservation(VnicId id) const { return classes_[id].reserved; }

  protected:
    /// How far reservations may drive the link into debt, at the link's rate. Everybody else waits for the
    /// debt, so the link's long-run rate stays exact.
    static constexpr Nanos kDebtMax = 1'000'000;
    /// Classes whose time comes in one call; the rest comes in the next.
    static constexpr unsigned kFireBudget = 64;
    /// A 64 KiB super-frame as the wire frames it becomes, with their headers.
    static constexpr std::uint32_t kBypassMax = 72 * 1024;

    /// The class's own queue, among the flows that may send.
    static constexpr DestinationId kOwnQueue = kNoDestination - 1;

    struct alignas(64) Class {
        explicit Class(std::uint32_t queue_packets) : queue(queue_packets) {}
        PacketQueue queue;
        Limiter* limiter = nullptr;
        DestinationId ready_head = kNoDestination;  ///< whose packet is the class's next
        DestinationId ready_tail = kNoDestination;
        DestinationId own_next = kNoDestination;  ///< behind kOwnQueue
        TokenBucket reserved{
            make_profile(0, 0)};     ///< parked without a reservation: never pays, cannot be charged
        TurnAccount by_shares;       ///< for the policy: in turns by shares
        std::uint64_t bypassed = 0;  ///< for the policy: bytes that it did not see; it sets this back
        ClassProfile profile;
        bool present = false;
        bool limited = false;  ///< backlogged, but out of the contest until wake()
    };

    /// The class contends for the link from now on: it has packets and its limit is not known to forbid them.
    virtual void join(VnicId id, Nanos now) = 0;
    /// It contends no more: empty, or waiting for its limit.
    virtual void leave(VnicId id) = 0;
    /// A class came, went or has other shares.
    virtual void shares_changed(Nanos now) = 0;

    /// Has a packet that may be the next.
    [[nodiscard]] static bool has_ready(const Class& c) { return c.ready_head != kNoDestination; }
    [[nodiscard]] const PacketRef& front(const Class& c) const {
        return c.ready_head == kOwnQueue ? c.queue.front() : destinations_.front(c.ready_head);
    }
    [[nodiscard]] std::uint32_t front_bytes(std::size_t id) const { return front(classes_[id]).bytes; }
    /// Sends the class's first packet if its limit pays; link and reservation were asked before. If not, the
    /// class leaves for the wheel. A class that has nothing left to send leaves too.
    [[nodiscard]] bool send_front(VnicId id, Nanos now, PacketRef& out);

    // For policies that serve in turns by shares, as far as the link pays.

    using Members = BitmapTree<kClassesMax>;
    /// sent(id, bytes) hears of each packet.
    template <class Sent>
    [[nodiscard]] std::size_t serve_by_shares(Turns<kClassesMax>& turns, const Members& members, Nanos now,
                                              std::span<PacketRef> out, Sent&& sent);
    /// The class left the members: what it had earned is gone, unless it comes back at once.
    void end_share_turn(Turns<kClassesMax>& turns, VnicId id) {
        Class& c = classes_[id];
        if (!has_ready(c) || c.limited)
            c.by_shares.deficit = 0;
        turns.end_turn(id);
    }
    void set_share_quanta();

    std::uint64_t quantum_;  ///< of the class with most shares, or the largest guarantee, per turn
    TokenBucket link_{make_profile(0, 0)};
    std::vector<Class> classes_;
    std::size_t contenders_ = 0;  ///< classes between join and leave

  private:
    void charge(Class& c, std::uint32_t bytes, Nanos now) {
        link_.pay(bytes, now);
        c.reserved.pay_bounded(bytes, now);
    }
    void start(VnicId id, Nanos now) {
        ++contenders_;
        join(id, now);
    }
    void stop(VnicId id) {
        --contenders_;
        leave(id);
    }
    void wait_for_limit(VnicId id, Nanos now);
    void forget(VnicId id);
    [[nodiscard]] bool waits_for_limiter(DestinationId destination, Nanos now);
    void place_destination(DestinationId destination, Nanos now) {
        if (!waits_for_limiter(destination, now))
            make_ready(destinations_[destination].vnic, destination, now);
    }
    void make_ready(VnicId id, DestinationId destination, Nanos now);
    void unlink_ready(Class& c, DestinationId destination);
    void pop_front(VnicId id, Nanos now);
    [[nodiscard]] DestinationId& next_of(Class& c, DestinationId destination) {
        return destination == kOwnQueue ? c.own_next : destinations_[destination].next_ready;
    }
    void set_reservation(Class& c, Nanos now);
    void rescale_reservations(Nanos now);
    [[nodiscard]] static Limiter::Costs costs(const PacketRef& packet) {
        return {packet.bytes, packet.frames};
    }

    TimingWheel& wheel_;
    std::uint32_t class_wheel_id_;
    std::uint32_t destination_wheel_id_;
    DestinationQueues destinations_;
    std::uint64_t packets_ = 0;
    std::uint64_t capacity_ = 0;  // tokens/s
    std::uint64_t reserved_ = 0;  // sum of reservations, tokens/s
};

template <class Take>
void LinkScheduler::drain(VnicId id, Take&& take) {
    Class& c = classes_[id];
    if (c.queue.empty())
        return;
    forget(id);
    unlink_ready(c, kOwnQueue);
    for (; !c.queue.empty(); c.queue.pop()) {
        take(c.queue.front());
        --packets_;
    }
    assert(!has_ready(c) && "flows are closed first");
}

template <class Belongs>
bool LinkScheduler::open_destination(DestinationId destination, VnicId id, TokenBucket* limiter, Nanos now,
                                     Belongs&& belongs) {
    Class& c = classes_[id];
    DestinationQueue& queue = destinations_[destination];
    assert(queue.empty());
    if (destinations_.room() < c.queue.packets())
        return false;
    queue = DestinationQueue{.limiter = limiter, .vnic = id};
    if (c.queue.empty())
        return true;
    forget(id);
    c.queue.extract(
        [&](const PacketRef& packet) { return belongs(packet) && destinations_.push(destination, packet); });
    if (c.queue.empty())
        unlink_ready(c, kOwnQueue);
    if (has_ready(c))
        start(id, now);
    if (!queue.empty())
        place_destination(destination, now);
    return true;
}

template <class Take>
void LinkScheduler::close_destination(DestinationId destination, Nanos now, Take&& take) {
    DestinationQueue& queue = destinations_[destination];
    Class& c = classes_[queue.vnic];
    if (queue.blocked) {
        wheel_.remove(destination_wheel_id_ + destination);
    } else if (!queue.empty()) {
        forget(queue.vnic);
        unlink_ready(c, destination);
        if (has_ready(c))
            start(queue.vnic, now);
    }
    for (; !queue.empty(); destinations_.pop(destination)) {
        take(destinations_.front(destination));
        --packets_;
    }
    queue = DestinationQueue{};
}

inline bool LinkScheduler::send_front(VnicId id, Nanos now, PacketRef& out) {
    Class& c = classes_[id];
    const PacketRef& packet = front(c);
    if (c.limiter != nullptr && !c.limiter->admit(costs(packet), now)) {
        wait_for_limit(id, now);
        return false;
    }
    charge(c, packet.bytes, now);
    out = packet;
    pop_front(id, now);
    return true;
}

template <class Sent>
std::size_t LinkScheduler::serve_by_shares(Turns<kClassesMax>& turns, const Members& members, Nanos now,
                                           std::span<PacketRef> out, Sent&& sent) {
    return turns.serve(
        members, out.size(), [this](std::size_t id) -> TurnAccount& { return classes_[id].by_shares; },
        [this](std::size_t id) { return front_bytes(id); },
        [this, now](std::uint32_t bytes) { return link_.can_pay(bytes, now); },
        [&](std::size_t at, std::uint32_t bytes, std::size_t n) {
            const auto id = static_cast<VnicId>(at);
            if (!send_front(id, now, out[n]))
                return false;
            sent(id, bytes);
            return true;
        });
}

/// Removes the class's first packet; the next one comes from the next flow in turn. A flow pays here, and
/// stays only if it can pay again.
inline void LinkScheduler::pop_front(VnicId id, Nanos now) {
    Class& c = classes_[id];
    const DestinationId destination = c.ready_head;
    bool stays;
    if (destination == kOwnQueue) {
        c.queue.pop();
        stays = !c.queue.empty();
    } else {
        DestinationQueue& queue = destinations_[destination];
        queue.limiter->pay(destinations_.front(destination).bytes, now);
        destinations_.pop(destination);
        stays = !queue.empty() && !waits_for_limiter(destination, now);
    }
    --packets_;
    if (stays && destination == c.ready_tail)
        return;
    c.ready_head = next_of(c, destination);
    if (stays) {
        next_of(c, c.ready_tail) = destination;
        c.ready_tail = destination;
        next_of(c, destination) = kNoDestination;
    } else if (c.ready_head == kNoDestination) {
        c.ready_tail = kNoDestination;
        stop(id);
    }
}

/// The flow's limiter cannot pay for its first packet now: it waits in the wheel from here on.
inline bool LinkScheduler::waits_for_limiter(DestinationId destination, Nanos now) {
    DestinationQueue& queue = destinations_[destination];
    const Nanos at = queue.limiter->ready_at(destinations_.front(destination).bytes);
    queue.blocked = at > now;
    if (queue.blocked)
        wheel_.insert(destination_wheel_id_ + destination, at, now);
    return queue.blocked;
}

}  // namespace weir
