// cluster_change_test.cc - differences of cluster files by name, smaller promises, concerned vNICs, and keys
// of the process.
#include "ctrl/config/cluster_change.h"

#include <nlohmann/json.hpp>

#include "test/support/catch.h"

using namespace weir;
using nlohmann::json;

namespace {

const char* const kCluster = R"({"topology": {"racks": [{"name": "r1", "uplink": "40Gbit"}],
        "hosts": [{"name": "h1", "rack": "r1"}, {"name": "h2"}, {"name": "h3"}]},
    "appliances": [{"name": "disk", "capacity_min": "1ktokens", "capacity_max": "1ktokens"},
                   {"name": "tape", "capacity_min": "1ktokens", "capacity_max": "1ktokens"}],
    "tenants": [{"name": "A", "vnics": [{"name": "a1", "host": "h1"}, {"name": "a2", "reservation": "1Gbit"}],
                 "appliances": [{"name": "disk", "reservation": "400tokens", "limit": "600tokens"}]},
                {"name": "B", "vnics": [{"name": "b1"}, {"name": "b2", "host": "h2"}],
                 "appliances": [{"name": "tape"}]}]})";

ClusterConfig parsed(const json& text) {
    return std::get<ClusterConfig>(parse_cluster(text.dump()));
}

/// @param change of the file
template <typename Change>
std::size_t concerned(Change change, const std::map<std::string, std::string>& hosts = {}) {
    json now = json::parse(kCluster);
    change(now);
    return concerned_vnics(parsed(json::parse(kCluster)), parsed(now), [&](const std::string& vnic) {
        const auto found = hosts.find(vnic);
        return found == hosts.end() ? std::string_view() : std::string_view(found->second);
    });
}

template <typename Change>
std::vector<std::string> smaller(Change change) {
    json now = json::parse(kCluster);
    change(now);
    return smaller_promises(parsed(json::parse(kCluster)), parsed(now));
}

}  // namespace

TEST_CASE("members of lists are compared by their names, whatever their order", "[change]") {
    const json before = json::parse(R"({"x": [{"name": "a", "v": 1}, {"name": "b", "v": 2}], "y": [1, 2]})");
    const json now =
        json::parse(R"({"x": [{"name": "b", "v": 3}, {"name": "a", "v": 1}, {"name": "c"}], "z": 1})");
    CHECK(changed_values(before, now) ==
          std::vector<ChangedValue>{
              {"x.b.v", "2", "3"}, {"x.c", "", R"({"name":"c"})"}, {"y", "[1,2]", ""}, {"z", "", "1"}});
    CHECK(changed_values(before, before).empty());
    CHECK(changed_values(json::parse(R"({"x": [{"name": "a"}]})"), json::parse(R"({"x": []})")) ==
          std::vector<ChangedValue>{{"x.a", R"({"name":"a"})", ""}});
}

TEST_CASE("each promise that becomes smaller has its sentence", "[change]") {
    CHECK(smaller([](json&) {}).empty());
    CHECK(smaller([](json& now) {
              now["tenants"][0]["appliances"][0]["reservation"] = "300tokens";
              now["tenants"][0]["appliances"][0]["limit"] = "500tokens";
              now["tenants"][0]["vnics"][0]["limit"] = "2Gbit";
              now["tenants"][0]["vnics"][1]["reservation"] = "500Mbit";
              now["tenants"][0]["sharing_rule"] = "fixed";
              now["tenants"][1]["appliances"] = json::array();
              now["tenants"][1]["vnics"].erase(0);
          }) == std::vector<std::string>{"tenant A: sharing_rule minimum -> fixed",
                                         "tenant A: reservation at disk 400 -> 300 tokens/s",
                                         "tenant A: limit at disk 600 tokens/s -> 500 tokens/s",
                                         "vNIC a1: limit none -> 2Gbit",
                                         "vNIC a2: reservation 1Gbit -> 500Mbit",
                                         "tenant B: its part of tape is removed", "vNIC b1 is removed"});
    CHECK(smaller([](json& now) { now["tenants"][0]["vnics"][1]["guarantee_kind"] = "strict"; }).empty());
    CHECK(smaller([](json& now) { now["tenants"][0]["vnics"][0]["guarantee_kind"] = "best_effort"; }) ==
          std::vector<std::string>{"vNIC a1: guarantee_kind fairness -> best_effort"});
    CHECK(smaller([](json& now) {
              now["tenants"][0]["vnics"][1] = json::parse(
                  R"({"name": "a2", "guarantee_kind": "dynamic", "size": "37500MB", "time": "600s"})");
          }) == std::vector<std::string>{"vNIC a2: guarantee_kind strict -> dynamic",
                                         "vNIC a2: reservation 1Gbit -> 500Mbit"});
    CHECK(smaller([](json& now) { now["tenants"].erase(1); }) ==
          std::vector<std::string>{"tenant B is removed"});
    CHECK(smaller([](json& now) { now["tenants"][0]["vnics"][1]["reservation"] = "2Gbit"; }).empty());
}

TEST_CASE("vNICs are concerned by their own entry, their tenant, host and appliances, and the whole",
          "[change]") {
    CHECK(concerned([](json&) {}) == 0);
    CHECK(concerned([](json& now) { now["tenants"][0]["vnics"][0]["weight"] = 50; }) == 1);
    CHECK(concerned([](json& now) { now["tenants"][0]["weight"] = 50; }) == 2);
    CHECK(concerned([](json& now) { now["tenants"].erase(1); }) == 2);
    CHECK(concerned([](json& now) { now["appliances"][1]["capacity_max"] = "2ktokens"; }) == 2);
    CHECK(concerned([](json& now) { now["topology"]["hosts"][1]["uplink"] = "5Gbit"; }) == 1);
    CHECK(concerned([](json& now) { now["topology"]["hosts"][1]["uplink"] = "5Gbit"; },
                    {{"a2", "h2"}, {"b1", "h3"}}) == 2);
    CHECK(concerned([](json& now) { now["topology"]["racks"][0]["uplink"] = "50Gbit"; }) == 1);
    CHECK(concerned([](json& now) { now["headroom"] = "10%"; }) == 4);
    CHECK(concerned([](json& now) {
              now["tenants"].push_back({{"name", "C"}, {"vnics", {{{"name", "c1"}}}}});
          }) == 0);
}

TEST_CASE("where the controller answers scrapers is the process's own, and no part of the specification",
          "[change]") {
    const ClusterConfig off = parsed(json::parse(kCluster));
    json stated = json::parse(kCluster);
    stated["metrics"]["listen"] = "127.0.0.1:9418";
    const ClusterConfig on = parsed(stated);
    CHECK(off.metrics.listen.empty());
    CHECK(on.metrics.listen == "127.0.0.1:9418");
    CHECK(cluster_part(stated.dump()) == cluster_part(kCluster));
    CHECK(with_process_of(on, off).metrics == on.metrics);
    CHECK(faults_of_live_change(on, off, json::parse(kCluster)).empty());
    stated["api"] = {{"listen", "127.0.0.1:9419"}, {"token_file", "/t"}};
    CHECK(cluster_part(stated.dump()) == cluster_part(kCluster));
    CHECK(with_process_of(parsed(stated), off).api.token_file == "/t");
    CHECK(faults_of_live_change(on, parsed(stated), stated).at(0).path == "api");
    stated.erase("api");
    const Faults faults = faults_of_live_change(off, on, stated);
    REQUIRE(faults.size() == 1);
    CHECK(faults[0].path == "metrics");
    CHECK(faults[0].allowed == "nothing");
}
