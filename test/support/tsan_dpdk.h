// tsan_dpdk.h - marks for TSan the frames that DPDK's rings hand over between threads. Included in front of
// every file that uses DPDK when it is built with -Dsanitize=thread (meson.build). Source: DPDK ring library
// guide. Threads: any.
//
// DPDK's libraries are not instrumented: TSan does not see that a frame that one thread puts into a ring and
// another takes out of it was handed over, by a ring's head and tail or within a device. So each frame
// is marked as released when it is put in, and as acquired when it is taken out. The places of a ring itself
// are not watched: a producer that waits for another one's tail does so by a relaxed load, which orders
// nothing. Frames also change threads in the pool: test/support/locked_pool.h.
#pragma once

#if __has_include(<rte_ring.h>)
#include <rte_ethdev.h>
#include <rte_ring.h>
#include <sanitizer/tsan_interface.h>

#include <cstdint>

extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}

namespace weir::testing {

/// While it lives TSan does not watch this thread's reads and writes.
struct Unwatched {
    Unwatched() {
        AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
        AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    }
    ~Unwatched() {
        AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
        AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    }
    Unwatched(const Unwatched&) = delete;
    Unwatched& operator=(const Unwatched&) = delete;
};

inline void hand_over(void* const* frames, unsigned count) {
    for (unsigned i = 0; i < count; ++i)
        __tsan_release(frames[i]);
}
inline unsigned take_over(void* const* frames, unsigned count) {
    for (unsigned i = 0; i < count; ++i)
        __tsan_acquire(frames[i]);
    return count;
}

inline unsigned enqueue_burst(rte_ring* ring, void* const* frames, unsigned count, unsigned* room) {
    hand_over(frames, count);
    const Unwatched unwatched;
    return rte_ring_enqueue_burst(ring, frames, count, room);
}
inline unsigned dequeue_burst(rte_ring* ring, void** frames, unsigned count, unsigned* left) {
    const Unwatched unwatched;
    return take_over(frames, rte_ring_dequeue_burst(ring, frames, count, left));
}
inline int enqueue_one(rte_ring* ring, void* frame) {
    hand_over(&frame, 1);
    const Unwatched unwatched;
    return rte_ring_enqueue(ring, frame);
}
inline int dequeue_one(rte_ring* ring, void** frame) {
    const Unwatched unwatched;
    const int result = rte_ring_dequeue(ring, frame);
    take_over(frame, result == 0 ? 1 : 0);
    return result;
}
inline std::uint16_t rx_burst(std::uint16_t port, std::uint16_t queue, rte_mbuf** frames,
                              std::uint16_t count) {
    return static_cast<std::uint16_t>(
        take_over(reinterpret_cast<void**>(frames), rte_eth_rx_burst(port, queue, frames, count)));
}
inline std::uint16_t tx_burst(std::uint16_t port, std::uint16_t queue, rte_mbuf** frames,
                              std::uint16_t count) {
    hand_over(reinterpret_cast<void**>(frames), count);
    return rte_eth_tx_burst(port, queue, frames, count);
}

}  // namespace weir::testing

#define rte_ring_enqueue_burst weir::testing::enqueue_burst
#define rte_ring_dequeue_burst weir::testing::dequeue_burst
#define rte_ring_enqueue weir::testing::enqueue_one
#define rte_ring_dequeue weir::testing::dequeue_one
#define rte_eth_rx_burst weir::testing::rx_burst
#define rte_eth_tx_burst weir::testing::tx_burst
#endif
