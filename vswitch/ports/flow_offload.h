// flow_offload.h - rte_flow rules of the NIC that steer frames for a vNIC to its worker's queue.
// Source: DPDK rte_flow guide; docs/design.md 2. Threads: agent only.
//
// Without a rule RSS spreads frames over the workers, and one that arrives at another worker is handed over
// by a ring. A rule matches MAC address and VLAN. Its mark, vNIC + 1, comes with each frame and saves the
// look-up.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "common/types.h"
#include "vswitch/base/stats.h"
#include "vswitch/config/config.h"

struct rte_flow;

namespace weir {

/// The rules of one device; the destructor removes them.
class FlowSteering {
  public:
    /// @param enabled false when `flow_offload` is off: add() makes no rules
    FlowSteering(std::uint16_t port_id, bool enabled) : port_id_(port_id), enabled_(enabled) {}
    ~FlowSteering();
    FlowSteering(const FlowSteering&) = delete;
    FlowSteering& operator=(const FlowSteering&) = delete;

    /// Creates the vNIC's rule, without a mark if the NIC has none. @return hardware if the NIC accepted a
    /// rule; else software and the reason
    Steering add(VnicId vnic, const VnicConfig& config, std::uint16_t queue);
    void remove(VnicId vnic);

    /// The mark of frames for `vnic`; 0 is a frame without a mark.
    [[nodiscard]] static std::uint32_t mark_of(VnicId vnic) { return static_cast<std::uint32_t>(vnic) + 1; }

  private:
    std::uint16_t port_id_;
    bool enabled_;
    std::unordered_map<VnicId, rte_flow*> rules_;
};

}  // namespace weir
