// cluster_config_schema_test.cc - compares the schema and the example of the cluster file with the parser.
#include <nlohmann/json.hpp>

#include "ctrl/alloc/registry.h"
#include "ctrl/config/cluster_config.h"
#include "ctrl/placement/cluster_plan.h"
#include "test/support/config_schema.h"
#include "test/support/places.h"

using namespace weir;
using namespace weir::test;
using nlohmann::json;

namespace {

const std::string kConfigs = source_path("configs/");

const json& schema() {
    static const json parsed = json::parse(contents(kConfigs + "schema/cluster.schema.json"));
    return parsed;
}

const char* const kGood =
    R"({"global": {}, "metrics": {"listen": "127.0.0.1:9418"}, "api": {"listen": "127.0.0.1:9419", "token_file": "/t", "certificate_file": "/c", "key_file": "/k"}, "prices": {"p0": 1, "link": "10Gbit"}, "topology": {"racks": [{"name": "r1", "uplink": "40Gbit"}],
    "hosts": [{"name": "h1"}]},
    "appliances": [{"name": "e", "capacity_min": "5ktokens", "capacity_max": "10ktokens"},
                   {"name": "d", "capacity_min": "5ktokens", "capacity_max": "10ktokens"}],
    "tenants": [{"name": "A", "vnics": [{"name": "v"}], "appliances": [{"name": "d"}, {"name": "e"}]}],
    "pools": [{"name": "p", "appliance": "e", "vnics": [{"name": "v"}]}]})";

// `pointer`: where a member of the object goes in an otherwise good file.
SchemaSection section(const std::string& path, const std::string& pointer, const json& properties) {
    return {path, properties, [pointer](const std::string& key, const json& value) {
                json file = json::parse(kGood);
                if (pointer.ends_with("/vnics/0") && (key == "size" || key == "time"))
                    file[json::json_pointer(pointer)].update(
                        {{"guarantee_kind", "dynamic"}, {"size", "1GB"}, {"time", "1s"}});
                file[json::json_pointer(pointer)][key] = value;
                auto outcome = parse_cluster(file.dump(), placement_faults);
                const Faults* faults = std::get_if<Faults>(&outcome);
                return faults == nullptr ? Faults{} : *faults;
            }};
}

std::vector<SchemaSection> sections() {
    const json& defs = schema()["$defs"];
    const json& root = schema()["properties"];
    return {section("", "", root),
            section("global", "/global", root["global"]["properties"]),
            section("api", "/api", root["api"]["properties"]),
            section("metrics", "/metrics", root["metrics"]["properties"]),
            section("prices", "/prices", root["prices"]["properties"]),
            section("topology", "/topology", root["topology"]["properties"]),
            section("topology.racks[0]", "/topology/racks/0", defs["rack"]["properties"]),
            section("topology.hosts[0]", "/topology/hosts/0", defs["host"]["properties"]),
            section("appliances[0]", "/appliances/0", defs["appliance"]["properties"]),
            section("tenants[0]", "/tenants/0", defs["tenant"]["properties"]),
            section("tenants[0].vnics[0]", "/tenants/0/vnics/0", defs["vnic"]["properties"]),
            section("tenants[0].appliances[0]", "/tenants/0/appliances/0", defs["part"]["properties"]),
            section("pools[0]", "/pools/0", defs["pool"]["properties"]),
            section("pools[0].vnics[0]", "/pools/0/vnics/0", defs["member"]["properties"])};
}

}  // namespace

TEST_CASE("the cluster schema has the parser's keys, and the example shows them all") {
    const std::string example = contents(kConfigs + "cluster.jsonc");
    for (const SchemaSection& section : sections()) {
        INFO(section.path);
        CHECK(section.schema_keys() == section.parser_keys());
        for (const std::string& key : section.schema_keys())
            CHECK(example.find('"' + key + "\":") != std::string::npos);
    }
}

TEST_CASE("the cluster schema's bounds, words, examples and defaults are the parser's") {
    for (const SchemaSection& section : sections()) {
        check_values(section);
        check_bounds(section);
    }
}

TEST_CASE("the schema and the example have the words of the table of mechanisms") {
    json all = json::array();
    json local = json::array();
    std::string all_words;
    std::string local_words;
    for (const alloc::MechanismEntry& mechanism : alloc::kMechanisms) {
        all.push_back(mechanism.name);
        all_words += (all_words.empty() ? "" : ", ") + std::string(mechanism.name);
        if (mechanism.scope != alloc::Scope::kLocalAndGlobal)
            continue;
        local.push_back(mechanism.name);
        local_words += (local_words.empty() ? "" : ", ") + std::string(mechanism.name);
    }
    CHECK(schema()["properties"]["global"]["properties"]["mechanism"]["enum"] == all);
    CHECK(schema()["$defs"]["tenant"]["properties"]["local"]["enum"] == local);
    const std::string example = contents(kConfigs + "cluster.jsonc");
    CHECK(example.find("// " + all_words + "\n") != std::string::npos);
    CHECK(example.find("// " + local_words + ": ") != std::string::npos);
}
