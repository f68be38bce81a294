// doctor.cc - weirctl doctor: one check per thing that a fresh host may lack.
#include "ctrl/cli/doctor.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "common/cores.h"
#include "common/units.h"
#include "cost_functions/cycle_costs.h"
#include "ctrl/cli/commands.h"
#include "ctrl/cli/session.h"
#include "vswitch/base/limits.h"

namespace weir::cli {
namespace {

using Findings = std::vector<Finding>;

/// For an uplink and two vNICs: the pool of packet buffers and DPDK's own memory. More vNICs need more.
constexpr std::uint64_t kHugeBytesNeeded = 256ULL << 20;
constexpr std::uint64_t kMemlockNeeded = 64ULL << 20;
constexpr const char* kReservePages = "echo 1024 > /proc/sys/vm/nr_hugepages";

std::string pool_text(const HugepagePool& pool) {
    return "node " + std::to_string(pool.node) + ": " + std::to_string(pool.free) + " of " +
           std::to_string(pool.total) + " pages of " + format_size(pool.page_bytes) + " free";
}

void check_hugepages(const HostFacts& facts, Findings& out) {
    std::uint64_t total = 0;
    std::uint64_t free = 0;
    std::string text;
    for (const HugepagePool& pool : facts.hugepages) {
        total += pool.total * pool.page_bytes;
        free += pool.free * pool.page_bytes;
        if (pool.total > 0)
            text += (text.empty() ? "" : "; ") + pool_text(pool);
    }
    if (total == 0)
        out.push_back({"hugepages", Health::kMissing, "none reserved", kReservePages});
    else if (free < kHugeBytesNeeded)
        out.push_back({"hugepages", Health::kWarning,
                       text + "; a new switch needs " + format_size(kHugeBytesNeeded) + " free",
                       std::string(kReservePages) + "  (nothing to do when the switch runs already)"});
    else
        out.push_back({"hugepages", Health::kOk, text, ""});
    if (facts.hugetlbfs.empty())
        out.push_back({"hugetlbfs mount", Health::kMissing, "not mounted",
                       "mkdir -p /dev/hugepages && mount -t hugetlbfs nodev /dev/hugepages"});
    else
        out.push_back({"hugetlbfs mount", Health::kOk, facts.hugetlbfs.front(), ""});
}

/// A worker takes packet buffers of its NUMA node. A NIC whose node has none writes into another's memory.
/// @param user the worker or the uplink, for the text
/// @param health of a node without pages
void check_node_pages(const HostFacts& facts, std::optional<unsigned> node, const std::string& user,
                      Health health, Findings& out) {
    const auto has_pages = [&](const HugepagePool& pool) { return pool.node == *node && pool.total > 0; };
    const bool any = std::ranges::any_of(facts.hugepages, [](const auto& p) { return p.total > 0; });
    if (!node || !any || std::ranges::any_of(facts.hugepages, has_pages))
        return;
    const std::string number = std::to_string(*node);
    out.push_back(
        {"hugepages of node " + number, health, "none, and " + user + " is on this node",
         "echo 512 > /sys/devices/system/node/node" + number + "/hugepages/hugepages-2048kB/nr_hugepages"});
}

void check_directory(const DirectoryFacts& folder, Findings& out) {
    const std::string check = "socket directory " + folder.path;
    if (!folder.exists) {
        out.push_back({check, Health::kMissing, "does not exist", "mkdir -p " + folder.path});
        return;
    }
    std::array<char, 64> owner{};
    std::snprintf(owner.data(), owner.size(), "uid %u, gid %u, mode %04o", static_cast<unsigned>(folder.uid),
                  static_cast<unsigned>(folder.gid), static_cast<unsigned>(folder.mode));
    if (!folder.made_in && folder.enterable)
        out.push_back({check, Health::kOk, owner.data(), ""});
    else if (folder.read_only)
        out.push_back({check, Health::kMissing, std::string(owner.data()) + ", on a read-only mount",
                       "mount -o remount,rw " + folder.path + "  (ReadWritePaths=" + folder.path +
                           " in a systemd unit)"});
    else if (!folder.writable)
        out.push_back({check, Health::kMissing, std::string(owner.data()) + ", not writable by this user",
                       "chgrp $(id -g) " + folder.path + " && chmod g+rwx " + folder.path});
    else
        out.push_back({check, Health::kOk, owner.data(), ""});
}

void check_core(const CoreFacts& core, const HostFacts& facts, Findings& out) {
    const std::string number = std::to_string(core.core);
    const std::string check = "worker core " + number;
    if (!core.online) {
        out.push_back({check, Health::kMissing, "does not exist or is offline",
                       "set \"workers\" to cores of /sys/devices/system/cpu/online"});
        return;
    }
    if (!core.allowed) {
        out.push_back(
            {check, Health::kMissing, "not in the cpuset of this shell's cgroup, " + cpuset_name(),
             "set \"workers\" to cores of that cpuset, or widen it: AllowedCPUs= in a systemd unit"});
        return;
    }
    check_node_pages(facts, core.node, "a worker", Health::kMissing, out);
    for (const CoreFacts& other : facts.workers) {
        const bool sibling = std::ranges::find(core.siblings, other.core) != core.siblings.end();
        if (sibling && other.core > core.core)
            out.push_back({check, Health::kWarning,
                           "shares its execution units with worker core " + std::to_string(other.core),
                           "set \"workers\" to cores that are not hyper-threads of each other"});
    }
    if (core.isolated)
        out.push_back({check, Health::kOk, "isolated", ""});
    else
        out.push_back({check, Health::kWarning, "online, but the kernel schedules other work there",
                       "add isolcpus=" + number + " nohz_full=" + number + " rcu_nocbs=" + number +
                           " to the kernel's command line, and reboot"});
}

void check_agent(const CoreFacts& core, const SwitchConfig& config, Findings& out) {
    const std::string check = "agent core " + std::to_string(core.core);
    const bool overlap = std::ranges::find(config.workers, core.core) != config.workers.end();
    if (!core.online)
        out.push_back({check, Health::kMissing, "does not exist or is offline",
                       "set \"agent_core\" to a core of /sys/devices/system/cpu/online"});
    else if (overlap || core.isolated)
        out.push_back({check, Health::kWarning,
                       overlap ? "a worker runs there too" : "isolated, which the agent does not need",
                       "set \"agent_core\" to a core for general use"});
    else
        out.push_back({check, Health::kOk, "online", ""});
}

void check_nic(const NicFacts& nic, const HostFacts& facts, Findings& out) {
    const std::string check = "uplink " + nic.address;
    if (!nic.exists) {
        out.push_back({check, Health::kMissing, "no such PCI device", "dpdk-devbind.py --status-dev net"});
        return;
    }
    check_node_pages(facts, nic.node, "the uplink", Health::kWarning, out);
    // A bifurcated driver stays with the kernel, and DPDK works beside it.
    const bool bifurcated = nic.driver == "mlx5_core" || nic.driver == "mlx4_core" || nic.driver == "mana";
    if (nic.driver == "vfio-pci" || nic.driver == "igb_uio" || nic.driver == "uio_pci_generic" || bifurcated)
        out.push_back({check, Health::kOk, "bound to " + nic.driver, ""});
    else
        out.push_back({check, Health::kMissing,
                       nic.driver.empty() ? "bound to no driver" : "bound to the kernel driver " + nic.driver,
                       "modprobe vfio-pci && dpdk-devbind.py --bind=vfio-pci " + nic.address});
    if (!bifurcated && !facts.iommu)
        out.push_back({"IOMMU", facts.noiommu_mode ? Health::kWarning : Health::kMissing,
                       facts.noiommu_mode ? "off; vfio's unsafe mode is on" : "off",
                       "add intel_iommu=on iommu=pt (or amd_iommu=on) to the kernel's command line, and "
                       "reboot; without one: "
                       "echo Y > /sys/module/vfio/parameters/enable_unsafe_noiommu_mode"});
}

void check_feedback(const FeedbackConfig& feedback, Findings& out) {
    if (feedback.is_on())
        out.push_back({"feedback", Health::kOk, "on, with the key of " + feedback.key_file, ""});
    else if (feedback.enabled)
        out.push_back(
            {"feedback", Health::kWarning, std::string("off: ") + kFeedbackWithoutKey,
             "(umask 077; openssl rand -hex 16 > /etc/weir/feedback.key), copy this file to all hosts, and "
             "set \"key_file\" in \"feedback\" to it"});
}

/// Only requests to appliances are charged cycles by this file.
void check_cycle_costs(const SwitchConfig& config, Findings& out) {
    if (config.appliances.empty())
        return;
    if (config.cycle_costs.empty()) {
        out.push_back({"cycle costs", Health::kWarning, kNoCycleCosts,
                       "weir-calibrate switch --output /etc/weir/cycles.json while VMs send, and set "
                       "\"cycle_costs\" to this file"});
        return;
    }
    const auto loaded = load_cycle_costs(config.cycle_costs, this_machine());
    if (const Faults* faults = std::get_if<Faults>(&loaded))
        out.push_back({"cycle costs", Health::kMissing, faults->front().found, faults->front().message});
    else
        out.push_back({"cycle costs", Health::kOk, config.cycle_costs + ", measured on this host", ""});
}

/// DMA needs buffers that stay in memory. Root may lock any amount.
void check_memlock(const HostFacts& facts, Findings& out) {
    const bool unlimited = facts.root || facts.memlock_bytes == UINT64_MAX;
    const std::string found = unlimited ? "unlimited" : format_size(facts.memlock_bytes) + " may be locked";
    if (unlimited || facts.memlock_bytes >= kMemlockNeeded)
        out.push_back({"locked memory", Health::kOk, found, ""});
    else
        out.push_back({"locked memory", facts.nic ? Health::kMissing : Health::kWarning, found,
                       "ulimit -l unlimited  (LimitMEMLOCK=infinity in a systemd unit)"});
}

/// Only guests need QEMU, and they may use another virtual machine monitor.
void check_packages(const HostFacts& facts, Findings& out) {
    const Finding no_dpdk{"DPDK", Health::kMissing, "librte_vhost was not found",
                          "apt-get install dpdk librte-vhost23"};
    const Finding no_qemu{"QEMU", Health::kWarning, "no qemu-system-* or qemu-kvm was found",
                          "apt-get install qemu-system-x86"};
    out.push_back(facts.vhost_library.empty() ? no_dpdk
                                              : Finding{"DPDK", Health::kOk, facts.vhost_library, ""});
    out.push_back(facts.qemu.empty() ? no_qemu : Finding{"QEMU", Health::kOk, facts.qemu, ""});
}

void check_kvm(const KvmFacts& kvm, Findings& out) {
    if (kvm.creates_machines)
        out.push_back({"KVM", Health::kOk, "an empty virtual machine was created; no guest was booted", ""});
    else if (kvm.opens)
        out.push_back({"KVM", Health::kWarning, "/dev/kvm opens but creates no virtual machine: " + kvm.error,
                       "turn on virtualization in the firmware, or nesting in the hypervisor of this host"});
    else if (kvm.exists)
        out.push_back({"KVM", Health::kWarning, "/dev/kvm does not open: " + kvm.error,
                       "usermod -aG kvm $USER  (and log in again)"});
    else
        out.push_back({"KVM", Health::kWarning, "no /dev/kvm: guests run in software emulation",
                       "modprobe kvm_intel || modprobe kvm_amd  (with virtualization on in the firmware)"});
}

/// The configuration's check does not know the speed of a core: promises above 1 Gcycle/s, half of a slow
/// core, are shown as a warning.
void check_promised_packets(const SwitchConfig& config, Findings& out) {
    constexpr std::uint64_t kCyclesPerSec = 1'000'000'000;
    std::uint64_t packets = 0;
    for (const VnicConfig& vnic : config.vnics)
        packets += vnic.reservation_pps;
    if (packets == 0)
        return;
    const std::uint64_t cycles = packets * limits::kPromisedPacketCycles / config.workers.size();
    const std::string found = format_packet_rate(packets) + " in all: up to " +
                              human_count(static_cast<double>(cycles)) +
                              "cycles/s of each worker's core, which is not checked";
    if (cycles <= kCyclesPerSec)
        out.push_back({"reservation_pps", Health::kOk, found, ""});
    else
        out.push_back({"reservation_pps", Health::kWarning, found,
                       "keep it below tsc_hz of weirctl status on every worker: more \"workers\", or a "
                       "smaller reservation_pps"});
}

/// A guest without a guard can pose as any other of its VLAN, and as the router.
void check_addresses(const SwitchConfig& config, Findings& out) {
    constexpr std::size_t kNamesMax = 5;
    std::string names;
    std::size_t open = 0;
    for (const VnicConfig& vnic : config.vnics) {
        if (!vnic.addresses.empty() || vnic.dhcp == DhcpRole::kClient)
            continue;
        if (++open <= kNamesMax)
            names += (names.empty() ? "" : ", ") + vnic.name;
    }
    if (open > kNamesMax)
        names += " and " + std::to_string(open - kNamesMax) + " more";
    if (open != 0)
        out.push_back(
            {"addresses of guests", Health::kWarning, "not checked: " + names,
             "\"addresses\": [\"10.0.0.5\"] or \"dhcp\": \"client\" in these vNICs; weirctl vnic set "
             "NAME addresses=10.0.0.5 while the switch runs"});
    else if (!config.vnics.empty())
        out.push_back({"addresses of guests", Health::kOk, "checked at every vNIC", ""});
}

Cell health_cell(Health health) {
    return health == Health::kOk        ? Cell("ok", Style::kGood)
           : health == Health::kWarning ? Cell("warning", Style::kWarn)
                                        : Cell("missing", Style::kBad);
}

constexpr const char* kDefaultConfig = "/etc/weir/switch.jsonc";

SwitchConfig config_to_check(const std::string& file) {
    std::error_code ignored;
    if (file.empty() && !std::filesystem::exists(kDefaultConfig, ignored))
        return no_configuration();
    return value_or_throw(load_config(file.empty() ? kDefaultConfig : file));
}

}  // namespace

SwitchConfig no_configuration() {
    SwitchConfig none;
    none.workers.clear();
    return none;
}

std::vector<Finding> check_host(const HostFacts& facts, const SwitchConfig& config) {
    Findings out;
    if (config.workers.empty())
        out.push_back({"configuration", Health::kWarning,
                       std::string("none at ") + kDefaultConfig +
                           ": cores, uplink and sockets of vNICs are not checked",
                       "weirctl doctor --config FILE"});
    check_hugepages(facts, out);
    for (const DirectoryFacts& folder : facts.directories)
        check_directory(folder, out);
    for (const CoreFacts& core : facts.workers)
        check_core(core, facts, out);
    if (facts.agent)
        check_agent(*facts.agent, config, out);
    if (facts.nic)
        check_nic(*facts.nic, facts, out);
    check_promised_packets(config, out);
    check_feedback(config.feedback, out);
    check_cycle_costs(config, out);
    check_addresses(config, out);
    check_memlock(facts, out);
    check_packages(facts, out);
    check_kvm(facts.kvm, out);
    return out;
}

std::string findings_text(const std::vector<Finding>& findings, const Terminal& terminal) {
    std::string text;
    std::size_t missing = 0;
    for (const Finding& finding : findings) {
        const Cell health = health_cell(finding.health);
        text += styled(health.text, health.style, terminal.color) + std::string(8 - health.text.size(), ' ') +
                finding.check + ": " + finding.found + '\n';
        if (!finding.mend.empty())
            text += "          mend: " + finding.mend + '\n';
        missing += finding.health == Health::kMissing ? 1 : 0;
    }
    return text + (missing == 0 ? "this host can run the switch\n"
                                : std::to_string(missing) +
                                      " missing: mend them before weir-switch and its guests are started\n");
}

nlohmann::json findings_json(const std::vector<Finding>& findings) {
    nlohmann::json checks = nlohmann::json::array();
    for (const Finding& finding : findings)
        checks.push_back({{"check", finding.check},
                          {"state", health_cell(finding.health).text},
                          {"found", finding.found},
                          {"mend", finding.mend}});
    return {{"checks", checks}};
}

void add_doctor(CLI::App& command, Session& session) {
    auto file = std::make_shared<std::string>();
    command
        .add_option("--config", *file,
                    "configuration of the switch (default: /etc/weir/switch.jsonc if it exists)")
        ->type_name("FILE");
    command.footer(
        "Example:\n"
        "  weirctl doctor --config /etc/weir/switch.jsonc\n"
        "ok: nothing to do; warning: works, but more slowly or less safely; missing: the switch or its\n"
        "guests cannot start. Works without a running switch. Exit status 1 when something is missing.");
    command.callback([&session, file] {
        const SwitchConfig config = config_to_check(*file);
        const std::vector<Finding> findings = check_host(gather_facts(config, ""), config);
        const bool ready = std::ranges::find(findings, Health::kMissing, &Finding::health) == findings.end();
        session.print(findings_json(findings), findings_text(findings, terminal_of_stdout()), ready);
        session.exit_code = ready ? kExitOk : kExitRefused;
    });
}

}  // namespace weir::cli
