// packet.h - packet of the simulated network, and the pool that allocates packets.
// Units: bytes on the wire (frame, FCS, preamble, gap); ns.
// Threads: one.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/clock.h"

namespace weir::sim {

/// Identity of a vNIC in the whole simulation; senders are known to receivers by it.
using EndpointId = std::uint32_t;
/// Identity of a stream or a connection.
using StreamId = std::uint32_t;

enum class PacketKind : std::uint8_t { kData, kAck, kFeedback };

struct Packet {
    Packet* next;            ///< in the one list that holds the packet
    Nanos due;               ///< for the list that it is in: when it comes out
    Nanos sent;              ///< when its transport sent it
    Nanos echo;              ///< `sent` of the packet that an acknowledgement answers
    std::uint64_t sequence;  ///< number of the segment; of feedback its sequence number
    std::uint64_t ack;       ///< all segments before it have arrived; of feedback the rate, bytes/s
    std::uint64_t sack;      ///< a segment at or after `ack` that has arrived; 0 = none
    EndpointId from;
    EndpointId to;
    StreamId flow;
    std::uint32_t to_host;  ///< host of `to`, by which switches route
    std::uint32_t bytes;    ///< on the wire
    std::uint32_t payload;  ///< bytes of the guest's data
    std::uint16_t marks;    ///< of an acknowledgement: congestion marks since the last one
    PacketKind kind;
    std::uint8_t side : 1;       ///< of a connection: which end sent it
    bool end_of_message : 1;     ///< last segment of a message
    bool push : 1;               ///< the sender sends nothing behind it for now: acknowledge at once
    bool has_ack : 1;            ///< `ack`, `sack`, `echo` and `marks` count
    bool ecn_capable : 1;        ///< marked rather than dropped where queues are long
    bool congestion_marked : 1;  ///< was marked
    bool low_priority : 1;       ///< best effort, in networks that have a class for it
};

/// First in, first out, through Packet::next.
class PacketList {
  public:
    [[nodiscard]] bool empty() const { return head_ == nullptr; }
    [[nodiscard]] const Packet& front() const { return *head_; }
    void push(Packet& packet) {
        packet.next = nullptr;
        (head_ == nullptr ? head_ : tail_->next) = &packet;
        tail_ = &packet;
    }
    [[nodiscard]] Packet& pop() {
        Packet& packet = *head_;
        head_ = packet.next;
        return packet;
    }

  private:
    Packet* head_ = nullptr;
    Packet* tail_ = nullptr;
};

/// Allocates in slabs, never per packet once the simulation runs at its size.
class PacketPool {
  public:
    /// All fields are zero.
    [[nodiscard]] Packet& take() {
        if (free_ == nullptr)
            grow();
        Packet& packet = *free_;
        free_ = packet.next;
        packet = Packet{};
        ++in_use_;
        return packet;
    }
    void give_back(Packet& packet) {
        packet.next = free_;
        free_ = &packet;
        --in_use_;
    }
    [[nodiscard]] std::uint64_t in_use() const { return in_use_; }

  private:
    using Slab = std::array<Packet, 1024>;
    void grow() {
        slabs_.push_back(std::make_unique<Slab>());
        for (Packet& packet : *slabs_.back()) {
            packet.next = free_;
            free_ = &packet;
        }
    }

    Packet* free_ = nullptr;
    std::vector<std::unique_ptr<Slab>> slabs_;
    std::uint64_t in_use_ = 0;
};

}  // namespace weir::sim
