// flow_directory.h - the switch's flows and the ids that the controller gave to their ends.
// Source: docs/protocol.md. Threads: agent.
//
// HELLO gives the switch's vNICs and appliances: each pair of them is a flow of requests. TABLES gives ids to
// both, and names the vNICs of other hosts: one of the same tenant and VLAN is a peer, whose traffic uses
// links that others use, and makes a flow of its own.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "common/wire/messages.h"
#include "vswitch/agent/demand_sampler.h"

namespace weir {

class FlowDirectory {
  public:
    using Ids = std::map<std::string, std::uint32_t, std::less<>>;

    /// The flows of requests; peers are unknown until the next TABLES.
    void set_hello(const wire::Hello& hello);
    void set_tables(const wire::Tables& tables);

    [[nodiscard]] const wire::Hello& hello() const { return hello_; }
    /// All flows whose ends have ids.
    [[nodiscard]] const FlowKeys& keys() const { return keys_; }
    [[nodiscard]] const Ids& vnic_ids() const { return vnic_ids_; }
    /// @param appliance index into the switch's list
    [[nodiscard]] std::optional<std::uint32_t> appliance_id(std::uint16_t appliance) const;
    /// What the flow may use while the controller is silent; null = TABLES has no guarantee for it.
    [[nodiscard]] const wire::FlowAllocation* guarantee(wire::FlowKey key) const;

  private:
    void add_request_flows();
    void add_peers(const wire::Tables& tables);

    wire::Hello hello_;
    Ids vnic_ids_;
    Ids appliance_ids_;
    FlowKeys keys_;
    std::map<wire::FlowKey, wire::FlowAllocation> guarantees_;
};

}  // namespace weir
