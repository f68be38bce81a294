// inbox.h - ring of frames that other workers received, or took from a VM, for vNICs of this worker.
// Source: DPDK ring library guide. Units: frames.
// Threads: post() by any worker, take() by the owning worker.
#pragma once

#include <cstdint>

#include "common/types.h"

struct rte_mbuf;
struct rte_ring;

namespace weir {

class Inbox {
  public:
    explicit Inbox(WorkerId owner);
    ~Inbox();
    Inbox(const Inbox&) = delete;
    Inbox& operator=(const Inbox&) = delete;

    /// The frames carry their destination (frame.h). @return how many were taken, a prefix
    std::uint16_t post(rte_mbuf** frames, std::uint16_t count);
    std::uint16_t take(rte_mbuf** frames, std::uint16_t max);

  private:
    rte_ring* ring_;
};

}  // namespace weir
