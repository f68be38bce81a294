// packet_queue.h - PacketRef, a packet as schedulers see it, and a bounded FIFO of them that counts its
// content. Units: accounted bytes; packets; buffers; ns. Threads: one owner.
#pragma once

#include <bit>
#include <cassert>
#include <cstdint>
#include <memory>

#include "common/clock.h"

namespace weir {

struct PacketRef {
    void* packet;           ///< opaque to schedulers; owned by the caller that enqueued it
    Nanos enqueued;         ///< when it was taken from the ring; queue delay is measured from here
    std::uint32_t bytes;    ///< accounted bytes of all its wire frames
    std::uint16_t frames;   ///< wire frames: more than one if it will be segmented
    std::uint16_t buffers;  ///< buffers (mbufs) that it holds
};
static_assert(sizeof(PacketRef) == 24);

class PacketQueue {
  public:
    /// The only allocation. A slot is not touched before it is used, so a large capacity costs no memory.
    /// @param capacity packets, a power of two
    explicit PacketQueue(std::uint32_t capacity)
        : slots_(std::make_unique_for_overwrite<PacketRef[]>(capacity)), mask_(capacity - 1) {
        assert(std::has_single_bit(capacity));
    }

    /// @return false when the queue is full; the packet was not taken
    [[nodiscard]] bool push(const PacketRef& packet) {
        if (packets() == capacity())
            return false;
        slots_[tail_++ & mask_] = packet;
        bytes_ += packet.bytes;
        buffers_ += packet.buffers;
        return true;
    }

    /// The oldest packet; the queue is not empty.
    [[nodiscard]] const PacketRef& front() const {
        assert(!empty());
        return slots_[head_ & mask_];
    }
    void pop() {
        const PacketRef& packet = front();
        bytes_ -= packet.bytes;
        buffers_ -= packet.buffers;
        ++head_;
    }

    /// Removes every packet for which take(packet) is true; the others keep their order. Visits all packets.
    template <class Take>
    void extract(Take&& take) {
        std::uint32_t kept = head_;
        for (std::uint32_t at = head_; at != tail_; ++at) {
            const PacketRef packet = slots_[at & mask_];
            if (take(packet)) {
                bytes_ -= packet.bytes;
                buffers_ -= packet.buffers;
            } else {
                slots_[kept++ & mask_] = packet;
            }
        }
        tail_ = kept;
    }

    [[nodiscard]] bool empty() const { return head_ == tail_; }
    [[nodiscard]] std::uint32_t capacity() const { return mask_ + 1; }
    [[nodiscard]] std::uint32_t packets() const { return tail_ - head_; }
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
    [[nodiscard]] std::uint32_t buffers() const { return buffers_; }

  private:
    std::unique_ptr<PacketRef[]> slots_;
    std::uint32_t mask_;
    std::uint32_t head_ = 0;  // head_ and tail_ count on and wrap; masked, they are slots
    std::uint32_t tail_ = 0;
    std::uint32_t buffers_ = 0;
    std::uint64_t bytes_ = 0;
};

}  // namespace weir
