// config_examples_test.cc - the examples are valid, default.jsonc is the defaults, and the schema is the
// parser.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "test/support/config_schema.h"
#include "test/support/places.h"
#include "test/vswitch/config/config_support.h"
#include "vswitch/config/config_files.h"

using namespace weir;
using namespace weir::test;
using nlohmann::json;

namespace {

const std::string kConfigs = source_path("configs/");

const json& schema() {
    static const json parsed = json::parse(contents(kConfigs + "schema/switch.schema.json"));
    return parsed;
}

// How a member is put into an otherwise good configuration.
using With = json (*)(const std::string& key, const json& value);

json root_with(const std::string& key, const json& value) {
    json config{{"workers", {1}}};
    config[key] = value;
    return config;
}

json uplink_with(const std::string& key, const json& value) {
    json uplink{{"device", "net_tap0"}};
    uplink[key] = value;
    return {{"uplink", uplink}};
}

json feedback_with(const std::string& key, const json& value) {
    return {{"feedback", {{key, value}}}};
}

json controller_with(const std::string& key, const json& value) {
    json controller{{"connect", "ipc:///run/weir/admin/ctrl.ipc"}};
    controller[key] = value;
    return {{"controller", controller}};
}

json metrics_with(const std::string& key, const json& value) {
    json metrics{{"listen", "127.0.0.1:9417"}};
    metrics[key] = value;
    return {{"metrics", metrics}};
}

json vnic_with(const std::string& key, const json& value) {
    const bool guards = key == "addresses" || key == "dhcp" || key == "router";
    json vnic{{"name", "a"}, {"anti_spoofing", guards}};
    if (guards)
        vnic["mac"] = "52:54:00:00:00:01";
    vnic[key == "device" ? "device" : "socket"] = "/a";
    if (key == "size" || key == "time")
        vnic.update({{"guarantee_kind", "dynamic"}, {"size", "1GB"}, {"time", "1s"}});
    vnic[key] = value;
    return {{"workers", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}},
            {"uplink", {{"device", "net_tap0"}, {"rate", "400Gbit"}}},
            {"vnics", {vnic}}};
}

json appliance_with(const std::string& key, const json& value) {
    json appliance{
        {"name", "disk"}, {"address", "10.0.0.5"}, {"port", 10809}, {"protocol", "nbd"}, {"cost", "x"}};
    if (key == "scheduler")
        appliance["window"] = "64ktokens";
    appliance[key] = value;
    return {{"appliances", {appliance}}};
}

json tunnel_with(const std::string& key, const json& value) {
    json tunnel{{"name", "t"},
                {"local", "192.0.2.1"},
                {"remote", "192.0.2.2"},
                {"remote_mac", "02:00:00:00:00:02"},
                {"spi_out", 8192},
                {"spi_in", 12288},
                {"networks", {"10.0.0.0/8"}}};
    tunnel[key == "key_file" ? "key_file" : "key"] = std::string(64, '0');
    tunnel[key] = value;
    return {{"uplink", {{"device", "net_tap0"}}}, {"tunnels", {tunnel}}};
}

json vnic_appliance_with(const std::string& key, const json& value) {
    json part{{"name", "disk"}, {"limit", key == "limit" ? json() : json("1000Gtokens")}};
    part[key] = value;
    json config = vnic_with("appliances", json::array({part}));
    config.update(appliance_with("window", "64ktokens"));
    if (key == "cycles")
        config["cycle_costs"] = "/c.json";
    return config;
}

SchemaSection section(const char* path, const json& properties, With with) {
    return {path, properties,
            [with](const std::string& key, const json& value) { return faults_of(with(key, value).dump()); }};
}

std::vector<SchemaSection> sections() {
    return {section("", schema()["properties"], root_with),
            section("uplink", schema()["properties"]["uplink"]["properties"], uplink_with),
            section("feedback", schema()["properties"]["feedback"]["properties"], feedback_with),
            section("controller", schema()["properties"]["controller"]["properties"], controller_with),
            section("metrics", schema()["properties"]["metrics"]["properties"], metrics_with),
            section("tunnels[0]", schema()["$defs"]["tunnel"]["properties"], tunnel_with),
            section("appliances[0]", schema()["$defs"]["appliance"]["properties"], appliance_with),
            section("vnics[0]", schema()["$defs"]["vnic"]["properties"], vnic_with),
            section("vnics[0].appliances[0]", schema()["$defs"]["vnic_appliance"]["properties"],
                    vnic_appliance_with)};
}

}  // namespace

TEST_CASE("every example is a valid configuration") {
    std::size_t examples = 0;
    for (const auto& entry : std::filesystem::directory_iterator(kConfigs)) {
        if (entry.path().extension() != ".jsonc" || entry.path().stem() == "cluster")
            continue;  // the controller's own
        ++examples;
        auto loaded = load_config(entry.path());
        const Faults* faults = std::get_if<Faults>(&loaded);
        INFO(entry.path() << "\n" << (faults == nullptr ? "" : lines_of(*faults)));
        REQUIRE(faults == nullptr);
        const auto costs = load_appliances(std::get<SwitchConfig>(loaded), nullptr, kConfigs + "costs");
        faults = std::get_if<Faults>(&costs);
        INFO((faults == nullptr ? "" : lines_of(*faults)));
        CHECK(faults == nullptr);
        const auto tunnels = load_tunnels(std::get<SwitchConfig>(loaded), kConfigs + "costs");
        CHECK(std::holds_alternative<std::vector<TunnelParts>>(tunnels));
    }
    CHECK(examples >= 6);
}

TEST_CASE("default.jsonc names every key, and its values are the defaults") {
    const std::string text = contents(kConfigs + "default.jsonc");
    for (const SchemaSection& section : sections())
        for (const std::string& key : section.parser_keys())
            CHECK(text.find("\"" + key + "\":") != std::string::npos);

    const SwitchConfig written = valid(text);
    const SwitchConfig bare = valid(R"({"uplink": {"device": "0000:03:00.0"}, "vnics": [
        {"name": "vm1", "socket": "/run/weir/vm/vm1.sock", "mac": "52:54:00:00:00:01", "appliances": [{"name": "disk"}]}],
        "appliances": [{"name": "disk", "address": "10.0.0.5", "port": 10809, "protocol": "nbd", "cost": "ssd_file_store"}]})");
    CHECK(written.workers == bare.workers);
    CHECK(written.isolation == bare.isolation);
    CHECK(written.overcommit == bare.overcommit);
    CHECK(written.accounting == bare.accounting);
    CHECK(written.control_socket == bare.control_socket);
    CHECK(written.poll == bare.poll);
    CHECK(written.poll_sleep_max == bare.poll_sleep_max);
    CHECK(written.poll_coalesce == bare.poll_coalesce);
    CHECK(written.mac_aging == bare.mac_aging);
    CHECK(written.flood_limit_pps == bare.flood_limit_pps);
    CHECK(written.uplink.rate_bps == bare.uplink.rate_bps);
    CHECK(written.uplink.headroom == bare.uplink.headroom);
    CHECK(written.uplink.flow_offload == bare.uplink.flow_offload);
    CHECK(written.uplink.mtu == bare.uplink.mtu);
    CHECK(written.uplink.descriptors == bare.uplink.descriptors);
    const FeedbackConfig& feedback = written.feedback;
    CHECK(feedback.period == bare.feedback.period);
    CHECK(feedback.law == bare.feedback.law);
    CHECK(feedback.rate_min_bps == bare.feedback.rate_min_bps);
    CHECK(feedback.enabled);
    CHECK_FALSE(bare.feedback.enabled);
    CHECK(written.appliances.at(0).window_tokens == bare.appliances.at(0).window_tokens);
    CHECK(vnic_to_json(written.vnics.at(0)) == vnic_to_json(bare.vnics.at(0)));
}

TEST_CASE("the schema has the parser's keys and no others") {
    for (const SchemaSection& section : sections())
        CHECK(section.schema_keys() == section.parser_keys());
}

TEST_CASE("the schema's bounds of whole numbers are the parser's") {
    std::size_t bounded = 0;
    for (const SchemaSection& section : sections())
        bounded += check_bounds(section, "agent_core");
    CHECK(bounded >= 10);
}

TEST_CASE("the schema's words, examples and defaults are taken by the parser") {
    for (const SchemaSection& section : sections())
        check_values(section);
}

TEST_CASE("the schemas and default.jsonc list the schedulers and rate laws of the tables and no others") {
    const auto names = [](const auto& table) {
        json list = json::array();
        for (const auto& entry : table)
            list.push_back(entry.name);
        return list;
    };
    const json& switch_properties = schema()["properties"];
    const json scenario = json::parse(contents(kConfigs + "schema/scenario.schema.json"));
    CHECK(switch_properties["uplink"]["properties"]["scheduler"]["enum"] == names(kSchedulers));
    CHECK(schema()["$defs"]["appliance"]["properties"]["scheduler"]["enum"] == names(kSchedulers));
    CHECK(scenario["properties"]["hosts"]["properties"]["scheduler"]["enum"] == names(kSchedulers));
    CHECK(switch_properties["feedback"]["properties"]["law"]["enum"] == names(kRateLaws));

    const std::string text = contents(kConfigs + "default.jsonc");
    const auto explained = [&](const std::string& key, const auto& table) {
        const std::size_t end = text.find('"' + key + "\": \"");
        REQUIRE(end != std::string::npos);
        const std::string comment = text.substr(text.rfind("// [", end), end - text.rfind("// [", end));
        for (const auto& entry : table)
            CHECK(comment.find('"' + std::string(entry.name) + '"') != std::string::npos);
    };
    explained("scheduler", kSchedulers);
    explained("law", kRateLaws);
}

TEST_CASE("default.jsonc and the schema have the same defaults") {
    const json written = json::parse(contents(kConfigs + "default.jsonc"), nullptr, true, true);
    const auto check = [](const json& object, const json& properties) {
        for (const auto& [key, property] : properties.items()) {
            if (property.contains("default") && object.contains(key) && key != "vnics" &&
                key != "appliances" && key != "tunnels") {
                INFO(key);
                CHECK(object[key] == property["default"]);
            }
        }
    };
    check(written, schema()["properties"]);
    check(written["uplink"], schema()["properties"]["uplink"]["properties"]);
    check(written["feedback"], schema()["properties"]["feedback"]["properties"]);
    check(written["tunnels"][0], schema()["$defs"]["tunnel"]["properties"]);
    check(written["vnics"][0], schema()["$defs"]["vnic"]["properties"]);
    check(written["appliances"][0], schema()["$defs"]["appliance"]["properties"]);
    check(written["vnics"][0]["appliances"][0], schema()["$defs"]["vnic_appliance"]["properties"]);
}
