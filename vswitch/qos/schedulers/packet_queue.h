// packet_queue.h - PacketRef, a packet as schedulers see it, and a bounded FIFO of them that counts its
// content. Units: accounted bytes; packets; buffers; ns. Threads: one owner.
//
// The owner is the worker of a vNIC, or the simulator. Only the constructor allocates memory and may throw;
// no call waits. The queue never follows `packet` and frees none: a packet in the queue belongs to the
// queue's owner, a refused or removed one to the caller, and the owner drains a queue before destroying it.
//
//   if (!queue.push(ref))                                       // full
//       drop(ref.packet);                                       // still the caller's
//   while (!queue.empty()) {
//       const PacketRef first = queue.front();                  // a copy: pop() ends the reference
//       if (!limiter.admit({first.bytes, first.frames}, now))   // it stays first
//           break;
//       queue.pop();
//       deliver(first.packet);                                  // the caller's again
//   }
#pragma once

#include <bit>
#include <cassert>
#include <cstdint>
#include <memory>

#include "common/clock.h"

namespace weir {

/// Copied freely: a copy owns nothing. In an appliance's window it stands for a request, and `bytes` are
/// scaled tokens.
struct PacketRef {
    void* packet;           ///< opaque to schedulers; an rte_mbuf in the switch
    Nanos enqueued;         ///< when it was taken from the ring; queue delay is measured from here
    std::uint32_t bytes;    ///< accounted bytes of all its wire frames
    std::uint16_t frames;   ///< wire frames: more than one if it will be segmented
    std::uint16_t buffers;  ///< buffers (mbufs) that it holds
};
static_assert(sizeof(PacketRef) == 24);

/// Can be moved, not copied; a queue that was moved from may only be destroyed.
class PacketQueue {
  public:
    /// The only allocation. A slot is not touched before it is used, so a large capacity costs no memory.
    /// @param capacity packets, a power of two, 1..2^31; their buffers add up to less than 2^32
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

    /// The oldest packet, valid until pop() or extract(). The queue is not empty: an assertion, which release
    /// builds leave out.
    [[nodiscard]] const PacketRef& front() const {
        assert(!empty());
        return slots_[head_ & mask_];
    }
    /// Removes the oldest packet. The queue is not empty, as for front().
    void pop() {
        const PacketRef& packet = front();
        bytes_ -= packet.bytes;
        buffers_ -= packet.buffers;
        ++head_;
        assert(!empty() || (bytes_ == 0 && buffers_ == 0));
    }

    /// Removes every packet for which take(const PacketRef&) is true, and which is then the caller's; the
    /// others keep their order. Visits all packets, oldest first: for changes, not per packet. take() must
    /// not use this queue.
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
    /// Sums over the packets in the queue.
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
