// schema_test.cc - the schemas of scenarios of services, pools and fleets have the keys and bounds of their
// parsers; scenario_test.cc has that of networks.
#include "bench/sim/fleet/fleet_scenario.h"
#include "bench/sim/pools/pool_scenario.h"
#include "bench/sim/services/service_scenario.h"
#include "test/bench/sim/sim_support.h"
#include "test/support/config_schema.h"
#include "test/support/places.h"

using namespace weir;
using namespace weir::sim;
using nlohmann::json;
using weir::sim::test::kCosts;
using weir::test::check_bounds;
using weir::test::check_values;
using weir::test::contents;
using weir::test::SchemaSection;

namespace {

/// One kind of scenario: its schema, a good scenario, and its parser.
struct ScenarioKind {
    ScenarioKind(const char* name, json scenario, std::function<Faults(const std::string&)> parse)
        : schema(json::parse(contents(
              weir::test::source_path("configs/schema/" + std::string(name) + "_scenario.schema.json")))),
          good(std::move(scenario)),
          faults_of(std::move(parse)) {}

    /// The object at `place` of the good scenario. @param definition in the schema's $defs; "" is the root
    [[nodiscard]] SchemaSection section(const std::string& path, const char* definition,
                                        const json::json_pointer& place) const {
        const json& properties =
            *definition == '\0' ? schema["properties"] : schema["$defs"][definition]["properties"];
        return {path, properties, [this, place](const std::string& key, const json& value) {
                    json scenario = good;
                    if (key == "rate")  // a loop is closed or open
                        scenario[place].erase("outstanding");
                    scenario[place][key] = value;
                    if (key == "on" || key == "off")  // bursts have both
                        scenario[place][key == "on" ? "off" : "on"] = "1s";
                    return faults_of(scenario.dump());
                }};
    }

    json schema;
    json good;
    std::function<Faults(const std::string&)> faults_of;
};

template <typename Scenario>
Faults faults_in(std::variant<Scenario, Faults> parsed) {
    const Faults* faults = std::get_if<Faults>(&parsed);
    return faults == nullptr ? Faults{} : *faults;
}

const json kTimes = json::object({{"8KiB", "1ms"}});

const ScenarioKind& fleet_kind() {
    static const ScenarioKind kind("fleet", {{"fleet", {{"servers", 10}}}}, [](const std::string& text) {
        return faults_in(parse_fleet_scenario(text));
    });
    return kind;
}

const ScenarioKind& pool_kind() {
    static const ScenarioKind kind(
        "pool",
        {{"duration", "10s"},
         {"array",
          {{"name", "array"},
           {"read", kTimes},
           {"write", kTimes},
           {"costs", "storage_requests"},
           {"capacity_min", "1ktokens"}}},
         {"pools", {{{"name", "P"}, {"appliance", "array"}, {"vnics", {{{"name", "V"}}}}}}},
         {"vms", {{{"name", "V"}, {"host", "h"}, {"size", "8KiB"}}}},
         {"events", {{{"at", "1s"}, {"name", "P"}}}}},
        [](const std::string& text) { return faults_in(parse_pool_scenario(text, kCosts)); });
    return kind;
}

const ScenarioKind& service_kind() {
    static const ScenarioKind kind(
        "service",
        {{"duration", "10s"},
         {"hosts", {{{"name", "h"}, {"link", "10Gbit"}}}},
         {"services",
          {{{"name", "s"},
            {"read", kTimes},
            {"write", kTimes},
            {"costs", "key_value_store"},
            {"capacity_min", "1Mtokens"},
            {"capacity_max", "10Mtokens"}}}},
         {"tenants", {{{"name", "t"}, {"placement", {{{"host", "h"}}}}, {"services", {{{"name", "s"}}}}}}},
         {"loads", {{{"tenant", "t"}, {"service", "s"}, {"size", "8KiB"}, {"outstanding", 1}}}}},
        [](const std::string& text) { return faults_in(parse_service_scenario(text, kCosts)); });
    return kind;
}

std::vector<SchemaSection> sections() {
    using Place = json::json_pointer;
    return {fleet_kind().section("", "", Place("")),
            fleet_kind().section("fleet", "fleet", Place("/fleet")),
            pool_kind().section("", "", Place("")),
            pool_kind().section("array", "array", Place("/array")),
            pool_kind().section("pools[0]", "pool", Place("/pools/0")),
            pool_kind().section("pools[0].vnics[0]", "member", Place("/pools/0/vnics/0")),
            pool_kind().section("vms[0]", "vm", Place("/vms/0")),
            pool_kind().section("events[0]", "event", Place("/events/0")),
            service_kind().section("", "", Place("")),
            service_kind().section("hosts[0]", "host", Place("/hosts/0")),
            service_kind().section("services[0]", "service", Place("/services/0")),
            service_kind().section("tenants[0]", "tenant", Place("/tenants/0")),
            service_kind().section("tenants[0].placement[0]", "placed", Place("/tenants/0/placement/0")),
            service_kind().section("tenants[0].services[0]", "part", Place("/tenants/0/services/0")),
            service_kind().section("loads[0]", "load", Place("/loads/0"))};
}

}  // namespace

TEST_CASE("the good scenarios of the schema tests are good") {
    for (const ScenarioKind* kind : {&fleet_kind(), &pool_kind(), &service_kind()})
        CHECK(weir::test::lines_of(kind->faults_of(kind->good.dump())) == "");
}

TEST_CASE("the schemas of services, pools and fleets have their parsers' keys and no others") {
    for (const SchemaSection& section : sections()) {
        INFO(section.path);
        CHECK(section.schema_keys() == section.parser_keys());
    }
}

TEST_CASE(
    "the schemas of services, pools and fleets have their parsers' bounds, words, examples and defaults") {
    std::size_t bounded = 0;
    for (const SchemaSection& section : sections()) {
        bounded += check_bounds(section);
        check_values(section);
    }
    CHECK(bounded >= 10);
}

TEST_CASE("each key that a schema requires is required by its parser") {
    struct Object {
        const ScenarioKind& kind;
        const char* definition;
        const char* place;
    };
    const Object objects[] = {{fleet_kind(), "", ""},
                              {pool_kind(), "", ""},
                              {pool_kind(), "array", "/array"},
                              {pool_kind(), "vm", "/vms/0"},
                              {pool_kind(), "event", "/events/0"},
                              {service_kind(), "host", "/hosts/0"},
                              {service_kind(), "service", "/services/0"},
                              {service_kind(), "load", "/loads/0"}};
    for (const auto& [kind, definition, place] : objects) {
        const json& object = *definition == '\0' ? kind.schema : kind.schema["$defs"][definition];
        for (const json& key : object["required"]) {
            json scenario = kind.good;
            scenario[json::json_pointer(place)].erase(key.get<std::string>());
            INFO(definition << " " << key);
            CHECK_FALSE(kind.faults_of(scenario.dump()).empty());
        }
    }
}
