// admission_test.cc - hosts on which the guarantee of a reported vNIC fits, and hosts on which it does not.
#include "ctrl/daemon/admission.h"

#include "ctrl/placement/cluster_plan.h"
#include "test/support/catch.h"

using namespace weir;

namespace {

const char* const kHosts = R"("headroom": "0%", "topology": {"racks": [{"name": "r", "uplink": "12Gbit"}],
    "hosts": [{"name": "h1", "rack": "r"}, {"name": "h2", "rack": "r"}, {"name": "h3", "vms_max": 1}]}, "tenants": [
        {"name": "A", "vnics": [{"name": "a1", "host": "h1", "reservation": "6Gbit"},
                                {"name": "a2", "host": "h3", "reservation": "6Gbit"}]},
        {"name": "B", "vnics": [{"name": "b1", "reservation": "5Gbit"}, {"name": "b2", "reservation": "5Gbit"}]},
        {"name": "C", "vnics": [{"name": "c1", "reservation": "2Gbit"}, {"name": "c2", "reservation": "2Gbit"}]}]})";

struct AdmissionWorld {
    explicit AdmissionWorld(const std::string& keys = "")
        : config(std::get<ClusterConfig>(parse_cluster("{" + keys + kHosts, placement_faults))),
          cluster(config, [this](auto, auto) { return ++last_id; }),
          admission(config) {}
    std::string why_not(const char* vnic, HostIndex host) {
        return admission.why_not(*cluster.find_vnic(vnic), host);
    }
    void place(const char* vnic, HostIndex host) { admission.place(*cluster.find_vnic(vnic), host); }
    void remove(const char* vnic) { admission.remove(*cluster.find_vnic(vnic)); }

    std::uint32_t last_id = 0;
    ClusterConfig config;
    Cluster cluster;
    Admission admission;
};

}  // namespace

TEST_CASE("a vNIC is refused where its guarantee does not fit", "[admission]") {
    AdmissionWorld world;
    world.place("b2", 1);
    CHECK(world.why_not("b1", 0) ==
          "its guarantee does not fit: the uplink of host h1 would need 11Gbit of 10Gbit");
    CHECK(world.why_not("b1", 1).empty());
    CHECK(world.why_not("b1", 2).find("the uplink of host h3") != std::string::npos);
    CHECK(world.why_not("c1", 2).find("the slots of host h3 would need 2 of 1") != std::string::npos);
    CHECK(world.why_not("a1", 0).empty());  // its place in the file
}

TEST_CASE("a guarantee fits beside the tenant's other vNICs, or after another vNIC has left", "[admission]") {
    AdmissionWorld world;
    CHECK(world.why_not("c1", 1).empty());
    world.place("c1", 1);
    world.place("c2", 1);  // C needs no link within the host
    CHECK(world.why_not("b1", 1).empty());
    world.place("b1", 1);
    CHECK(world.why_not("b2", 1).empty());
    world.place("b2", 1);  // nor does B
    world.remove("b2");
    CHECK(world.why_not("b2", 0).find("host h1") != std::string::npos);
    world.remove("c1");
    world.remove("c2");
    CHECK(world.why_not("b2", 0).find("host h1") != std::string::npos);
    CHECK(world.why_not("c1", 0).empty());
}

TEST_CASE("a vNIC is admitted where its tenant's others may still come, and they are refused elsewhere",
          "[admission]") {
    AdmissionWorld world;
    CHECK(world.why_not("b1", 0).empty());  // with both on h1, B needs nothing of its uplink
    world.place("b1", 0);
    CHECK(world.why_not("b2", 1) ==
          "its guarantee does not fit: the uplink of host h1 would need 11Gbit of 10Gbit");
    CHECK(world.why_not("b2", 0).empty());
    CHECK(world.why_not("c1", 1).empty());
    world.remove("b1");
    CHECK(world.why_not("b2", 1).empty());
}

TEST_CASE("the uplinks of racks count too", "[admission]") {
    AdmissionWorld world;  // the rack carries A's 6 Gbit; B's 5 and C's 2 would make 13 of 12
    world.place("b1", 1);
    world.place("b2", 2);
    world.place("c1", 2);
    CHECK(world.why_not("c2", 1) ==
          "its guarantee does not fit: the uplink of rack r would need 13Gbit of 12Gbit");
    world.place("b2", 0);  // now B needs nothing of the rack's uplink
    CHECK(world.why_not("c2", 1).empty());
}

TEST_CASE("measured use decides after a day", "[admission]") {
    AdmissionWorld world(R"("overcommit": true, )");
    billing::MeasuredUse use;
    use.add(1, billing::MeasuredUse::kSecondsEnough);
    const billing::UseTable busy({{"b1", use}});
    Admission admission(world.config, &busy);
    admission.place(*world.cluster.find_vnic("b2"), 1);
    world.place("b2", 1);
    CHECK(admission.why_not(*world.cluster.find_vnic("b1"), 0).find("the uplink of host h1") !=
          std::string::npos);
    CHECK(world.why_not("b1", 0).empty());
}

TEST_CASE("with over-commitment overcommit_failure_max decides", "[admission]") {
    AdmissionWorld seldom(R"("overcommit": true, )");
    seldom.place("b2", 1);
    CHECK(seldom.why_not("b1", 0).empty());
    AdmissionWorld often(
        R"("overcommit": true, "overcommit_utilization": "100%", "overcommit_failure_max": "10%", )");
    often.place("b2", 1);
    CHECK(often.why_not("b1", 0).find("the uplink of host h1") != std::string::npos);
}
