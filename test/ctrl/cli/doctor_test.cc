// doctor_test.cc - facts read from a made-up host, and the findings with the commands that mend them.
#include "ctrl/cli/doctor.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "test/support/catch.h"

using namespace weir;
using namespace weir::cli;

namespace {

namespace fs = std::filesystem;

// A folder that looks like the root of a host; gone at the end.
class FakeHost {
  public:
    FakeHost() {
        char name[] = "/tmp/weir-doctor-XXXXXX";
        root_ = ::mkdtemp(name);
    }
    ~FakeHost() { fs::remove_all(root_); }
    FakeHost(const FakeHost&) = delete;
    FakeHost& operator=(const FakeHost&) = delete;

    void file(const std::string& path, const std::string& text) const {
        fs::create_directories(fs::path(root_ + path).parent_path());
        std::ofstream(root_ + path) << text << '\n';
    }
    void folder(const std::string& path) const { fs::create_directories(root_ + path); }
    void link(const std::string& path, const std::string& target) const {
        fs::create_directories(fs::path(root_ + path).parent_path());
        fs::create_symlink(target, root_ + path);
    }
    void pages(unsigned node, int total, int free) const {
        const std::string pool =
            "/sys/devices/system/node/node" + std::to_string(node) + "/hugepages/hugepages-2048kB/";
        file(pool + "nr_hugepages", std::to_string(total));
        file(pool + "free_hugepages", std::to_string(free));
    }
    [[nodiscard]] const std::string& root() const { return root_; }

  private:
    std::string root_;
};

void make_good(const FakeHost& host) {
    host.pages(0, 1024, 1000);
    host.file("/proc/mounts", "none / ext4 rw 0 0\nhugetlbfs /dev/hugepages hugetlbfs rw 0 0");
    host.folder("/run/weir/admin");
    host.file("/sys/devices/system/cpu/online", "0-3");
    host.file("/sys/devices/system/cpu/isolated", "1,3");
    host.folder("/sys/devices/system/cpu/cpu1/node0");
    host.file("/sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "1");
    host.file("/sys/bus/pci/devices/0000:03:00.0/numa_node", "0");
    host.link("/sys/bus/pci/devices/0000:03:00.0/driver", "../../../drivers/vfio-pci");
    host.folder("/sys/kernel/iommu_groups/7");
    host.file("/usr/lib/x86_64-linux-gnu/librte_vhost.so.23", "");
    host.file("/usr/bin/qemu-system-x86_64", "");
}

SwitchConfig config_with_nic() {
    SwitchConfig config;
    config.uplink.device = "03:00.0";
    config.agent_core = 0;
    return config;
}

std::vector<Finding> examine(const FakeHost& host, const SwitchConfig& config) {
    return check_host(gather_facts(config, host.root()), config);
}

const Finding& finding(const std::vector<Finding>& findings, std::string_view check, Health health) {
    const auto it = std::find_if(findings.begin(), findings.end(),
                                 [&](const Finding& f) { return f.check == check && f.health == health; });
    INFO(findings_text(findings, {}));
    REQUIRE(it != findings.end());
    return *it;
}

}  // namespace

TEST_CASE("a host that lacks nothing but KVM can run the switch") {
    const FakeHost host;
    make_good(host);
    const std::vector<Finding> findings = examine(host, config_with_nic());
    CHECK(findings_text(findings, {}).find("this host can run the switch\n") != std::string::npos);
    CHECK(finding(findings, "hugepages", Health::kOk).found == "node 0: 1000 of 1024 pages of 2MiB free");
    CHECK(finding(findings, "hugetlbfs mount", Health::kOk).found == "/dev/hugepages");
    CHECK(finding(findings, "worker core 1", Health::kOk).found == "isolated");
    CHECK(finding(findings, "agent core 0", Health::kOk).found == "online");
    CHECK(finding(findings, "uplink 0000:03:00.0", Health::kOk).found == "bound to vfio-pci");
    CHECK(finding(findings, "socket directory /run/weir/admin", Health::kOk).mend.empty());
    CHECK(finding(findings, "QEMU", Health::kOk).found == host.root() + "/usr/bin/qemu-system-x86_64");
    CHECK(finding(findings, "KVM", Health::kWarning).found ==
          "no /dev/kvm: guests run in software emulation");
}

TEST_CASE("vNICs whose guests may use any address are named, the first five of them") {
    SwitchConfig config;
    const auto checked = [&] { return check_host({}, config); };
    for (const char* name : {"a", "b", "c", "d"}) {
        config.vnics.emplace_back().name = name;
    }
    config.vnics[0].addresses.push_back(*IpNetwork::parse("10.0.0.1"));
    config.vnics[1].dhcp = DhcpRole::kClient;
    config.vnics[2].dhcp = DhcpRole::kServer;
    const std::vector<Finding> some = checked();
    const Finding& named = finding(some, "addresses of guests", Health::kWarning);
    CHECK(named.found == "not checked: c, d");
    CHECK(named.mend.find("\"addresses\": [") == 0);
    for (const char* name : {"e", "f", "g", "h"})
        config.vnics.emplace_back().name = name;
    CHECK(finding(checked(), "addresses of guests", Health::kWarning).found ==
          "not checked: c, d, e, f, g and 1 more");
    for (VnicConfig& vnic : config.vnics)
        vnic.dhcp = DhcpRole::kClient;
    CHECK(finding(checked(), "addresses of guests", Health::kOk).found == "checked at every vNIC");
    config.vnics.clear();
    for (const Finding& each : checked())
        CHECK(each.check != "addresses of guests");
}

TEST_CASE("a /dev/kvm that opens counts only when it creates a virtual machine") {
    const FakeHost host;
    make_good(host);
    host.file("/dev/kvm", "no device");
    CHECK(finding(examine(host, config_with_nic()), "KVM", Health::kWarning).found ==
          "/dev/kvm opens but creates no virtual machine: Inappropriate ioctl for device");
    HostFacts facts;
    facts.kvm = {.exists = true, .opens = true, .creates_machines = true, .error = ""};
    CHECK(finding(check_host(facts, {}), "KVM", Health::kOk).found ==
          "an empty virtual machine was created; no guest was booted");
}

TEST_CASE("a fresh host lacks everything, and each thing has a command that mends it") {
    const FakeHost host;
    const std::vector<Finding> findings = examine(host, config_with_nic());
    CHECK(finding(findings, "hugepages", Health::kMissing).mend == "echo 1024 > /proc/sys/vm/nr_hugepages");
    CHECK(finding(findings, "hugetlbfs mount", Health::kMissing).mend.find("mount -t hugetlbfs") !=
          std::string::npos);
    CHECK(finding(findings, "socket directory /run/weir/admin", Health::kMissing).mend ==
          "mkdir -p /run/weir/admin");
    CHECK(finding(findings, "worker core 1", Health::kMissing).found == "does not exist or is offline");
    CHECK(finding(findings, "uplink 0000:03:00.0", Health::kMissing).found == "no such PCI device");
    CHECK(finding(findings, "DPDK", Health::kMissing).mend.find("apt-get install") != std::string::npos);
    CHECK(finding(findings, "QEMU", Health::kWarning).mend == "apt-get install qemu-system-x86");
    for (const Finding& each : findings)
        CHECK((each.health == Health::kOk || !each.mend.empty()));
    CHECK(findings_text(findings, {})
              .ends_with("7 missing: mend them before weir-switch and its guests are started\n"));
}

TEST_CASE(
    "promised packets are shown as cycles of the workers' cores, which the configuration does not check") {
    const FakeHost host;
    make_good(host);
    SwitchConfig config = config_with_nic();
    config.vnics.resize(2);
    config.vnics[0].reservation_pps = 400'000;
    config.vnics[1].reservation_pps = 100'000;
    CHECK(finding(examine(host, config), "reservation_pps", Health::kOk).found ==
          "500kpps in all: up to 512 Mcycles/s of each worker's core, which is not checked");
    config.vnics[1].reservation_pps = 1'600'000;
    CHECK(finding(examine(host, config), "reservation_pps", Health::kWarning).mend.find("tsc_hz") !=
          std::string::npos);
}

TEST_CASE("few free hugepages are a warning, since the switch itself may hold them") {
    const FakeHost host;
    make_good(host);
    host.pages(0, 1024, 10);
    CHECK(finding(examine(host, config_with_nic()), "hugepages", Health::kWarning).found ==
          "node 0: 10 of 1024 pages of 2MiB free; a new switch needs 256MiB free");
}

TEST_CASE("a worker's NUMA node without pages is missing some: its packet buffers lie there") {
    const FakeHost host;
    make_good(host);
    host.pages(0, 0, 0);
    host.pages(1, 1024, 1000);
    const std::vector<Finding> findings = examine(host, config_with_nic());
    const Finding& pages = finding(findings, "hugepages of node 0", Health::kMissing);
    CHECK(pages.found == "none, and a worker is on this node");
    CHECK(pages.mend == "echo 512 > /sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages");
}

TEST_CASE("an uplink's NUMA node without pages of its own is a warning") {
    const FakeHost host;
    make_good(host);
    host.pages(1, 0, 0);
    host.file("/sys/bus/pci/devices/0000:03:00.0/numa_node", "1");
    CHECK(finding(examine(host, config_with_nic()), "hugepages of node 1", Health::kWarning).found ==
          "none, and the uplink is on this node");
}

TEST_CASE("a NIC that the kernel still holds is named with its driver and the binding command") {
    const FakeHost host;
    make_good(host);
    fs::remove(host.root() + "/sys/bus/pci/devices/0000:03:00.0/driver");
    host.link("/sys/bus/pci/devices/0000:03:00.0/driver", "../../../drivers/ixgbe");
    const std::vector<Finding> findings = examine(host, config_with_nic());
    const Finding& nic = finding(findings, "uplink 0000:03:00.0", Health::kMissing);
    CHECK(nic.found == "bound to the kernel driver ixgbe");
    CHECK(nic.mend == "modprobe vfio-pci && dpdk-devbind.py --bind=vfio-pci 0000:03:00.0");
}

TEST_CASE("vfio without an IOMMU is missing it, unless its unsafe mode is on") {
    const FakeHost host;
    make_good(host);
    fs::remove_all(host.root() + "/sys/kernel/iommu_groups");
    CHECK(finding(examine(host, config_with_nic()), "IOMMU", Health::kMissing).found == "off");
    host.file("/sys/module/vfio/parameters/enable_unsafe_noiommu_mode", "Y");
    CHECK(finding(examine(host, config_with_nic()), "IOMMU", Health::kWarning).found ==
          "off; vfio's unsafe mode is on");
}

TEST_CASE("workers that share a core with each other or with the kernel are warned of") {
    const FakeHost host;
    make_good(host);
    host.file("/sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "1-2");
    host.file("/sys/devices/system/cpu/cpu2/topology/thread_siblings_list", "1-2");
    SwitchConfig config = config_with_nic();
    config.workers = {1, 2};
    const std::vector<Finding> findings = examine(host, config);
    CHECK(finding(findings, "worker core 1", Health::kWarning).found ==
          "shares its execution units with worker core 2");
    CHECK(finding(findings, "worker core 2", Health::kWarning).mend ==
          "add isolcpus=2 nohz_full=2 rcu_nocbs=2 to the kernel's command line, and reboot");
    config.agent_core = 2;
    CHECK(finding(examine(host, config), "agent core 2", Health::kWarning).found ==
          "a worker runs there too");
}

TEST_CASE("a vdev uplink needs neither a bound NIC nor an IOMMU") {
    const FakeHost host;
    make_good(host);
    fs::remove_all(host.root() + "/sys/kernel/iommu_groups");
    SwitchConfig config;
    config.uplink.device = "net_vhost0,iface=/tmp/x";
    for (const Finding& each : examine(host, config))
        CHECK(each.health != Health::kMissing);
}

TEST_CASE("too little memory that may be locked is missing for a NIC and a warning without one") {
    HostFacts facts;
    facts.memlock_bytes = 8U << 20;
    CHECK(finding(check_host(facts, {}), "locked memory", Health::kWarning).found == "8MiB may be locked");
    facts.nic.emplace().exists = true;
    CHECK(finding(check_host(facts, {}), "locked memory", Health::kMissing).mend.find("ulimit -l") == 0);
    facts.root = true;
    CHECK(finding(check_host(facts, {}), "locked memory", Health::kOk).found == "unlimited");
}

TEST_CASE("every socket's directory is examined once") {
    const FakeHost host;
    make_good(host);
    SwitchConfig config;
    for (const char* socket : {"/run/weir/admin/a", "/run/weir/admin/b", "/srv/c"})
        config.vnics.emplace_back().socket = socket;
    const std::vector<Finding> findings = examine(host, config);
    CHECK(std::count_if(findings.begin(), findings.end(),
                        [](const Finding& f) { return f.check.starts_with("socket directory"); }) == 2);
    CHECK(finding(findings, "socket directory /srv", Health::kMissing).mend == "mkdir -p /srv");
}

TEST_CASE(
    "a folder in which the switch only connects need not be writable, and a read-only mount is no matter of "
    "owners") {
    HostFacts facts;
    facts.directories = {{.path = "/clients", .exists = true, .enterable = true, .made_in = false},
                         {.path = "/closed", .exists = true, .made_in = false},
                         {.path = "/mount", .exists = true, .read_only = true, .enterable = true}};
    const std::vector<Finding> findings = check_host(facts, {});
    CHECK(finding(findings, "socket directory /clients", Health::kOk).mend.empty());
    CHECK(finding(findings, "socket directory /closed", Health::kMissing).mend.starts_with("chgrp"));
    const Finding& mount = finding(findings, "socket directory /mount", Health::kMissing);
    CHECK(mount.mend.starts_with("mount -o remount,rw /mount"));
    CHECK(mount.mend.find("ReadWritePaths=/mount") != std::string::npos);
}

TEST_CASE("a worker's core outside of the cpuset is missing") {
    HostFacts facts;
    CoreFacts& worker = facts.workers.emplace_back();
    worker.core = 3;
    worker.online = true;
    worker.allowed = false;
    const Finding core = finding(check_host(facts, {}), "worker core 3", Health::kMissing);
    CHECK(core.found.find("cpuset") != std::string::npos);
    CHECK(core.mend.find("AllowedCPUs=") != std::string::npos);
}

TEST_CASE("without a configuration the checks that need one are named as left out") {
    const FakeHost host;
    make_good(host);
    const std::vector<Finding> findings = examine(host, no_configuration());
    CHECK(finding(findings, "configuration", Health::kWarning).mend == "weirctl doctor --config FILE");
    CHECK(std::none_of(findings.begin(), findings.end(),
                       [](const Finding& f) { return f.check.starts_with("worker core"); }));
}

TEST_CASE("feedback without a key is off, with a warning; with one it is on") {
    const FakeHost host;
    make_good(host);
    SwitchConfig config = config_with_nic();
    CHECK(findings_text(examine(host, config), {}).find("feedback") == std::string::npos);
    config.feedback.enabled = true;
    const std::vector<Finding> findings = examine(host, config);
    const Finding& off = finding(findings, "feedback", Health::kWarning);
    CHECK(off.found == "off: no feedback.key_file: without a key any machine on the wire could set rates");
    CHECK(off.mend.find("openssl rand -hex 16") != std::string::npos);
    config.feedback.key_file = "/etc/weir/feedback.key";
    CHECK(finding(examine(host, config), "feedback", Health::kOk).found ==
          "on, with the key of /etc/weir/feedback.key");
}

TEST_CASE("appliances without cycle costs, or with those of another host, are named") {
    const FakeHost host;
    make_good(host);
    SwitchConfig config = config_with_nic();
    CHECK(findings_text(examine(host, config), {}).find("cycle costs") == std::string::npos);
    config.appliances.resize(1);
    const std::vector<Finding> findings = examine(host, config);
    CHECK(finding(findings, "cycle costs", Health::kWarning).mend.find("weir-calibrate switch --output") ==
          0);
    host.file("/cycles.json", R"({"host": "h2", "cpu": "x", "costs": {"name": "n", "unit": "u", "source": "s",
        "operations": {"otherwise": {"size": "sum", "shape": "linear", "base": 1, "tokens": 1, "per": "1B"}}}})");
    config.cycle_costs = host.root() + "/cycles.json";
    CHECK(finding(examine(host, config), "cycle costs", Health::kMissing).found.find("measured on h2 (x)") !=
          std::string::npos);
}

TEST_CASE("findings have a stable form for scripts") {
    CHECK(findings_json(
              {{"hugepages", Health::kMissing, "none reserved", "echo"}, {"KVM", Health::kOk, "fine", ""}})
              .dump() ==
          R"({"checks":[{"check":"hugepages","found":"none reserved","mend":"echo","state":"missing"},)"
          R"({"check":"KVM","found":"fine","mend":"","state":"ok"}]})");
}

TEST_CASE("lists of cores are read as the kernel writes them") {
    CHECK(parse_cpu_list("0-2,5,7-8") == std::vector<unsigned>{0, 1, 2, 5, 7, 8});
    CHECK(parse_cpu_list("").empty());
    CHECK(parse_cpu_list("3,x,4") == std::vector<unsigned>{3});
    CHECK(parse_cpu_list("0-99999999999").empty());
    CHECK(parse_cpu_list("5-3").empty());
}
