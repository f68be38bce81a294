// cores.cc - the kernel's answers about cores.
#include "common/cores.h"

#include <sched.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>
#include <system_error>

namespace weir {
namespace {

std::vector<unsigned> numbers_in(const cpu_set_t& set) {
    std::vector<unsigned> cores;
    for (unsigned core = 0; core < CPU_SETSIZE; ++core)
        if (CPU_ISSET(core, &set))
            cores.push_back(core);
    return cores;
}

}  // namespace

/// Asks for all cores for a moment: the kernel gives those that the cpuset has.
CoreSets core_sets() {
    cpu_set_t before;
    if (sched_getaffinity(0, sizeof(before), &before) != 0)
        return {};  // a machine with more cores than a set holds
    CoreSets sets{.allowed = {}, .affinity = numbers_in(before)};
    cpu_set_t all;
    CPU_ZERO(&all);
    for (unsigned core = 0; core < CPU_SETSIZE; ++core)
        CPU_SET(core, &all);
    cpu_set_t given;
    if (sched_setaffinity(0, sizeof(all), &all) == 0 && sched_getaffinity(0, sizeof(given), &given) == 0)
        sets.allowed = numbers_in(given);
    (void)sched_setaffinity(0, sizeof(before), &before);
    return sets;
}

std::string cpuset_in(const std::string& cgroups) {
    std::istringstream lines(cgroups);
    std::string unified;
    for (std::string line; std::getline(lines, line);) {
        // hierarchy:controllers:path
        const std::size_t controllers = line.find(':') + 1;
        const std::size_t path = line.find(':', controllers) + 1;
        if (controllers == 0 || path == 0)
            continue;
        const std::string names = "," + line.substr(controllers, path - 1 - controllers) + ",";
        if (names.find(",cpuset,") != std::string::npos)
            return line.substr(path);
        if (line.starts_with("0::"))
            unified = line.substr(path);
    }
    return unified.empty() ? "/" : unified;
}

std::string cpuset_name() {
    std::ifstream file("/proc/self/cgroup");
    return cpuset_in({std::istreambuf_iterator<char>(file), {}});
}

/// The folder of a core has a link "nodeN".
NumaNode node_of_core(unsigned core, const std::string& sysroot) {
    constexpr std::string_view kLink = "node";
    std::error_code ignored;
    const std::string folder = sysroot + "/sys/devices/system/cpu/cpu" + std::to_string(core);
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
        const std::string name = entry.path().filename().string();
        unsigned node = 0;
        const char* end = name.data() + name.size();
        if (name.starts_with(kLink) && std::from_chars(name.data() + kLink.size(), end, node).ptr == end &&
            name.size() > kLink.size())
            return node;
    }
    return std::nullopt;
}

std::string core_list(const std::vector<unsigned>& ascending) {
    std::string text;
    for (std::size_t i = 0; i < ascending.size();) {
        std::size_t last = i;
        while (last + 1 < ascending.size() && ascending[last + 1] == ascending[last] + 1)
            ++last;
        text += (text.empty() ? "" : ",") + std::to_string(ascending[i]);
        if (last != i)
            text += "-" + std::to_string(ascending[last]);
        i = last + 1;
    }
    return text;
}

}  // namespace weir
