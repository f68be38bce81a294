// scenario_test.cc - scenarios of networks: that runs repeat, that shipped scenarios are valid, and that the
// schema has the parser's keys, bounds and defaults.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "test/bench/sim/sim_support.h"
#include "test/support/places.h"

using namespace weir;
using namespace weir::sim;
using namespace weir::sim::test;
using nlohmann::json;

namespace {

const json& schema() {
    static const json parsed = [] {
        std::ifstream file(weir::test::source_path("configs/schema/scenario.schema.json"));
        return json::parse(file);
    }();
    return parsed;
}

json good(const std::string& kind) {
    json source{{"name", "s"}, {"kind", kind}, {"tenant", "t"}, {"from", "0"}, {"to", "1"}};
    if (kind == "udp")
        source.update({{"on", "5ms"}, {"off", "15ms"}});
    if (kind == "poisson")
        source.update({{"load", "50%"}, {"sizes", "sizes/web-search.txt"}});
    return {{"tenants", {{{"name", "t"}}}}, {"sources", {source}}};
}

/// One object of a scenario: where it is, its schema, and a good scenario with one member of it set.
struct Section {
    std::string path;
    const json& properties;
    json base;
    json::json_pointer place;

    [[nodiscard]] json with(const std::string& key, const json& value) const {
        json scenario = base;
        scenario[place][key] = value;
        return scenario;
    }
    [[nodiscard]] std::string path_of(const std::string& key) const {
        return path.empty() ? key : path + '.' + key;
    }
    [[nodiscard]] bool accepts(const std::string& key, const json& value) const {
        const Faults faults = faults_of(with(key, value).dump());
        return std::ranges::none_of(faults, [&](const Fault& fault) { return fault.path == path_of(key); });
    }
    /// The parser lists its own keys beside an unknown one.
    [[nodiscard]] std::set<std::string> parser_keys() const {
        std::set<std::string> keys;
        for (const Fault& fault : faults_of(with("no_such_key", 1).dump())) {
            std::istringstream list(fault.path == path_of("no_such_key") ? fault.allowed : "");
            for (std::string key; std::getline(list >> std::ws, key, ',');)
                keys.insert(key);
        }
        return keys;
    }
};

std::vector<Section> sections() {
    const json& root = schema()["properties"];
    std::vector<Section> all{
        {"", root, good("udp"), json::json_pointer("")},
        {"network", root["network"]["properties"], good("udp"), json::json_pointer("/network")},
        {"hosts", root["hosts"]["properties"], good("udp"), json::json_pointer("/hosts")},
        {"rate_limits", root["rate_limits"]["properties"], good("udp"), json::json_pointer("/rate_limits")},
        {"tenants[0]", schema()["$defs"]["tenant"]["properties"], good("udp"),
         json::json_pointer("/tenants/0")}};
    for (const char* kind : {"udp", "tcp", "requests", "poisson"})
        all.push_back({"sources[0]", schema()["$defs"][kind]["properties"], good(kind),
                       json::json_pointer("/sources/0")});
    return all;
}

}  // namespace

TEST_CASE("the same scenario and seed give the same bytes, another seed gives others") {
    const auto bytes = [](std::uint64_t seed) {
        Scenario scenario = valid(R"({"duration": "20ms", "network": {"hosts": 8, "leaves": 2, "spines": 2},
            "tenants": [{"name": "a", "reservation": "4Gbit"}, {"name": "b"}], "watch": "0",
            "sources": [{"name": "u", "kind": "udp", "tenant": "a", "from": "1-7", "to": "0", "on": "2ms", "off": "3ms"},
                        {"name": "r", "kind": "requests", "tenant": "b", "from": "1-7", "to": "0", "request": "6kB",
                         "request_rate": 10000},
                        {"name": "p", "kind": "poisson", "tenant": "b", "from": "all", "to": "all", "load": "20%",
                         "sizes": "sizes/data-mining.txt"}]})");
        scenario.seed = seed;
        return Run(scenario).finish().dump();
    };
    const std::string first = bytes(1);
    CHECK(first == bytes(1));
    CHECK(first != bytes(2));
}

TEST_CASE("every shipped scenario is valid") {
    std::size_t count = 0;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(weir::test::source_path("bench/scenarios"))) {
        // Those of services, of pools and of fleets have readers and tests of their own.
        const auto folder = entry.path().parent_path().filename();
        if (entry.path().extension() != ".jsonc" || folder == "pulsar" || folder == "srp" ||
            folder == "fleet" || folder == "specification")
            continue;
        ++count;
        const auto loaded = load_scenario(entry.path());
        const Faults* faults = std::get_if<Faults>(&loaded);
        INFO(entry.path() << ": " << (faults == nullptr ? "" : faults->front().to_line()));
        CHECK(faults == nullptr);
    }
    CHECK(count >= 1);
}

TEST_CASE("a bare scenario has the defaults that the schema names") {
    const Scenario scenario = valid(good("udp").dump());
    CHECK(scenario.network.hosts == 2);
    CHECK(scenario.network.rate_bps == 10'000'000'000);
    CHECK(scenario.sources[0].rate_bps == 10'000'000'000);
    CHECK(scenario.tenants[0].hosts == std::vector<std::uint32_t>{0, 1});
    CHECK(scenario.watch.empty());
    CHECK(scenario.isolation == Isolation::kWeir);
}

TEST_CASE("the schema has the parser's keys and no others") {
    for (const Section& section : sections()) {
        std::set<std::string> keys;
        for (const auto& [key, property] : section.properties.items())
            keys.insert(key);
        INFO(section.path << " " << section.base.dump());
        CHECK(keys == section.parser_keys());
    }
}

TEST_CASE("the schema's bounds, words, examples and defaults are the parser's") {
    std::size_t bounded = 0;
    for (const Section& section : sections()) {
        for (const auto& [key, property] : section.properties.items()) {
            INFO(section.path << " " << key);
            if (property.value("type", json()) == "integer") {
                CHECK_FALSE(section.accepts(key, property.at("maximum").get<std::uint64_t>() + 1));
                CHECK_FALSE(section.accepts(key, property.at("minimum").get<std::int64_t>() - 1));
                ++bounded;
            }
            for (const char* list : {"enum", "examples"})
                for (const json& value : property.value(list, json::array()))
                    CHECK(section.accepts(key, value));
            if (property.contains("enum"))
                CHECK_FALSE(section.accepts(key, "no such word"));
            if (property.contains("default"))
                CHECK(section.accepts(key, property["default"]));
        }
    }
    CHECK(bounded >= 10);
}
