// config_cores.cc - which cores are there, and which are free.
#include "vswitch/config/config_cores.h"

#include <algorithm>

namespace weir {
namespace {

bool contains_core(const std::vector<unsigned>& cores, unsigned core) {
    return std::ranges::find(cores, core) != cores.end();
}

}  // namespace

std::string core_fault(const SwitchConfig& config, const CoreSets& cores, const std::string& cpuset) {
    if (cores.allowed.empty())
        return "";
    std::string place;
    unsigned wanted = 0;
    for (std::size_t i = config.workers.size(); i-- > 0;)
        if (!contains_core(cores.allowed, config.workers[i])) {
            wanted = config.workers[i];
            place = "workers[" + std::to_string(i) + ']';
        }
    if (place.empty() && config.agent_core && !contains_core(cores.allowed, *config.agent_core)) {
        wanted = *config.agent_core;
        place = "agent_core";
    }
    if (place.empty())
        return "";
    return place + ": core " + std::to_string(wanted) + " is not one of the cores " +
           core_list(cores.allowed) + ", which are online and in the cpuset of cgroup " + cpuset +
           "; name one of these, or widen the cpuset " +
           "(cpuset.cpus of the cgroup, AllowedCPUs= of the systemd unit)";
}

unsigned agent_core(const SwitchConfig& config, const CoreSets& cores) {
    if (config.agent_core)
        return *config.agent_core;
    for (const unsigned core : cores.affinity)
        if (!contains_core(config.workers, core))
            return core;
    // Not known, or all taken.
    const bool shared = cores.affinity.empty() || contains_core(cores.affinity, config.workers.front());
    return shared ? config.workers.front() : cores.affinity.front();
}

}  // namespace weir
