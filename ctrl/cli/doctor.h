// doctor.h - weirctl doctor: state of this host, its faults for a switch, and the command that mends each.
// Units: bytes, and pages where named. Threads: one, the command's.
//
// gather_facts() reads /proc, /sys and /dev and judges nothing; check_host() judges and reads nothing, so
// that tests need no broken host. A host with 512 free pages of 2 MiB has 1 GiB, more than the 256 MiB that a
// new switch needs: ok. With 64 free pages (128 MiB) the finding is a warning, with none it is a fault.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ctrl/cli/table.h"
#include "vswitch/config/config.h"

namespace weir::cli {

struct HugepagePool {
    unsigned node = 0;
    std::uint64_t page_bytes = 0;
    std::uint64_t total = 0;  ///< pages
    std::uint64_t free = 0;   ///< pages
};

struct DirectoryFacts {
    std::string path;
    bool exists = false;
    bool writable = false;   ///< by the user of this process
    bool read_only = false;  ///< its file system is, for every user
    bool enterable = false;  ///< by the user of this process
    bool made_in = true;     ///< the switch makes sockets there; false: it connects to those of others
    uid_t uid = 0;
    gid_t gid = 0;
    mode_t mode = 0;
};

struct CoreFacts {
    unsigned core = 0;
    bool online = false;
    bool allowed = true;             ///< in the cpuset of this process
    bool isolated = false;           ///< the kernel's isolcpus
    std::optional<unsigned> node;    ///< NUMA
    std::vector<unsigned> siblings;  ///< hyper-threads of the same physical core, this one included
};

struct NicFacts {
    std::string address;
    bool exists = false;
    std::string driver;            ///< kernel driver that it is bound to; empty when none
    std::optional<unsigned> node;  ///< NUMA
};

/// An attempt to create an empty virtual machine. Its success does not prove that a guest boots.
struct KvmFacts {
    bool exists = false;  ///< /dev/kvm
    bool opens = false;
    bool creates_machines = false;  ///< KVM_CREATE_VM succeeded
    std::string error;              ///< errno as text of the step that failed
};

struct HostFacts {
    std::vector<HugepagePool> hugepages;
    std::vector<std::string> hugetlbfs;       ///< mount points
    std::vector<DirectoryFacts> directories;  ///< that hold sockets, sorted by path
    std::vector<CoreFacts> workers;           ///< in the configuration's order
    std::optional<CoreFacts> agent;
    std::optional<NicFacts> nic;  ///< when the uplink is a PCI device
    bool iommu = false;
    bool noiommu_mode = false;  ///< vfio's unsafe mode
    std::string vhost_library;  ///< path of DPDK's librte_vhost, empty when absent
    std::string qemu;           ///< path of a QEMU system emulator, empty when absent
    KvmFacts kvm;
    std::uint64_t memlock_bytes = 0;  ///< UINT64_MAX = unlimited
    bool root = false;
};

/// @param sysroot prefix of every absolute path: "" on a real host, a temporary folder in tests
[[nodiscard]] HostFacts gather_facts(const SwitchConfig& config, const std::string& sysroot);

/// The kernel's list of cores, "0-2,5", as numbers below 4096, up to the first item that is no range.
[[nodiscard]] std::vector<unsigned> parse_cpu_list(const std::string& text);

enum class Health {
    kOk,
    kWarning,  ///< the switch runs, but more slowly or less safely
    kMissing,  ///< the switch or its guests cannot start
};

struct Finding {
    std::string check;  ///< "hugepages", "worker core 3", ...
    Health health = Health::kOk;
    std::string found;
    std::string mend;  ///< the command or change that mends it; empty with kOk
};

/// For a host without a configuration file: one without workers and uplink, whose checks are left out.
[[nodiscard]] SwitchConfig no_configuration();

/// One finding per check, in the order in which an operator sets up a host.
[[nodiscard]] std::vector<Finding> check_host(const HostFacts& facts, const SwitchConfig& config);

[[nodiscard]] std::string findings_text(const std::vector<Finding>& findings, const Terminal& terminal);
[[nodiscard]] nlohmann::json findings_json(const std::vector<Finding>& findings);

}  // namespace weir::cli
