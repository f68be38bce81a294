// flow_offload.cc - one ingress rule per vNIC, validated before it is created.
#include "vswitch/ports/flow_offload.h"

#include <rte_ethdev.h>
#include <rte_flow.h>

#include <array>
#include <cstring>

#include "vswitch/base/dpdk_versions.h"  // items with `hdr`

namespace weir {
namespace {

/// Variant of a rule.
struct Form {
    bool with_mark;
    std::uint32_t priority;  // 0 is matched first
};

/// The best first. A rule without VLAN matches tagged frames too, which may be another vNIC's, so rules with
/// a VLAN need the higher priority. Linux (net_tap) keeps rules of one kind at a priority. Many NICs have
/// only priority 0.
constexpr std::array<Form, 4> kForms{{{true, 1}, {true, 0}, {false, 1}, {false, 0}}};

/// A rule with the memory that its pattern and actions point into.
struct Rule {
    rte_flow_attr attributes{};
    rte_flow_item_eth eth{}, eth_mask{};
    rte_flow_item_vlan vlan{}, vlan_mask{};
    rte_flow_action_mark mark{};
    rte_flow_action_queue queue{};
    std::array<rte_flow_item, 3> pattern{};
    std::array<rte_flow_action, 3> actions{};

    Rule(const VnicConfig& config, std::uint16_t queue_index, std::uint32_t mark_id, const Form& form) {
        attributes.ingress = 1;
        attributes.priority = form.priority;
        std::memcpy(eth.hdr.dst_addr.addr_bytes, &config.mac->bits, RTE_ETHER_ADDR_LEN);
        std::memset(eth_mask.hdr.dst_addr.addr_bytes, 0xFF, RTE_ETHER_ADDR_LEN);
        vlan.hdr.vlan_tci = rte_cpu_to_be_16(config.vlan);
        vlan_mask.hdr.vlan_tci = rte_cpu_to_be_16(0x0FFF);
        mark.id = mark_id;
        queue.index = queue_index;

        std::size_t items = 0;
        pattern[items++] = {RTE_FLOW_ITEM_TYPE_ETH, &eth, nullptr, &eth_mask};
        if (config.vlan != 0)
            pattern[items++] = {RTE_FLOW_ITEM_TYPE_VLAN, &vlan, nullptr, &vlan_mask};
        pattern[items].type = RTE_FLOW_ITEM_TYPE_END;

        std::size_t count = 0;
        if (form.with_mark)
            actions[count++] = {RTE_FLOW_ACTION_TYPE_MARK, &mark};
        actions[count++] = {RTE_FLOW_ACTION_TYPE_QUEUE, &queue};
        actions[count].type = RTE_FLOW_ACTION_TYPE_END;
    }
};

/// @return the rule; null: `reason` is set
rte_flow* create(std::uint16_t port, const Rule& rule, std::string& reason) {
    rte_flow_error error{};
    const int code =
        rte_flow_validate(port, &rule.attributes, rule.pattern.data(), rule.actions.data(), &error);
    rte_flow* created = nullptr;
    if (code == 0)
        created = rte_flow_create(port, &rule.attributes, rule.pattern.data(), rule.actions.data(), &error);
    if (created == nullptr)
        reason = error.message != nullptr ? error.message : std::strerror(code != 0 ? -code : rte_errno);
    return created;
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
    std::string no_mark;
    for (const Form& form : kForms) {
        if (config.vlan != 0 && form.priority != 0)
            continue;
        const Rule rule(config, queue, mark_of(vnic), form);
        if (rte_flow* created = create(port_id_, rule, reason)) {
            rules_[vnic] = created;
            return {true, form.with_mark ? "" : "no mark: " + no_mark};
        }
        if (form.with_mark)
            no_mark = reason;
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
