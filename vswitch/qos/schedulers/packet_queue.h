// packet_queue.h - bounded first-in first-out queue of packets that knows what it holds.
// Units: bytes as accounted, packets, buffers. Threads: one owner.
#pragma once

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "vswitch/qos/schedulers/packet_ref.h"

namespace weir {

class PacketQueue {
  public:
    /// The only allocation. The slots are not touched until used, so a large bound costs no memory.
    /// @param capacity packets, a power of two
    explicit PacketQueue(std::uint32_t capacity)
        : slots_(std::make_unique_for_overwrite<PacketRef[]>(capacity)), mask_(capacity - 1) {
        assert(std::has_single_bit(capacity));
    }

    /// @return false when full; the packet was not taken.
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

    /// Takes out every packet for which take(packet) is true; the others keep their order. Looks at all.
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
    std::uint32_t head_ = 0;  // both run freely and wrap
    std::uint32_t tail_ = 0;
    std::uint32_t buffers_ = 0;
    std::uint64_t bytes_ = 0;
};

}  // namespace weir
