// doctor_facts.cc - state of the host for weirctl doctor: one function per kind of fact.
#include <fcntl.h>
#include <linux/kvm.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "common/cores.h"
#include "ctrl/cli/doctor.h"

namespace weir::cli {
namespace {

namespace fs = std::filesystem;

std::string read_line(const fs::path& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

std::optional<std::uint64_t> number_in(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end != text.data() ? std::optional(value) : std::nullopt;
}

std::optional<unsigned> node_in(const fs::path& path) {
    const auto node = number_in(read_line(path));  // "-1" where there is no NUMA
    return node ? std::optional(static_cast<unsigned>(*node)) : std::nullopt;
}

std::vector<fs::path> entries_with(const fs::path& folder, const std::string& prefix) {
    std::vector<fs::path> found;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder, ignored))
        if (entry.path().filename().string().starts_with(prefix))
            found.push_back(entry.path());
    std::sort(found.begin(), found.end());
    return found;
}

std::vector<HugepagePool> hugepage_pools(const fs::path& root) {
    std::vector<HugepagePool> pools;
    const auto add_folder = [&pools](unsigned node, const fs::path& folder) {
        for (const fs::path& size : entries_with(folder, "hugepages-")) {
            const auto kib = number_in(size.filename().string().substr(sizeof "hugepages-" - 1));
            pools.push_back({node, kib.value_or(0) * 1024,
                             number_in(read_line(size / "nr_hugepages")).value_or(0),
                             number_in(read_line(size / "free_hugepages")).value_or(0)});
        }
    };
    for (const fs::path& node : entries_with(root / "sys/devices/system/node", "node"))
        if (const auto id = number_in(node.filename().string().substr(4)))
            add_folder(static_cast<unsigned>(*id), node / "hugepages");
    if (pools.empty())  // a kernel without NUMA
        add_folder(0, root / "sys/kernel/mm/hugepages");
    return pools;
}

std::vector<std::string> hugetlbfs_mounts(const fs::path& root) {
    std::vector<std::string> mounts;
    std::ifstream file(root / "proc/mounts");
    for (std::string line; std::getline(file, line);) {
        std::istringstream fields(line);
        std::string device, point, type;
        if (fields >> device >> point >> type && type == "hugetlbfs")
            mounts.push_back(point);
    }
    return mounts;
}

/// @param made_in the switch makes sockets there
DirectoryFacts directory_facts(const std::string& sysroot, const std::string& path, bool made_in) {
    const std::string real = sysroot + path;
    struct stat info {};
    DirectoryFacts facts;
    facts.path = path;
    facts.made_in = made_in;
    facts.exists = ::stat(real.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
    if (!facts.exists)
        return facts;
    facts.writable = ::access(real.c_str(), W_OK | X_OK) == 0;
    facts.read_only = !facts.writable && errno == EROFS;
    facts.enterable = ::access(real.c_str(), X_OK) == 0;
    facts.uid = info.st_uid;
    facts.gid = info.st_gid;
    facts.mode = info.st_mode & 07777;
    return facts;
}

std::vector<DirectoryFacts> socket_directories(const SwitchConfig& config, const std::string& sysroot) {
    // Of each folder, whether the switch makes sockets there.
    std::map<std::string, bool> folders{{fs::path(config.control_socket).parent_path().string(), true}};
    for (const VnicConfig& vnic : config.vnics)
        if (!vnic.socket.empty())
            folders[fs::path(vnic.socket).parent_path().string()] |= vnic.mode == VhostMode::kServer;
    std::vector<DirectoryFacts> facts;
    for (const auto& [folder, made_in] : folders)
        facts.push_back(directory_facts(sysroot, folder, made_in));
    return facts;
}

CoreFacts core_facts(const fs::path& root, unsigned core) {
    const fs::path cpus = root / "sys/devices/system/cpu";
    const fs::path own = cpus / ("cpu" + std::to_string(core));
    const auto listed = [core](const fs::path& list) {
        const std::vector<unsigned> cores = parse_cpu_list(read_line(list));
        return std::find(cores.begin(), cores.end(), core) != cores.end();
    };
    CoreFacts facts;
    facts.core = core;
    facts.online = listed(cpus / "online");
    facts.isolated = listed(cpus / "isolated");
    facts.node = node_of_core(core, root.string());
    facts.siblings = parse_cpu_list(read_line(own / "topology/thread_siblings_list"));
    return facts;
}

std::optional<NicFacts> nic_facts(const fs::path& root, const std::string& device) {
    const std::string address = device_identity(device);
    if (address.find(':') == std::string::npos)  // a vdev
        return std::nullopt;
    const fs::path folder = root / "sys/bus/pci/devices" / address;
    std::error_code error;
    NicFacts facts;
    facts.address = address;
    facts.exists = fs::exists(folder, error);
    facts.node = node_in(folder / "numa_node");
    const fs::path driver = fs::read_symlink(folder / "driver", error);
    if (!error)
        facts.driver = driver.filename().string();
    return facts;
}

std::string find_vhost_library(const fs::path& root) {
    std::vector<fs::path> folders{root / "usr/local/lib64", root / "usr/lib64"};
    for (const char* parent : {"usr/local/lib", "usr/lib"}) {
        folders.push_back(root / parent);
        for (const fs::path& multiarch : entries_with(root / parent, ""))
            if (multiarch.filename().string().find("-linux-gnu") != std::string::npos)
                folders.push_back(multiarch);
    }
    for (const fs::path& folder : folders)
        if (const auto found = entries_with(folder, "librte_vhost.so"); !found.empty())
            return found.front().string();
    return {};
}

std::string find_qemu(const fs::path& root) {
    for (const char* name : {"qemu-system-x86_64", "qemu-kvm", "qemu-system-"})
        for (const char* folder : {"usr/local/bin", "usr/bin", "usr/libexec"})
            if (const auto found = entries_with(root / folder, name); !found.empty())
                return found.front().string();
    return {};
}

/// Creates a virtual machine: a device that opens may still have no hardware support behind it.
KvmFacts try_kvm(const fs::path& device) {
    KvmFacts facts;
    std::error_code ignored;
    facts.exists = fs::exists(device, ignored);
    const int kvm = ::open(device.c_str(), O_RDWR | O_CLOEXEC);
    facts.opens = kvm >= 0;
    const int machine = facts.opens ? ::ioctl(kvm, KVM_CREATE_VM, 0) : -1;
    facts.creates_machines = machine >= 0;
    if (!facts.creates_machines)
        facts.error = std::strerror(errno);
    for (const int descriptor : {machine, kvm})
        if (descriptor >= 0)
            ::close(descriptor);
    return facts;
}

}  // namespace

std::vector<unsigned> parse_cpu_list(const std::string& text) {
    constexpr std::uint64_t kCoresMax = 4096;
    std::vector<unsigned> cores;
    std::istringstream parts(text);
    for (std::string part; std::getline(parts, part, ',');) {
        const std::size_t dash = part.find('-');
        const auto first = number_in(std::string_view(part).substr(0, dash));
        const auto last =
            dash == std::string::npos ? first : number_in(std::string_view(part).substr(dash + 1));
        if (!first || !last || *last >= kCoresMax)
            break;
        for (std::uint64_t core = *first; core <= *last; ++core)
            cores.push_back(static_cast<unsigned>(core));
    }
    return cores;
}

HostFacts gather_facts(const SwitchConfig& config, const std::string& sysroot) {
    const fs::path root = sysroot.empty() ? fs::path("/") : fs::path(sysroot);
    HostFacts facts;
    facts.hugepages = hugepage_pools(root);
    facts.hugetlbfs = hugetlbfs_mounts(root);
    facts.directories = socket_directories(config, sysroot);
    const std::vector<unsigned> allowed = sysroot.empty() ? core_sets().allowed : std::vector<unsigned>{};
    for (const unsigned core : config.workers) {
        facts.workers.push_back(core_facts(root, core));
        facts.workers.back().allowed = allowed.empty() || std::ranges::find(allowed, core) != allowed.end();
    }
    if (config.agent_core)
        facts.agent = core_facts(root, *config.agent_core);
    facts.nic = nic_facts(root, config.uplink.device);
    facts.iommu = !entries_with(root / "sys/kernel/iommu_groups", "").empty();
    facts.noiommu_mode = read_line(root / "sys/module/vfio/parameters/enable_unsafe_noiommu_mode") == "Y";
    facts.vhost_library = find_vhost_library(root);
    facts.qemu = find_qemu(root);
    facts.kvm = try_kvm(root / "dev/kvm");
    rlimit limit{};
    const bool known = ::getrlimit(RLIMIT_MEMLOCK, &limit) == 0;
    facts.memlock_bytes = known && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : UINT64_MAX;
    facts.root = ::geteuid() == 0;
    return facts;
}

}  // namespace weir::cli
