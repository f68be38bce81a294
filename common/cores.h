// cores.h - on which cores this process may run, where it was asked to, and on which NUMA node a core is.
// Source: sched_setaffinity(2), cpuset(7). Units: numbers of cores and NUMA nodes. Threads: main, before it
// starts others.
//
// The cpuset of a cgroup is a bound: the kernel gives no core beyond it. The affinity is a wish, of taskset,
// of systemd's CPUAffinity or of the kernel's isolcpus, and a thread may be given another core: workers run
// on isolated cores, which are in no affinity. Example: with isolcpus=2,3 on four cores, all four are
// allowed, and the affinity is 0 and 1.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace weir {

struct CoreSets {
    std::vector<unsigned> allowed;   ///< ascending: online, and in the cpuset; empty: not known
    std::vector<unsigned> affinity;  ///< ascending, of these; empty: not known
};

[[nodiscard]] CoreSets core_sets();

/// The cgroup whose cpuset bounds this process, as in /proc/self/cgroup: "/system.slice/weir-switch.service".
[[nodiscard]] std::string cpuset_name();
/// The same of the text of that file.
[[nodiscard]] std::string cpuset_in(const std::string& cgroups);

/// Of a core or a device; nothing: not known, as on a kernel without NUMA.
using NumaNode = std::optional<unsigned>;

/// @param sysroot of a test's own /sys
[[nodiscard]] NumaNode node_of_core(unsigned core, const std::string& sysroot = "");

/// "0-3,8"
[[nodiscard]] std::string core_list(const std::vector<unsigned>& ascending);

}  // namespace weir
