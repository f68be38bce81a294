// dpdk_versions.h - differences between the DPDK versions that Weir is built with, 22.11 to 24.11, in one
// place. Source: DPDK release notes Threads: any.
//
// Each entry names the version that changed something and where DPDK documents it. An entry goes when the
// oldest version below no longer needs it. `test/run.sh --deep fresh-trixie` builds and tests with 24.11.
#pragma once

#include <rte_telemetry.h>
#include <rte_version.h>

#include <cstdint>

// Items of rte_flow have the protocol's header as a member `hdr` since 22.11 (release notes 22.11, "API
// Changes").
static_assert(RTE_VERSION >= RTE_VERSION_NUM(22, 11, 0, 0), "Weir needs DPDK 22.11 or newer");

// 24.11's headers have `extern "C"` around their functions only (release notes 24.11), and rte_ipsec.h leaves
// this one out. The first declaration decides the linkage, so this header comes before <rte_ipsec.h>.
struct rte_ipsec_session;
extern "C" int rte_ipsec_session_prepare(struct rte_ipsec_session* session);

namespace weir {

/// rte_tel_data_add_dict_uint; its name was rte_tel_data_add_dict_u64 until 23.03 (release notes 23.03, "API
/// Changes"). @return 0, or a negative errno
inline int telemetry_add_uint(rte_tel_data* dict, const char* name, std::uint64_t value) {
#if RTE_VERSION >= RTE_VERSION_NUM(23, 3, 0, 0)
    return rte_tel_data_add_dict_uint(dict, name, value);
#else
    return rte_tel_data_add_dict_u64(dict, name, value);
#endif
}

}  // namespace weir
