// cores_test.cc - lists of cores, the name of a cpuset, and the affinity that a look at it leaves as it was.
#include "common/cores.h"

#include <sched.h>

#include <algorithm>
#include <filesystem>

#include "test/support/catch.h"
#include "test/support/temp_folder.h"

using namespace weir;

TEST_CASE("cores are listed as ranges") {
    CHECK(core_list({}).empty());
    CHECK(core_list({1}) == "1");
    CHECK(core_list({0, 1, 2, 3, 8, 10, 11}) == "0-3,8,10-11");
}

TEST_CASE("the cgroup of the cpuset is found in both layouts of cgroups") {
    CHECK(cpuset_in("0::/system.slice/weir-switch.service\n") == "/system.slice/weir-switch.service");
    CHECK(cpuset_in("4:memory:/m\n3:cpu,cpuset:/vms:1\n0::/unified\n") == "/vms:1");
    CHECK(cpuset_in("2:cpusets:/other\n0::/\n") == "/");
    CHECK(cpuset_in("") == "/");
    CHECK(cpuset_in("no colon\n:\n") == "/");
    CHECK(cpuset_name().starts_with('/'));
}

TEST_CASE("an affinity is a part of the allowed cores, and is as it was after a look") {
    cpu_set_t before;
    REQUIRE(sched_getaffinity(0, sizeof(before), &before) == 0);
    const CoreSets all = core_sets();
    REQUIRE_FALSE(all.affinity.empty());
    CHECK(std::ranges::includes(all.allowed, all.affinity));
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(all.affinity.back(), &one);
    REQUIRE(sched_setaffinity(0, sizeof(one), &one) == 0);
    const CoreSets pinned = core_sets();
    CHECK(pinned.affinity == std::vector{all.affinity.back()});
    CHECK(pinned.allowed == all.allowed);
    cpu_set_t after;
    REQUIRE(sched_getaffinity(0, sizeof(after), &after) == 0);
    CHECK(CPU_EQUAL(&after, &one));
    REQUIRE(sched_setaffinity(0, sizeof(before), &before) == 0);
}

TEST_CASE("a core's folder names its NUMA node, or there is none to know") {
    const weir::test::TempFolder root;
    const std::string cpus = root.file("sys/devices/system/cpu/");
    std::filesystem::create_directories(cpus + "cpu1/node0");
    std::filesystem::create_directories(cpus + "cpu9/node1");
    std::filesystem::create_directories(cpus + "cpu9/topology");
    std::filesystem::create_directories(cpus + "cpu10/node12");
    std::filesystem::create_directories(cpus + "cpu11/nodes");
    std::filesystem::create_directories(cpus + "cpu11/node");
    CHECK(node_of_core(1, root.file("")) == 0U);
    CHECK(node_of_core(9, root.file("")) == 1U);
    CHECK(node_of_core(10, root.file("")) == 12U);
    CHECK(node_of_core(11, root.file("")) == std::nullopt);
    CHECK(node_of_core(12, root.file("")) == std::nullopt);
}
