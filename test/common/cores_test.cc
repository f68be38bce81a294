// cores_test.cc - lists of cores, the name of a cpuset, and the affinity that a look at it leaves as it was.
#include "common/cores.h"

#include <sched.h>

#include <algorithm>

#include "test/support/catch.h"

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
