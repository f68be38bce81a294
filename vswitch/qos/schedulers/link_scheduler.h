// link_scheduler.h - base of the schedulers: the classes of a link, their payments, and the way past their
// queues. Source: EyeQ 3.3; mClock (OSDI'10); SRP 4; Carousel (SIGCOMM'17); docs/algorithms.md 3. Units:
// tokens are accounted bytes; tokens per second; ns. Threads: one owner (a worker).
//
// A class is a vNIC on this link. A packet is charged when it departs: to its vNIC's limit, its class's
// reservation and the link, all or none. A reservation goes before shares, and a limit over both. Shares
// divide the link and reservations are floors under that division, as in water_fill(): of 9 Gbit/s, with
// equal shares and a reservation of 5 Gbit/s for A, the classes A, B and C get 5, 2 and 2 Gbit/s.
//
// A class *contends* for the link while it has a ready packet that its vNIC's limit has not refused. A
// refused class waits in the timing wheel. A derived scheduler learns of contending classes by join() and
// leave().
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/types.h"
#include "vswitch/base/limits.h"
#include "vswitch/qos/buckets/limiter.h"
#include "vswitch/qos/buckets/timing_wheel.h"
#include "vswitch/qos/schedulers/class_queue.h"
#include "vswitch/qos/schedulers/deficit_round_robin.h"

namespace weir {

/// The promise to a vNIC on this link.
struct ClassProfile {
    std::uint64_t reservation = 0;        ///< tokens/s; 0 = none
    std::uint64_t reservation_burst = 0;  ///< tokens that it holds when full; 0 = burst_for_rate()
    std::uint32_t shares = 100;           ///< 1..10000
    std::uint32_t queue_bytes_max = limits::kQueueBytesMax;  ///< backlog at which room() becomes 0

    /// Tokens that the reservation holds when full, while it has this rate.
    [[nodiscard]] std::uint64_t burst_at(std::uint64_t rate) const {
        return reservation_burst != 0 ? reservation_burst : burst_for_rate(rate);
    }
};

struct SchedulerSetup {
    std::size_t classes = 1024;          ///< VnicIds are 0 .. classes-1; at most LinkScheduler::kClassesMax
    std::uint32_t queue_packets = 1024;  ///< slots of each class's own queue, a power of two
    TimingWheel* wheel = nullptr;        ///< outlives the scheduler; fires wake() and wake_destination()
    std::uint32_t class_wheel_id = 0;    ///< wheel id of class 0; class c has class_wheel_id + c
    std::uint32_t destinations = 0;      ///< DestinationIds are 0 .. destinations-1
    std::uint32_t destination_packets = 0;   ///< that may wait for all destinations together
    std::uint32_t destination_wheel_id = 0;  ///< wheel id of destination 0
    std::uint32_t quantum = 4096;  ///< bytes of a turn of the class with the most shares: two full frames
};

class LinkScheduler {
  public:
    /// Two levels of 64-bit bitmaps.
    static constexpr std::size_t kClassesMax = 4096;

    using Setup = SchedulerSetup;

    /// Allocates everything. The link starts without capacity.
    explicit LinkScheduler(const Setup& setup);
    virtual ~LinkScheduler() = default;
    LinkScheduler(const LinkScheduler&) = delete;
    LinkScheduler& operator=(const LinkScheduler&) = delete;

    // Changes. They divide and walk through tables, so they are not for every packet.

    /// @param limiter the vNIC's own limit, charged at departure; may be null; outlives the class
    void add(VnicId id, const ClassProfile& profile, Limiter* limiter, Nanos now);
    /// Also to be called after the limiter got another rate.
    void change(VnicId id, const ClassProfile& profile, Nanos now);
    /// Removes all packets of the class's own queue, oldest first, and gives each to take(const PacketRef&).
    template <class Take>
    void drain(VnicId id, Take&& take);
    /// The class is empty: drain() was called, and its destinations are closed.
    void remove(VnicId id, Nanos now);
    /// The link's rate less headroom. Reservations that add up to more than `reservable` are scaled down in
    /// proportion: it is the same rate, or, where several workers share the link, the part of it for this
    /// one's reservations.
    void set_capacity(std::uint64_t tokens_per_sec, std::uint64_t reservable, Nanos now);
    void set_capacity(std::uint64_t tokens_per_sec, Nanos now) {
        set_capacity(tokens_per_sec, tokens_per_sec, now);
    }
    [[nodiscard]] std::uint64_t capacity() const { return capacity_; }

    /// From now on packets to this destination pay `limiter`, too, which outlives the destination. Packets
    /// that wait in the class's own queue and for which belongs(const PacketRef&) is true move to the
    /// destination's queue.
    /// @return false when there might be no room for them all: nothing has changed
    template <class Belongs>
    [[nodiscard]] bool open_destination(DestinationId at, VnicId id, TokenBucket* limiter, Nanos now,
                                        Belongs&& belongs);
    /// Removes all its packets as drain() does.
    template <class Take>
    void close_destination(DestinationId at, Nanos now, Take&& take);
    /// The destination's limiter got another rate.
    void rate_changed(DestinationId at, Nanos now);

    // The way past the queues: inline, no virtual call. `bytes` may be those of a run of frames. Beyond
    // kBypassMax the answer is no, so that a run drives the link no further into debt than one super-frame
    // does.

    /// No packet waits anywhere, and the link can pay.
    [[nodiscard]] bool can_bypass(std::uint32_t bytes, Nanos now) const {
        return packets_ == 0 && bytes <= kBypassMax && link_.can_pay(bytes, now);
    }
    /// The class has no ready packet, and either no class contends for the link, which can pay, or the
    /// class's reservation can pay. Classes that wait for their own limit do not matter.
    [[nodiscard]] bool can_bypass(VnicId id, std::uint32_t bytes, Nanos now) const {
        const Class& c = classes_[id];
        if (c.queue.has_ready() || bytes > kBypassMax)
            return false;
        return (contenders_ == 0 && link_.can_pay(bytes, now)) ||
               (c.reserved.can_pay(bytes, now) && link_.debt_within(kDebtMax, now));
    }
    /// No packet waits for the destination, and its limiter can pay.
    [[nodiscard]] bool destination_pays(DestinationId at, std::uint32_t bytes, Nanos now) const {
        const DestinationQueues::Queue& queue = destinations_[at];
        return queue.empty() && queue.limiter->can_pay(bytes, now);
    }
    /// Charges link and reservation. The caller has charged the limits, after can_bypass().
    void bypass(VnicId id, std::uint32_t bytes, Nanos now) {
        Class& c = classes_[id];
        c.bypassed += bytes;
        charge(c, bytes, now);
    }
    /// Charges the link for something that is no class's.
    void charge_link(std::uint32_t bytes, Nanos now) { link_.pay(bytes, now); }

    // The way through the queues.

    /// Packets that enqueue() is sure to take into the class's own queue; 0 once the backlog has reached
    /// queue_bytes_max. Ask before a burst is taken from a ring: the burst may exceed the bound, and fits.
    [[nodiscard]] std::uint32_t room(VnicId id) const {
        const Class& c = classes_[id];
        const PacketQueue& own = c.queue.own;
        return own.bytes() >= c.profile.queue_bytes_max ? 0 : own.capacity() - own.packets();
    }
    /// @return false when the class's slots are used up; the packet was not taken
    [[nodiscard]] bool enqueue(VnicId id, const PacketRef& packet, Nanos now);
    /// @return false when the destination's queue is at its bound (queue_bytes_max of the class, or
    /// DestinationQueues::kPacketsMax) or all places are used; the packet was not taken
    [[nodiscard]] bool enqueue(VnicId id, DestinationId at, const PacketRef& packet, Nanos now);
    /// Gives packets that may leave now, in order of departure and charged. @return how many, 0 .. out.size()
    [[nodiscard]] virtual std::size_t dequeue_burst(Nanos now, std::span<PacketRef> out) = 0;
    /// The wheel fired for the class: its limit may pay again.
    void wake(VnicId id, Nanos now);
    /// The wheel fired for the destination: its limiter may pay again.
    void wake_destination(DestinationId at, Nanos now);
    /// When dequeue_burst() may give a packet if nothing changes before; early rather than late. kNever when
    /// no class contends.
    [[nodiscard]] virtual Nanos next_ready(Nanos now) const = 0;

    [[nodiscard]] bool backlogged() const { return packets_ != 0; }
    // Of the class's own queue.
    [[nodiscard]] std::uint64_t backlog_bytes(VnicId id) const { return classes_[id].queue.own.bytes(); }
    [[nodiscard]] std::uint32_t backlog_packets(VnicId id) const { return classes_[id].queue.own.packets(); }
    [[nodiscard]] std::uint32_t backlog_buffers(VnicId id) const { return classes_[id].queue.own.buffers(); }
    /// When its oldest packet was queued; kNever: it is empty.
    [[nodiscard]] Nanos backlog_since(VnicId id) const {
        const PacketQueue& own = classes_[id].queue.own;
        return own.empty() ? kNever : own.front().enqueued;
    }
    [[nodiscard]] const DestinationQueues::Queue& destination(DestinationId at) const {
        return destinations_[at];
    }
    /// The class waits for its vNIC's limit.
    [[nodiscard]] bool is_limited(VnicId id) const { return classes_[id].limited; }
    [[nodiscard]] const TokenBucket& link() const { return link_; }
    [[nodiscard]] const TokenBucket& reservation(VnicId id) const { return classes_[id].reserved; }

  protected:
    using Members = BitmapTree<kClassesMax>;
    using Turns = DeficitRoundRobin<kClassesMax>;

    /// How far reservations may drive the link into debt, as time at its rate. All other packets wait for the
    /// debt, so the link's long-run rate stays exact.
    static constexpr Nanos kDebtMax = 1'000'000;
    /// Classes that one call takes from a scheduler's own wheel; the rest follows in the next call.
    static constexpr unsigned kFireBudget = 64;
    /// Bytes of a 64 KiB super-frame as the wire frames that it becomes, with their headers.
    static constexpr std::uint32_t kBypassMax = 72 * 1024;

    struct alignas(64) Class {
        explicit Class(std::uint32_t queue_packets) : queue(queue_packets) {}
        ClassQueue queue;
        Limiter* limiter = nullptr;
        TokenBucket reserved{
            make_profile(0, 0)};     ///< parked without a reservation: never pays, is never charged
        DrrAccount by_shares;        ///< for the derived scheduler
        std::uint64_t bypassed = 0;  ///< bytes that the derived scheduler has not seen; it sets this back
        ClassProfile profile;
        bool present = false;
        bool limited = false;  ///< has a ready packet that the vNIC's limit refused
    };

    /// The class contends from now on.
    virtual void join(VnicId id, Nanos now) = 0;
    /// It contends no more: it has no ready packet, or waits for its limit.
    virtual void leave(VnicId id) = 0;
    /// A class was added or removed, or has other shares or another reservation.
    virtual void shares_changed(Nanos now) = 0;

    [[nodiscard]] const PacketRef& front(const Class& c) const { return c.queue.front(destinations_); }
    [[nodiscard]] std::uint32_t front_bytes(std::size_t id) const { return front(classes_[id]).bytes; }
    /// Sends the first packet of a contending class if its limit pays; the derived scheduler has asked link
    /// or reservation before. If not, the class leaves; so does one without another ready packet.
    [[nodiscard]] bool send_front(VnicId id, Nanos now, PacketRef& out);

    /// Sets the quanta of Class::by_shares in proportion to shares.
    void set_share_quanta();
    /// A class that leaves loses its deficit, unless it only leaves to join again at once.
    void end_share_turn(Turns& turns, VnicId id) {
        Class& c = classes_[id];
        if (!c.queue.has_ready() || c.limited)
            c.by_shares.deficit = 0;
        turns.end_turn(id);
    }

    std::uint64_t quantum_;  ///< Setup::quantum
    TokenBucket link_{make_profile(0, 0)};
    std::vector<Class> classes_;
    std::size_t contenders_ = 0;

  private:
    [[nodiscard]] static Limiter::Costs costs(const PacketRef& packet) {
        return {packet.bytes, packet.frames};
    }
    void charge(Class& c, std::uint32_t bytes, Nanos now) {
        link_.pay(bytes, now);
        c.reserved.pay_bounded(bytes, now);
    }
    void start_contending(VnicId id, Nanos now) {
        ++contenders_;
        join(id, now);
    }
    void stop_contending(VnicId id) {
        --contenders_;
        leave(id);
    }
    void wait_for_limit(VnicId id, Nanos now);
    void withdraw(VnicId id);
    void append_ready(VnicId id, DestinationId at, Nanos now) {
        if (classes_[id].queue.append_ready(destinations_, at))
            start_contending(id, now);
    }
    /// The destination has packets: it is ready, or waits for its limiter.
    void place(DestinationId at, Nanos now) {
        if (!destinations_.block(at, now))
            append_ready(destinations_[at].vnic, at, now);
    }
    void set_reservation(Class& c, Nanos now);
    void rescale_reservations(Nanos now);

    TimingWheel& wheel_;
    std::uint32_t class_wheel_id_;
    DestinationQueues destinations_;
    std::uint64_t packets_ = 0;   // in all queues
    std::uint64_t capacity_ = 0;  // tokens/s
    std::uint64_t reservable_ = 0;
    std::uint64_t reserved_ = 0;  // sum of reservations, tokens/s
};

template <class Take>
void LinkScheduler::drain(VnicId id, Take&& take) {
    ClassQueue& queue = classes_[id].queue;
    if (queue.own.empty())
        return;
    withdraw(id);
    queue.remove_ready(destinations_, ClassQueue::kOwn);
    for (; !queue.own.empty(); queue.own.pop()) {
        take(queue.own.front());
        --packets_;
    }
    assert(!queue.has_ready() && "destinations are closed first");
}

template <class Belongs>
bool LinkScheduler::open_destination(DestinationId at, VnicId id, TokenBucket* limiter, Nanos now,
                                     Belongs&& belongs) {
    ClassQueue& queue = classes_[id].queue;
    assert(destinations_[at].empty());
    if (destinations_.room() < queue.own.packets())
        return false;
    destinations_[at].limiter = limiter;
    destinations_[at].vnic = id;
    if (queue.own.empty())
        return true;
    withdraw(id);
    queue.own.extract(
        [&](const PacketRef& packet) { return belongs(packet) && destinations_.push(at, packet); });
    if (queue.own.empty())
        queue.remove_ready(destinations_, ClassQueue::kOwn);
    if (queue.has_ready())
        start_contending(id, now);
    if (!destinations_[at].empty())
        place(at, now);
    return true;
}

template <class Take>
void LinkScheduler::close_destination(DestinationId at, Nanos now, Take&& take) {
    DestinationQueues::Queue& closed = destinations_[at];
    ClassQueue& queue = classes_[closed.vnic].queue;
    if (closed.blocked) {
        destinations_.unblock(at);
    } else if (!closed.empty()) {
        withdraw(closed.vnic);
        queue.remove_ready(destinations_, at);
        if (queue.has_ready())
            start_contending(closed.vnic, now);
    }
    for (; !closed.empty(); destinations_.pop(at)) {
        take(destinations_.front(at));
        --packets_;
    }
    closed = {};
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
    --packets_;
    if (!c.queue.pop(destinations_, now))
        stop_contending(id);
    return true;
}

}  // namespace weir
