// class_queue.h - packets that wait in one class: its own queue and those of its limited destinations, in
// turn. Source: EyeQ 3.3; Carousel (SIGCOMM'17); docs/algorithms.md 3.1. Units: accounted bytes; packets; ns.
// Threads: one owner. Allocates only when built.
//
// Packets to a destination that has a limiter wait in the destination's queue, all others in the class's own
// queue. A queue is *ready* when its first packet may leave: the own queue always, a destination's when its
// limiter can pay. Ready queues form a list and send one packet in turn: with the own queue and destinations
// 7 and 9 ready the class sends own, 7, 9, own, 7 ... A destination pays its limiter when its packet leaves;
// if the limiter cannot pay for the next packet, the destination leaves the list and waits in the timing
// wheel. So a slow destination delays only its own packets.
#pragma once

#include <cstdint>
#include <vector>

#include "common/types.h"
#include "vswitch/qos/buckets/timing_wheel.h"
#include "vswitch/qos/feedback/destination_limits.h"
#include "vswitch/qos/schedulers/packet_queue.h"
#include "vswitch/qos/schedulers/place_pool.h"

namespace weir {

/// The queues of all limited destinations, in one pool of places.
class DestinationQueues {
  public:
    /// Packets in one destination's queue. Its bound in bytes, filled with small frames, would be all of a
    /// vNIC's buffers.
    static constexpr std::uint32_t kPacketsMax = 256;

    struct Queue : PlacePool::Chain {
        TokenBucket* limiter = nullptr;             ///< null: closed
        DestinationId next_ready = kNoDestination;  ///< in its class's list of ready queues
        VnicId vnic = kNoVnic;
        bool blocked = false;  ///< in the wheel until its limiter can pay
    };

    /// @param packets that may wait in all queues together  @param wheel outlives this
    /// @param wheel_id of destination 0; destination d has wheel_id + d
    DestinationQueues(std::uint32_t destinations, std::uint32_t packets, TimingWheel& wheel,
                      std::uint32_t wheel_id)
        : wheel_(wheel), wheel_id_(wheel_id), queues_(destinations), places_(packets) {}

    [[nodiscard]] Queue& operator[](DestinationId at) { return queues_[at]; }
    [[nodiscard]] const Queue& operator[](DestinationId at) const { return queues_[at]; }
    /// Free places for packets of any destination.
    [[nodiscard]] std::uint32_t room() const { return places_.room(); }

    /// @return false when all places are used; the packet was not taken
    [[nodiscard]] bool push(DestinationId at, const PacketRef& packet) {
        return places_.push(queues_[at], packet);
    }
    [[nodiscard]] const PacketRef& front(DestinationId at) const { return places_.front(queues_[at]); }
    void pop(DestinationId at) { places_.pop(queues_[at]); }

    /// Puts the destination into the wheel if its limiter cannot pay for its first packet now.
    /// @return whether it waits there
    bool block(DestinationId at, Nanos now) {
        Queue& queue = queues_[at];
        const Nanos ready = queue.limiter->ready_at(front(at).bytes, now);
        queue.blocked = ready > now;
        if (queue.blocked)
            wheel_.insert(wheel_id_ + at, ready, now);
        return queue.blocked;
    }
    /// Takes a blocked destination out of the wheel before its time.
    void unblock(DestinationId at) { wheel_.remove(wheel_id_ + at); }

  private:
    TimingWheel& wheel_;
    std::uint32_t wheel_id_;
    std::vector<Queue> queues_;
    PlacePool places_;
};

class ClassQueue {
  public:
    /// The class's own queue, in the list of ready queues.
    static constexpr DestinationId kOwn = kNoDestination - 1;

    /// @param packets of the own queue, a power of two
    explicit ClassQueue(std::uint32_t packets) : own(packets) {}

    /// A packet may leave.
    [[nodiscard]] bool has_ready() const { return head_ != kNoDestination; }
    /// The first packet of the queue in turn; there is a ready queue.
    [[nodiscard]] const PacketRef& front(const DestinationQueues& destinations) const {
        return head_ == kOwn ? own.front() : destinations.front(head_);
    }
    /// Removes front(), paid by its destination, and gives the turn to the next ready queue.
    /// @return whether there is one
    bool pop(DestinationQueues& destinations, Nanos now);

    /// The queue has a packet that may leave: it takes the last turn. @return whether no other queue was
    /// ready
    bool append_ready(DestinationQueues& destinations, DestinationId at) {
        next(destinations, at) = kNoDestination;
        const bool first = !has_ready();
        (first ? head_ : next(destinations, tail_)) = at;
        tail_ = at;
        return first;
    }
    /// Walks the list: for changes, not per packet.
    void remove_ready(DestinationQueues& destinations, DestinationId at);

    PacketQueue own;

  private:
    [[nodiscard]] DestinationId& next(DestinationQueues& destinations, DestinationId at) {
        return at == kOwn ? own_next_ : destinations[at].next_ready;
    }

    DestinationId head_ = kNoDestination;  ///< ready queue in turn
    DestinationId tail_ = kNoDestination;
    DestinationId own_next_ = kNoDestination;  ///< the ready queue behind the own queue
};

inline bool ClassQueue::pop(DestinationQueues& destinations, Nanos now) {
    const DestinationId at = head_;
    bool stays;
    if (at == kOwn) {
        own.pop();
        stays = !own.empty();
    } else {
        DestinationQueues::Queue& queue = destinations[at];
        queue.limiter->pay(destinations.front(at).bytes, now);
        destinations.pop(at);
        stays = !queue.empty() && !destinations.block(at, now);
    }
    if (stays && at == tail_)
        return true;
    head_ = next(destinations, at);
    if (stays) {
        next(destinations, tail_) = at;
        tail_ = at;
        next(destinations, at) = kNoDestination;
    } else if (head_ == kNoDestination) {
        tail_ = kNoDestination;
        return false;
    }
    return true;
}

inline void ClassQueue::remove_ready(DestinationQueues& destinations, DestinationId at) {
    DestinationId before = kNoDestination;
    for (DestinationId walk = head_; walk != at; walk = next(destinations, walk))
        before = walk;
    (before == kNoDestination ? head_ : next(destinations, before)) = next(destinations, at);
    if (tail_ == at)
        tail_ = before;
}

}  // namespace weir
