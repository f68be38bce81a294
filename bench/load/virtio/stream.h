// stream.h - one traffic stream: frames built once and sent again and again at a rate.
// The buffers go back to their pool with the frame still in them, so that sending costs no building.
// Threads: constructed by main; everything else on the polling core until the run has ended.
#pragma once

#include <rte_mempool.h>

#include <cstdint>

#include "bench/load/virtio/histogram.h"
#include "bench/load/virtio/port.h"
#include "bench/load/virtio/spec.h"

namespace weir::load {

class Stream {
  public:
    /// @param pool from frame_pool(id, ...): already holds this stream's frames
    Stream(const StreamSpec& spec, Port& from, const Port& to, rte_mempool* pool, std::uint64_t tsc_hz);

    /// Sends what is due at `now` (TSC), at most one burst.
    void send(std::uint64_t now);
    /// Forgets what was counted so far; frames stamped before `now` no longer count as received.
    void start_counting(std::uint64_t now);

    /// A stamped or unstamped frame of this stream has arrived at an inspecting port.
    void arrived(std::uint64_t stamped, std::uint64_t now) {
        if (!stamp_) {
            ++received;
        } else if (stamped >= counting_since_) {
            ++received;
            delay.record(now - stamped);
        }
    }

    std::uint64_t accepted = 0;  ///< frames that the ring took
    std::uint64_t refused =
        0;  ///< frames that were due and found the ring full for longer than the backlog bound
    std::uint64_t received = 0;  ///< frames seen at inspecting ports
    Histogram delay;             ///< TSC cycles

  private:
    [[nodiscard]] std::uint16_t due(std::uint64_t now);
    void patch(rte_mbuf** packets, std::uint16_t count, std::uint64_t now);
    void advance(std::uint32_t& index, std::uint32_t count);

    Port& from_;
    rte_mempool* pool_;
    Mac src_;
    Mac dst_;
    std::uint32_t src_macs_;
    std::uint32_t dst_macs_;
    std::uint32_t flows_;
    std::uint32_t src_next_ = 0;
    std::uint32_t dst_next_ = 0;
    std::uint32_t flow_next_ = 0;
    bool random_;
    std::uint64_t random_state_ = 1;
    std::uint16_t burst_;
    std::uint16_t burst_min_;  ///< paced: fewer than these wait
    std::uint16_t l2_bytes_;
    bool stamp_;
    bool paced_;
    double frames_per_cycle_ = 0;
    double due_ = 0;
    double due_max_ = 0;           ///< a VM's own queue: one millisecond of its rate, at least a burst
    std::uint64_t stall_max_ = 0;  ///< cycles; a longer gap is our own stall and makes nothing due
    std::uint64_t last_ = 0;
    std::uint64_t counting_since_ = 0;
};

/// The pool of stream slot `id`, every buffer holding the frame of `spec`. Pools live as long as the process,
/// because the rings still hold buffers when a run ends; a later run with the same slot and size class takes
/// the pool over.
/// @throws std::runtime_error when memory is short
rte_mempool* frame_pool(std::uint32_t id, const StreamSpec& spec, const Mac& from, const Mac& to);

}  // namespace weir::load
