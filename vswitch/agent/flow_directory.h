// flow_directory.h - the flows of the switch by the ids that the controller assigned to their ends.
// Source: docs/protocol.md. Threads: agent.
//
// HELLO lists the switch's vNICs and appliances; each pair of both is a service flow. TABLES assigns ids to
// both, and lists the vNICs of other hosts: a vNIC of the same tenant and VLAN is a peer, and the traffic to
// it, which uses links between hosts, is a flow too. With 3 vNICs, 2 appliances and 4 peers each, there are
// 18 flows.
//
// TABLES also state the rates of the flows while the controller is silent: of a service flow as its
// guarantee, of a pair of vNICs as the smaller of their floors. A vNIC with 10 Mbit/s for each peer sends 4
// Mbit/s to one that has 4 Mbit/s for each. TABLES count until the next ones: a HELLO with other vNICs
// changes no rate of the vNICs that stay.
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

    /// Sets the switch's own vNICs and appliances. Peers stay as in the last TABLES, so that a vNIC that
    /// comes or leaves lifts no other vNIC's rates. Another host begins without TABLES.
    void set_hello(const wire::Hello& hello);
    void set_tables(const wire::Tables& tables);

    [[nodiscard]] const wire::Hello& hello() const { return hello_; }
    [[nodiscard]] const wire::Tables& tables() const { return tables_; }
    /// All flows whose ends have ids.
    [[nodiscard]] const FlowKeys& keys() const { return keys_; }
    [[nodiscard]] const Ids& vnic_ids() const { return vnic_ids_; }
    /// @param appliance index into the switch's list
    [[nodiscard]] std::optional<std::uint32_t> appliance_id(std::uint16_t appliance) const;
    /// Rates of the service flow while the controller is silent; null = TABLES has no guarantee for it.
    [[nodiscard]] const wire::FlowAllocation* guarantee(wire::FlowKey key) const;
    /// Bytes per second of the pair of vNICs while the controller is silent; kNoStatement = TABLES lack a
    /// floor.
    [[nodiscard]] std::uint64_t pair_floor(wire::FlowKey key) const;

  private:
    void find_flows();
    void add_request_flows();
    void add_peers();

    wire::Hello hello_;
    wire::Tables tables_;
    Ids vnic_ids_;
    Ids appliance_ids_;
    FlowKeys keys_;
    std::map<wire::FlowKey, wire::FlowAllocation> guarantees_;
    std::map<std::uint32_t, std::uint64_t> floors_;  // by vNIC
};

}  // namespace weir
