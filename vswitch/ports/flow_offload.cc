// flow_offload.cc - one ingress rule per vNIC, validated before it is created.
#include "vswitch/ports/flow_offload.h"

#include <array>
#include <cstring>

#include "vswitch/ports/dpdk_compat.h"

namespace weir {
namespace {

/// A rule and the memory that its pattern and actions point into.
struct Rule {
    rte_flow_attr attributes{};
    rte_flow_item_eth eth{}, eth_mask{};
    rte_flow_item_vlan vlan{}, vlan_mask{};
    rte_flow_action_mark mark{};
    rte_flow_action_queue queue{};
    std::array<rte_flow_item, 3> pattern{};
    std::array<rte_flow_action, 3> actions{};

    Rule(const VnicConfig& config, std::uint16_t queue_index, std::uint32_t mark_id, bool with_mark) {
        attributes.ingress = 1;
        rte_ether_addr address{};
        std::memcpy(address.addr_bytes, &config.mac->bits, sizeof(address.addr_bytes));
        rte_ether_addr all_ones{};
        std::memset(all_ones.addr_bytes, 0xFF, sizeof(all_ones.addr_bytes));
        eth = dpdk::flow_item_eth_dst(address);
        eth_mask = dpdk::flow_item_eth_dst(all_ones);
        vlan = dpdk::flow_item_vlan_id(config.vlan);
        vlan_mask = dpdk::flow_item_vlan_id(0x0FFF);
        mark.id = mark_id;
        queue.index = queue_index;

        std::size_t items = 0;
        pattern[items++] = {RTE_FLOW_ITEM_TYPE_ETH, &eth, nullptr, &eth_mask};
        if (config.vlan != 0)
            pattern[items++] = {RTE_FLOW_ITEM_TYPE_VLAN, &vlan, nullptr, &vlan_mask};
        pattern[items].type = RTE_FLOW_ITEM_TYPE_END;

        std::size_t count = 0;
        if (with_mark)
            actions[count++] = {RTE_FLOW_ACTION_TYPE_MARK, &mark};
        actions[count++] = {RTE_FLOW_ACTION_TYPE_QUEUE, &queue};
        actions[count].type = RTE_FLOW_ACTION_TYPE_END;
    }
};

std::string why(const rte_flow_error& error, int code) {
    return error.message != nullptr ? error.message : std::strerror(-code);
}

}  // namespace

FlowSteering::~FlowSteering() {
    rte_flow_error error{};
    for (const auto& [vnic, rule] : rules_)
        rte_flow_destroy(port_id_, rule, &error);
}

Steering FlowSteering::add(VnicId vnic, const VnicConfig& config, std::uint16_t queue) {
    if (!enabled_)
        return {false, "flow_offload is off"};
    if (!config.mac)
        return {false, "the vNIC has no fixed MAC"};
    std::string reason;
    for (const bool with_mark : {true, false}) {
        const Rule rule(config, queue, mark_of(vnic), with_mark);
        rte_flow_error error{};
        const int code =
            rte_flow_validate(port_id_, &rule.attributes, rule.pattern.data(), rule.actions.data(), &error);
        rte_flow* created = nullptr;
        if (code == 0)
            created =
                rte_flow_create(port_id_, &rule.attributes, rule.pattern.data(), rule.actions.data(), &error);
        if (created != nullptr) {
            rules_[vnic] = created;
            return {true, with_mark ? "" : "no mark: " + reason};
        }
        reason = why(error, code != 0 ? code : -rte_errno);
    }
    return {false, "the NIC's driver: " + reason};
}

void FlowSteering::remove(VnicId vnic) {
    const auto found = rules_.find(vnic);
    if (found == rules_.end())
        return;
    rte_flow_error error{};
    rte_flow_destroy(port_id_, found->second, &error);
    rules_.erase(found);
}

}  // namespace weir
