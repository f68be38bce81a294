// inbox.h - ring of frames that other workers received, or took from a VM, for vNICs of this worker.
// Source: DPDK ring library guide. Units: frames; buffers.
// Threads: post() by any worker, take() by the owning worker.
//
// Its frames hold at most limits::kInboxBuffers. Only frames of more than one buffer are counted, as there
// are no more frames than the ring has places: super-frames cost much more than the shared counter does.
#pragma once

#include <atomic>
#include <cstdint>

#include "common/types.h"
#include "vswitch/ports/wakeups.h"

struct rte_mbuf;
struct rte_ring;

namespace weir {

class Inbox {
  public:
    /// @param wakeups of the owner; outlives this; null: it never sleeps
    explicit Inbox(WorkerId owner, Wakeups* wakeups = nullptr);
    ~Inbox();
    Inbox(const Inbox&) = delete;
    Inbox& operator=(const Inbox&) = delete;

    /// The frames carry their destination (frame_word.h). @return how many were taken, a prefix; none when
    /// their buffers are too many
    std::uint16_t post(rte_mbuf** frames, std::uint16_t count);
    std::uint16_t take(rte_mbuf** frames, std::uint16_t max);

  private:
    rte_ring* ring_;
    Wakeups* wakeups_;
    alignas(64) std::atomic<std::uint32_t> more_buffers_{0};  // than one per frame
};

}  // namespace weir
