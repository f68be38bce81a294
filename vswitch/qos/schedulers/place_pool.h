// place_pool.h - a pool of places for waiting packets, and queues that are chains of its places.
// Units: accounted bytes; packets. Threads: one owner. Allocates only when built.
//
// There may be thousands of queues of which few hold packets at one time. A queue is therefore no memory of
// its own but a chain of places, linked by index, and an empty queue holds none. Example: 16,384 places of 32
// bytes (512 KiB) serve 16,384 queues of up to 256 packets each, as long as no more wait together.
#pragma once

#include <cassert>
#include <cstdint>
#include <vector>

#include "vswitch/qos/schedulers/packet_queue.h"

namespace weir {

class PlacePool {
  public:
    static constexpr std::uint32_t kNone = UINT32_MAX;

    /// A queue: its oldest packet is at `head`.
    struct Chain {
        std::uint32_t head = kNone;
        std::uint32_t tail = kNone;
        std::uint32_t bytes = 0;
        std::uint32_t packets = 0;

        [[nodiscard]] bool empty() const { return packets == 0; }
    };

    explicit PlacePool(std::uint32_t places) : places_(places), room_(places) {
        for (std::uint32_t at = 0; at < places; ++at)
            places_[at].next = at + 1 < places ? at + 1 : kNone;
        free_ = places != 0 ? 0 : kNone;
    }

    /// Free places for packets of any queue.
    [[nodiscard]] std::uint32_t room() const { return room_; }

    /// @param tag kept with the packet  @return false when all places are used; the packet was not taken
    [[nodiscard]] bool push(Chain& queue, const PacketRef& packet, std::uint16_t tag = 0) {
        if (free_ == kNone)
            return false;
        const std::uint32_t place = free_;
        free_ = places_[place].next;
        --room_;
        places_[place] = {packet, kNone, tag};
        append(queue, place);
        return true;
    }
    [[nodiscard]] const PacketRef& front(const Chain& queue) const {
        assert(!queue.empty());
        return places_[queue.head].packet;
    }
    [[nodiscard]] std::uint16_t front_tag(const Chain& queue) const { return places_[queue.head].tag; }
    void pop(Chain& queue) {
        const std::uint32_t place = detach(queue);
        places_[place].next = free_;
        free_ = place;
        ++room_;
        assert(room_ <= places_.size());
        assert(!queue.empty() || queue.bytes == 0);
    }
    /// The first packet of one queue becomes the last one of another.
    void move_front(Chain& from, Chain& to) { append(to, detach(from)); }

    /// Gives the first `count` packets of the queue, or as many as there are, to see(packet).
    template <class See>
    void visit(const Chain& queue, std::uint32_t count, See&& see) const {
        for (std::uint32_t at = queue.head; at != kNone && count != 0; at = places_[at].next, --count)
            see(places_[at].packet);
    }

  private:
    struct Place {
        PacketRef packet{};
        std::uint32_t next = kNone;
        std::uint16_t tag = 0;
    };
    static_assert(sizeof(Place) == 32);

    void append(Chain& queue, std::uint32_t place) {
        (queue.empty() ? queue.head : places_[queue.tail].next) = place;
        queue.tail = place;
        queue.bytes += places_[place].packet.bytes;
        ++queue.packets;
    }
    [[nodiscard]] std::uint32_t detach(Chain& queue) {
        const std::uint32_t place = queue.head;
        queue.head = places_[place].next;
        places_[place].next = kNone;
        queue.bytes -= places_[place].packet.bytes;
        --queue.packets;
        return place;
    }

    std::vector<Place> places_;
    std::uint32_t free_;
    std::uint32_t room_;
};

}  // namespace weir
