// ring_nic.h - a NIC whose wire is in the test's hands: DPDK's net_ring device on bounded rings.
// Units: frames. Threads: tests only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "vswitch/ports/nic_port.h"

struct rte_ring;

namespace weir::testing {

class RingNic {
  public:
    /// @param ring_frames the NIC takes this many frames per queue until the wire takes them (power of two)
    explicit RingNic(std::uint16_t queues = 1, unsigned ring_frames = 256);
    ~RingNic();
    RingNic(const RingNic&) = delete;
    RingNic& operator=(const RingNic&) = delete;

    [[nodiscard]] NicDevice& device() { return *device_; }
    void set_link(bool up);

    /// The frame comes from the wire.
    void arrive(rte_mbuf* frame, std::uint16_t queue = 0);
    /// The wire takes the NIC's frames; they are the caller's.
    [[nodiscard]] std::vector<rte_mbuf*> take(std::uint16_t queue = 0);
    /// The same, for tests that only count. @return bytes of the frames, with `overhead` for each
    std::uint64_t drain(std::uint32_t overhead = 0, std::uint16_t queue = 0);

  private:
    std::vector<rte_ring*> from_wire_;
    std::vector<rte_ring*> to_wire_;
    std::string name_;
    std::unique_ptr<NicDevice> device_;
};

}  // namespace weir::testing
