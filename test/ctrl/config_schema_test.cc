// config_schema_test.cc - the cluster file's schema and its documented example have what the parser has.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "ctrl/config.h"
#include "test/support/catch.h"
#include "test/support/faults.h"

using namespace weir;
using nlohmann::json;

namespace {

const std::string kConfigs = std::string(WEIR_SOURCE_ROOT) + "/configs/";

std::string contents(const std::string& path) {
    std::ifstream file(path);
    REQUIRE(file.is_open());
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

const json& schema() {
    static const json parsed = json::parse(contents(kConfigs + "schema/cluster.schema.json"));
    return parsed;
}

// One object of the file: where a member of it goes in an otherwise good file, and its schema.
struct Section {
    std::string path;     ///< in faults
    std::string pointer;  ///< in the file
    const json& properties;
};

std::vector<Section> sections() {
    const json& defs = schema()["$defs"];
    const json& root = schema()["properties"];
    return {{"", "", root},
            {"global", "/global", root["global"]["properties"]},
            {"topology", "/topology", root["topology"]["properties"]},
            {"topology.racks[0]", "/topology/racks/0", defs["rack"]["properties"]},
            {"topology.hosts[0]", "/topology/hosts/0", defs["host"]["properties"]},
            {"appliances[0]", "/appliances/0", defs["appliance"]["properties"]},
            {"tenants[0]", "/tenants/0", defs["tenant"]["properties"]},
            {"tenants[0].vnics[0]", "/tenants/0/vnics/0", defs["vnic"]["properties"]},
            {"tenants[0].appliances[0]", "/tenants/0/appliances/0", defs["part"]["properties"]},
            {"pools[0]", "/pools/0", defs["pool"]["properties"]},
            {"pools[0].vnics[0]", "/pools/0/vnics/0", defs["member"]["properties"]}};
}

const char* const kGood = R"({"global": {}, "topology": {"racks": [{"name": "r1", "uplink": "40Gbit"}],
    "hosts": [{"name": "h1"}]},
    "appliances": [{"name": "d", "capacity_min": "5ktokens", "capacity_max": "10ktokens"},
                   {"name": "e", "capacity_min": "5ktokens", "capacity_max": "10ktokens"}],
    "tenants": [{"name": "A", "vnics": [{"name": "v"}], "appliances": [{"name": "d"}, {"name": "e"}]}],
    "pools": [{"name": "p", "appliance": "e", "vnics": [{"name": "v"}]}]})";

Faults faults_with(const Section& section, const std::string& key, const json& value) {
    json file = json::parse(kGood);
    file[json::json_pointer(section.pointer)][key] = value;
    auto outcome = parse_cluster(file.dump());
    const Faults* faults = std::get_if<Faults>(&outcome);
    return faults == nullptr ? Faults{} : *faults;
}

std::string path_in(const Section& section, const std::string& key) {
    return section.path.empty() ? key : section.path + '.' + key;
}

bool accepts(const Section& section, const std::string& key, const json& value) {
    return !test::has_fault(faults_with(section, key, value), path_in(section, key), "");
}

// The parser lists its keys beside an unknown one.
std::set<std::string> parser_keys(const Section& section) {
    const Faults faults = faults_with(section, "no_such_key_anywhere", 1);
    const auto unknown = std::find_if(faults.begin(), faults.end(), [&](const Fault& fault) {
        return fault.path == path_in(section, "no_such_key_anywhere");
    });
    REQUIRE(unknown != faults.end());
    std::set<std::string> keys;
    std::istringstream list(unknown->allowed);
    for (std::string key; std::getline(list >> std::ws, key, ',');)
        keys.insert(key);
    return keys;
}

}  // namespace

TEST_CASE("the cluster schema has the parser's keys, and the example shows them all") {
    const std::string example = contents(kConfigs + "cluster.jsonc");
    for (const Section& section : sections()) {
        INFO(section.path);
        std::set<std::string> keys;
        for (const auto& [key, property] : section.properties.items())
            keys.insert(key);
        CHECK(keys == parser_keys(section));
        for (const std::string& key : keys)
            CHECK(example.find('"' + key + "\":") != std::string::npos);
    }
}

TEST_CASE("the cluster schema's bounds, words, examples and defaults are the parser's") {
    for (const Section& section : sections()) {
        for (const auto& [key, property] : section.properties.items()) {
            INFO(section.path << " " << key);
            for (const char* list : {"enum", "examples"})
                for (const json& value : property.value(list, json::array()))
                    CHECK(accepts(section, key, value));
            if (property.contains("default"))
                CHECK(accepts(section, key, property["default"]));
            if (property.contains("enum"))
                CHECK_FALSE(accepts(section, key, "no such word"));
            if (!property.contains("minimum"))
                continue;
            const std::int64_t min = property.at("minimum");
            const std::int64_t max = property.at("maximum");
            CHECK(accepts(section, key, min));
            CHECK(accepts(section, key, max));
            CHECK_FALSE(accepts(section, key, min - 1));
            CHECK_FALSE(accepts(section, key, max + 1));
        }
    }
}
