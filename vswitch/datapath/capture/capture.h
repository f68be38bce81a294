// capture.h - one capture on one worker: which frames fit, and the ring with their copies.
// Source: libpcap. Units: bytes, ns, cycles of the TSC.
// Threads: made and read by the agent; take() and the functions for offers by the worker only.
#pragma once

#include <pcap/pcap.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "vswitch/base/capture.h"
#include "vswitch/base/limits.h"
#include "vswitch/datapath/capture/capture_ring.h"

struct rte_mbuf;

namespace weir {

/// libpcap's check of a compiled filter: every jump goes forward and stays inside, every access is bounded.
[[nodiscard]] bool valid_filter(const std::vector<FilterInstruction>& filter);

class Capture {
  public:
    /// @param order with a valid filter  @param vnic of the order; kNoVnic: the uplink
    /// @param ring_bytes memory for copies
    Capture(const CaptureOrder& order, VnicId vnic, std::size_t ring_bytes);

    [[nodiscard]] bool of_uplink() const { return vnic_ == kNoVnic; }
    [[nodiscard]] VnicId vnic() const { return vnic_; }
    [[nodiscard]] bool drops_only() const { return drops_; }
    [[nodiscard]] bool sees(const CapturePoint& point) const {
        return of_uplink() ? point.uplink : point.vnic == vnic_;
    }

    /// Copies the frame if it fits. The record's `cycles`, `length` and `kept` are filled in here.
    void take(CaptureRecord record, const rte_mbuf* frame);

    /// Copies frames before a ring gets them, `count` <= limits::kBurst.
    void offer(const CaptureRecord& record, rte_mbuf* const* frames, std::uint16_t count,
               const Nanos* delays = nullptr);
    /// The ring has left these of the frames that were offered last: their copies are forgotten.
    void settle(rte_mbuf* const* left, std::uint16_t count);

    /// Copies for the agent.
    CaptureRing ring;
    /// Frames that fitted and found no room in the ring. The worker writes.
    std::atomic<std::uint64_t> missed{0};

  private:
    [[nodiscard]] bool fits(const CaptureRecord& record, const rte_mbuf* frame);
    bool write(CaptureRecord record, const rte_mbuf* frame, std::size_t ahead);

    VnicId vnic_;
    bool drops_;
    std::optional<DropReason> reason_;
    std::uint32_t snap_;
    std::uint32_t every_;
    std::uint32_t passed_ = 0;  ///< frames since the last copy
    std::vector<bpf_insn> filter_;
    std::array<std::uint32_t, kDropReasons> left_{};  ///< copies that are still wanted, by reason
    std::array<const rte_mbuf*, limits::kBurst> offered_{};
    std::uint16_t offers_ = 0;
};

}  // namespace weir
