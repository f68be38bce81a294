// config_cores_test.cc - workers and the agent in cpusets that lack core 0, have one core, or not enough.
#include "vswitch/config/config_cores.h"

#include "test/support/catch.h"

using namespace weir;

namespace {

SwitchConfig on(std::vector<unsigned> workers, std::optional<std::uint32_t> agent = {}) {
    SwitchConfig config;
    config.workers = std::move(workers);
    if (agent)
        config.agent_core = *agent;
    return config;
}

/// A cpuset, and an affinity that is the same.
CoreSets cpuset(std::vector<unsigned> cores) {
    return {.allowed = cores, .affinity = cores};
}

}  // namespace

TEST_CASE("the agent takes the first core without a worker, and only of its own affinity") {
    CHECK(agent_core(on({1}), cpuset({0, 1})) == 0);
    CHECK(agent_core(on({0}), cpuset({0, 1})) == 1);
    CHECK(agent_core(on({4, 5}), cpuset({4, 5, 6, 7})) == 6);
    CHECK(agent_core(on({4, 5}, 7), cpuset({4, 5, 6, 7})) == 7);
    // isolcpus=2,3: workers run there, the agent does not.
    CHECK(agent_core(on({2}), {.allowed = {0, 1, 2, 3}, .affinity = {0, 1}}) == 0);
}

TEST_CASE("in a cpuset of one core the agent shares the worker's") {
    for (const unsigned core : {0U, 1U, 63U}) {
        CHECK(agent_core(on({core}), cpuset({core})) == core);
        CHECK(core_fault(on({core}), cpuset({core}), "/").empty());
    }
    CHECK(agent_core(on({2, 3}), cpuset({2, 3})) == 2);
    CHECK(agent_core(on({3}), {.allowed = {1, 2, 3}, .affinity = {3}}) == 3);
    CHECK(agent_core(on({5}), {}) == 5);  // nothing is known
}

TEST_CASE("a core outside of the cpuset is named with the cpuset before anything starts") {
    const std::string line = core_fault(on({1, 5}), cpuset({0, 1}), "/vms");
    for (const char* part : {"workers[1]", "core 5", "0-1", "cgroup /vms", "AllowedCPUs="}) {
        INFO(part);
        CHECK(line.find(part) != std::string::npos);
    }
    CHECK(core_fault(on({1}, 7), cpuset({0, 1}), "/").starts_with("agent_core: core 7"));
    CHECK(core_fault(on({7, 9}, 7), cpuset({0, 1}), "/").starts_with("workers[0]: core 7"));
    CHECK(core_fault(on({2, 3}, 0), {.allowed = {0, 1, 2, 3}, .affinity = {0}}, "/").empty());
    CHECK(core_fault(on({99}), {}, "/").empty());  // nothing is known
}
