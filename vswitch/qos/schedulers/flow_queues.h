// flow_queues.h - the packets of flows that have a limiter: first-in first-out lists in one pool of places.
// Units: accounted bytes, packets. Threads: one owner. Allocates only when built.
#pragma once

#include <cassert>
#include <cstdint>
#include <vector>

#include "common/ids.h"
#include "vswitch/qos/feedback/destination_limits.h"
#include "vswitch/qos/schedulers/packet_ref.h"

namespace weir {

struct DestinationQueue {
    TokenBucket* limiter = nullptr;  ///< nullptr: nobody's
    std::uint32_t head = UINT32_MAX;
    std::uint32_t tail = UINT32_MAX;
    std::uint32_t bytes = 0;
    std::uint32_t packets = 0;
    DestinationId next_ready = kNoDestination;  ///< among the flows of its class that may send
    VnicId vnic = kNoVnic;
    bool blocked = false;  ///< waits for its limiter

    [[nodiscard]] bool empty() const { return packets == 0; }
};

class DestinationQueues {
  public:
    /// @param packets that may wait in all flows together
    DestinationQueues(std::uint32_t flows, std::uint32_t packets) : queues_(flows), places_(packets) {
        for (std::uint32_t at = 0; at < packets; ++at)
            places_[at].next = at + 1 < packets ? at + 1 : kNone;
        free_ = packets != 0 ? 0 : kNone;
        room_ = packets;
    }

    [[nodiscard]] DestinationQueue& operator[](DestinationId flow) { return queues_[flow]; }
    [[nodiscard]] const DestinationQueue& operator[](DestinationId flow) const { return queues_[flow]; }

    /// Packets that are sure to be taken, in whatever flow.
    [[nodiscard]] std::uint32_t room() const { return room_; }
    /// @return false when the pool is used up; the packet was not taken
    [[nodiscard]] bool push(DestinationId flow, const PacketRef& packet) {
        if (free_ == kNone)
            return false;
        const std::uint32_t at = free_;
        free_ = places_[at].next;
        --room_;
        places_[at] = {packet, kNone};
        DestinationQueue& queue = queues_[flow];
        (queue.empty() ? queue.head : places_[queue.tail].next) = at;
        queue.tail = at;
        queue.bytes += packet.bytes;
        ++queue.packets;
        return true;
    }
    [[nodiscard]] const PacketRef& front(DestinationId flow) const {
        assert(!queues_[flow].empty());
        return places_[queues_[flow].head].packet;
    }
    void pop(DestinationId flow) {
        DestinationQueue& queue = queues_[flow];
        const std::uint32_t at = queue.head;
        queue.head = places_[at].next;
        queue.bytes -= places_[at].packet.bytes;
        --queue.packets;
        places_[at].next = free_;
        free_ = at;
        ++room_;
    }

  private:
    static constexpr std::uint32_t kNone = UINT32_MAX;
    struct Place {
        PacketRef packet;
        std::uint32_t next;
    };

    std::vector<DestinationQueue> queues_;
    std::vector<Place> places_;
    std::uint32_t free_;
    std::uint32_t room_;
};

}  // namespace weir
