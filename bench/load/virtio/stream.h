// stream.h - one traffic stream: frames that are built once and sent again and again at a rate.
// Threads: main constructs; the polling core uses it until the run has ended.
//
// A buffer returns to its pool with the frame still in it, so that sending builds nothing. A paced stream
// counts the frames that are due: pps times the time since the last call. At 1 M/s and a call every 10 us,
// ten are due each time; when the ring takes none for a millisecond, a thousand are due at most and further
// ones count as refused.
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
    Stream(const StreamSpec& spec, Port& from, const Mac& to, rte_mempool* pool, std::uint64_t tsc_hz);

    /// Sends the frames due at `now` (TSC), at most one burst.
    void send(std::uint64_t now);
    [[nodiscard]] bool paced() const { return paced_; }
    /// Sets the counters to zero; frames stamped before `now` no longer count as received.
    void start_counting(std::uint64_t now);

    /// Counts a frame of this stream that arrived at an inspecting port, and times it unless the generator
    /// paused while it was on its way. @param stamped its stamp, TSC cycles
    void arrived(std::uint64_t stamped, std::uint64_t now, std::uint64_t pause_end) {
        if (!stamp_) {
            ++received;
        } else if (stamped >= counting_since_) {
            ++received;
            if (stamped >= pause_end)
                record(now - stamped, now);
            else
                ++untimed;
        }
    }

    std::uint64_t accepted = 0;  ///< frames that the ring took
    std::uint64_t refused = 0;   ///< frames that were due while the ring was full for more than a millisecond
    std::uint64_t received = 0;  ///< frames seen at inspecting ports
    std::uint64_t untimed = 0;   ///< of those received: the generator paused while they were on their way
    Histogram delay;             ///< TSC cycles
    /// The 99th percentile of each tenth of a second with 1,000 frames or more: a pause of the machine is in
    /// one of them, not in all.
    std::vector<std::uint64_t> window_p99;

  private:
    void record(std::uint64_t cycles, std::uint64_t now) {
        delay.record(cycles);
        window_.record(cycles);
        if (now >= window_end_)
            close_window(now);
    }
    void close_window(std::uint64_t now);
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
    std::uint32_t src_ip_;
    std::uint32_t src_ips_;
    std::uint32_t src_ip_next_ = 0;
    std::uint32_t src_next_ = 0;
    std::uint32_t dst_next_ = 0;
    std::uint32_t flow_next_ = 0;
    bool random_;
    std::uint64_t random_state_ = 1;
    std::uint16_t burst_;
    std::uint16_t burst_min_;  ///< a paced stream sends no fewer at once
    std::uint16_t l2_bytes_;
    bool ports_;  ///< the frame has its ports behind an IPv4 header
    bool stamp_;
    bool paced_;
    double frames_per_cycle_ = 0;
    double due_ = 0;
    double due_max_ = 0;  ///< one millisecond of the rate, at least a burst: a VM's own queue
    std::uint64_t stall_max_ =
        0;  ///< cycles; the rest of a longer gap is the generator's own pause, and no frames are due for it
    std::uint64_t last_ = 0;
    std::uint64_t counting_since_ = 0;
    std::uint64_t window_cycles_;
    std::uint64_t window_end_ = 0;
    Histogram window_;
};

/// The pool of stream slot `id`, in which every buffer holds the frame of `spec`. A pool lives as long as the
/// process, because rings still hold buffers when a run ends; a later run of the same slot and size class
/// reuses it.
/// @throws std::runtime_error when memory is short
rte_mempool* frame_pool(std::uint32_t id, const StreamSpec& spec, const Mac& from, const Mac& to);

}  // namespace weir::load
