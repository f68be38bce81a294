// flow_directory.h - the flows of the switch by the ids that the controller assigned to their ends.
// Source: docs/protocol.md. Threads: agent.
//
// HELLO lists the switch's vNICs and appliances; each pair of both is a service flow. TABLES assigns ids to
// both, and lists the vNICs of other hosts: a vNIC of the same tenant and VLAN is a peer, and the traffic to
// it, which uses links between hosts, is a flow too. With 3 vNICs, 2 appliances and 4 peers each, there are
// 18 flows.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/wire/messages.h"
#include "vswitch/agent/demand_sampler.h"

namespace weir {

class FlowDirectory {
  public:
    using Ids = std::map<std::string, std::uint32_t, std::less<>>;

    /// Sets the service flows. Peers stay as in the last TABLES, so that a vNIC that comes or leaves lifts no
    /// other vNIC's rates.
    void set_hello(const wire::Hello& hello);
    void set_tables(const wire::Tables& tables);

    [[nodiscard]] const wire::Hello& hello() const { return hello_; }
    /// All flows whose ends have ids.
    [[nodiscard]] const FlowKeys& keys() const { return keys_; }
    [[nodiscard]] const Ids& vnic_ids() const { return vnic_ids_; }
    /// @param appliance index into the switch's list
    [[nodiscard]] std::optional<std::uint32_t> appliance_id(std::uint16_t appliance) const;
    /// Rates of the flow while the controller is silent; null = TABLES has no guarantee for it.
    [[nodiscard]] const wire::FlowAllocation* guarantee(wire::FlowKey key) const;

  private:
    void set_keys();
    void add_request_flows();
    void add_peers();

    wire::Hello hello_;
    std::vector<wire::Endpoint> endpoints_;  // of the last TABLES
    Ids vnic_ids_;
    Ids appliance_ids_;
    FlowKeys keys_;
    std::map<wire::FlowKey, wire::FlowAllocation> guarantees_;
};

}  // namespace weir
