// eal.cc - builds EAL's command line from the configuration and starts it.
#include "vswitch/ports/eal.h"

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_memory.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "common/cores.h"
#include "common/error.h"
#include "vswitch/config/config_cores.h"
#include "vswitch/ports/run_locks.h"

namespace weir {
namespace {

bool is_pci(const std::string& device) {
    return !device.empty() && std::isdigit(device.front()) != 0;
}

bool uses_pci(const SwitchConfig& config) {
    return is_pci(config.uplink.device) || std::any_of(config.vnics.begin(), config.vnics.end(),
                                                       [](const VnicConfig& v) { return is_pci(v.device); });
}

bool given(const std::vector<std::string>& arguments, const std::string& option) {
    return std::any_of(arguments.begin(), arguments.end(),
                       [&](const std::string& argument) { return argument.starts_with(option); });
}

std::vector<std::string> make_arguments(const SwitchConfig& config) {
    std::vector<std::string> arguments{"weir-switch"};
    std::string lcores = "0@" + std::to_string(agent_core(config, core_sets()));
    for (std::size_t i = 0; i < config.workers.size(); ++i)
        lcores += "," + std::to_string(Eal::lcore_of(static_cast<unsigned>(i))) + "@" +
                  std::to_string(config.workers[i]);
    arguments.insert(arguments.end(), {"--lcores", lcores});
    if (!given(config.eal, "--file-prefix"))
        arguments.push_back("--file-prefix=" + eal_file_prefix(config));
    // Hugepages without files: DPDK's files in hugetlbfs outlive the process, and keep their pages.
    constexpr std::array kOwnMemory{"--in-memory", "--no-huge", "--huge-unlink", "--huge-dir"};
    if (std::ranges::none_of(kOwnMemory, [&](const char* option) { return given(config.eal, option); }))
        arguments.emplace_back("--in-memory");
    if (!given(config.eal, "--no-pci") && !given(config.eal, "-a") && !uses_pci(config))
        arguments.emplace_back("--no-pci");
    // A guest decides how many lines the vhost library writes: they could fill the host's disk. The switch
    // logs the fault of a ring's driver and the reason for which it disconnects a guest, each at most once in
    // 10 s for a vNIC.
    if (!given(config.eal, "--log-level"))
        arguments.emplace_back("--log-level=lib.vhost.*:critical");
    arguments.insert(arguments.end(), config.eal.begin(), config.eal.end());
    return arguments;
}

/// Free hugepages of any size; -1 = unknown.
long free_hugepages() {
    long pages = -1;
    std::error_code error;
    for (const auto& size : std::filesystem::directory_iterator("/sys/kernel/mm/hugepages", error)) {
        long free = 0;
        if (std::ifstream(size.path() / "free_hugepages") >> free)
            pages = std::max(pages, 0L) + free;
    }
    return pages;
}

void require_hugepages(const SwitchConfig& config) {
    if (given(config.eal, "--no-huge") || free_hugepages() > 0)
        return;
    throw HostError(
        "no free hugepage; reserve some: echo 512 > /proc/sys/vm/nr_hugepages (1 GiB in pages of 2 MiB)");
}

void start(const SwitchConfig& config) {
    require_hugepages(config);
    std::vector<std::string> arguments = make_arguments(config);
    std::vector<char*> argv;
    for (std::string& argument : arguments)
        argv.push_back(argument.data());
    if (rte_eal_init(static_cast<int>(argv.size()), argv.data()) < 0)
        throw HostError(std::string("DPDK does not start (") + rte_strerror(rte_errno) +
                        "); the lines of DPDK above have the reason; `weirctl doctor` checks the host");
}

/// Not DPDK's rte_lcore_to_socket_id(): it has the node of the core with the number of the lcore, and with
/// --lcores lcore 1 may run on core 9.
std::vector<NumaNode> nodes_of(const SwitchConfig& config) {
    std::vector<NumaNode> nodes;
    for (const unsigned core : config.workers)
        nodes.push_back(node_of_core(core));
    return nodes;
}

/// Called before DPDK's heap grows, on the thread that allocates. The poll loop allocates nothing, but the
/// vhost library copies an indirect table that it finds in two pieces, and reads the table's length twice: a
/// guest that raises the length in between, to at most 4 GiB, would otherwise make the worker reserve and
/// clear that much memory. Without it the library drops the guest's frame.
int let_heap_grow(int, std::size_t, std::size_t) {
    const unsigned lcore = rte_lcore_id();
    return lcore == LCORE_ID_ANY || lcore == rte_get_main_lcore() ? 0 : -1;
}

/// With --no-huge or --legacy-mem the heap never grows.
void keep_workers_from_allocating() {
    for (unsigned i = 0; i < rte_socket_count(); ++i)
        if (rte_mem_alloc_validator_register("weir_workers", let_heap_grow, rte_socket_id_by_idx(i), 0) !=
                0 &&
            rte_errno != ENOTSUP)
            throw HostError(std::string("DPDK does not watch its heap (") + rte_strerror(rte_errno) +
                            "); the lines of DPDK above have the reason");
}

}  // namespace

Eal::Eal(const SwitchConfig& config, SteppedClock* clock)
    : clock_(clock),
      ticks_per_sec_((start(config), clock == nullptr ? rte_get_tsc_hz() : kNanosPerSec)),
      ticks_(ticks_per_sec_, clock == nullptr ? rte_rdtsc() : 0) {
    try {
        pools_.emplace(nodes_of(config), pool_buffers(config));
    } catch (const HostError&) {
        rte_eal_cleanup();
        throw;
    }
    keep_workers_from_allocating();
}

Nanos Eal::now() const {
    return clock_ == nullptr ? ticks_.to_nanos(rte_rdtsc()) : clock_->now();
}

Eal::~Eal() {
    pools_.reset();
    rte_eal_cleanup();
}

}  // namespace weir
