// flow_offload.h - rte_flow rules that steer a vNIC's frames to its worker's queue, with a mark that saves a
// look-up. Source: DPDK rte_flow guide; design section 2. Threads: agent only.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "common/types.h"
#include "vswitch/config/config.h"
#include "vswitch/stats.h"

struct rte_flow;

namespace weir {

/// Owns the rules of one device; removes them when it goes.
class FlowSteering {
  public:
    /// @param enabled false when `flow_offload` is off: every answer is software
    FlowSteering(std::uint16_t port_id, bool enabled) : port_id_(port_id), enabled_(enabled) {}
    ~FlowSteering();
    FlowSteering(const FlowSteering&) = delete;
    FlowSteering& operator=(const FlowSteering&) = delete;

    /// Validates and creates the rule MAC (and VLAN) -> queue, mark; without the mark when the NIC has none.
    Steering add(VnicId vnic, const VnicConfig& config, std::uint16_t queue);
    void remove(VnicId vnic);

    /// The mark that means `vnic`; 0 means none.
    [[nodiscard]] static std::uint32_t mark_of(VnicId vnic) { return static_cast<std::uint32_t>(vnic) + 1; }

  private:
    std::uint16_t port_id_;
    bool enabled_;
    std::unordered_map<VnicId, rte_flow*> rules_;
};

}  // namespace weir
