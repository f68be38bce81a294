// dpdk_compat.h - the one place that knows DPDK versions (22.11 or newer).
// Source: DPDK release notes 22.11 .. 26.07. Threads: any.
#pragma once

#include <rte_ethdev.h>
#include <rte_flow.h>
#include <rte_telemetry.h>
#include <rte_version.h>

#include <cstdint>

static_assert(RTE_VERSION >= RTE_VERSION_NUM(22, 11, 0, 0), "Weir needs DPDK 22.11 or newer");

namespace weir::dpdk {

/// rte_flow_item_eth and rte_flow_item_vlan hold protocol headers (`hdr`) from 22.11 on; the old names left
/// in 23.11.
inline rte_flow_item_eth flow_item_eth_dst(const rte_ether_addr& address) {
    rte_flow_item_eth item{};
    item.hdr.dst_addr = address;
    return item;
}

inline rte_flow_item_vlan flow_item_vlan_id(std::uint16_t id) {
    rte_flow_item_vlan item{};
    item.hdr.vlan_tci = rte_cpu_to_be_16(id);
    return item;
}

/// Named rte_tel_data_add_dict_u64 until 23.03.
inline int telemetry_add_uint(rte_tel_data* dict, const char* name, std::uint64_t value) {
#if RTE_VERSION >= RTE_VERSION_NUM(23, 3, 0, 0)
    return rte_tel_data_add_dict_uint(dict, name, value);
#else
    return rte_tel_data_add_dict_u64(dict, name, value);
#endif
}

}  // namespace weir::dpdk
