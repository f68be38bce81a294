// config_examples_test.cc - the examples are valid, default.jsonc is the defaults, and the schema is the
// parser.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "test/vswitch/config_support.h"
#include "vswitch/tunnel_parts.h"

using namespace weir;
using namespace weir::test;
using nlohmann::json;

namespace {

const std::string kConfigs = std::string(WEIR_SOURCE_ROOT) + "/configs/";

std::string contents(const std::string& path) {
    std::ifstream file(path);
    REQUIRE(file.is_open());
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

const json& schema() {
    static const json parsed = json::parse(contents(kConfigs + "schema/switch.schema.json"));
    return parsed;
}

// One object of the configuration: its schema, and how a member is put into an otherwise good configuration.
struct Section {
    const char* name;
    const json& properties;
    json (*with)(const std::string& key, const json& value);
};

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
    json controller{{"connect", "ipc:///run/weir/ctrl.ipc"}};
    controller[key] = value;
    return {{"controller", controller}};
}

json vnic_with(const std::string& key, const json& value) {
    json vnic{{"name", "a"}, {"anti_spoofing", false}};
    vnic[key == "device" ? "device" : "socket"] = "/a";
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
    return config;
}

std::vector<Section> sections() {
    return {
        {"", schema()["properties"], root_with},
        {"uplink", schema()["properties"]["uplink"]["properties"], uplink_with},
        {"feedback", schema()["properties"]["feedback"]["properties"], feedback_with},
        {"controller", schema()["properties"]["controller"]["properties"], controller_with},
        {"tunnels[0]", schema()["$defs"]["tunnel"]["properties"], tunnel_with},
        {"appliances[0]", schema()["$defs"]["appliance"]["properties"], appliance_with},
        {"vnics[0]", schema()["$defs"]["vnic"]["properties"], vnic_with},
        {"vnics[0].appliances[0]", schema()["$defs"]["vnic_appliance"]["properties"], vnic_appliance_with}};
}

std::string path_in(const Section& section, const std::string& key) {
    return section.name[0] == '\0' ? key : std::string(section.name) + '.' + key;
}

// Whether the parser has nothing to say about this one member.
bool accepts(const Section& section, const std::string& key, const json& value) {
    return !has_fault(faults_of(section.with(key, value).dump()), path_in(section, key), "");
}

// The parser's own keys: it lists them beside an unknown one.
std::set<std::string> parser_keys(const Section& section) {
    const Faults faults = faults_of(section.with("no_such_key_anywhere", 1).dump());
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
    for (const Section& section : sections())
        for (const std::string& key : parser_keys(section))
            CHECK(text.find("\"" + key + "\":") != std::string::npos);

    const SwitchConfig written = valid(text);
    const SwitchConfig bare = valid(R"({"uplink": {"device": "0000:03:00.0"}, "vnics": [
        {"name": "vm1", "socket": "/run/weir/vm1.sock", "mac": "52:54:00:00:00:01", "appliances": [{"name": "disk"}]}],
        "appliances": [{"name": "disk", "address": "10.0.0.5", "port": 10809, "protocol": "nbd", "cost": "ssd_file_store"}]})");
    CHECK(written.workers == bare.workers);
    CHECK(written.isolation == bare.isolation);
    CHECK(written.overcommit == bare.overcommit);
    CHECK(written.accounting == bare.accounting);
    CHECK(written.control_socket == bare.control_socket);
    CHECK(written.poll == bare.poll);
    CHECK(written.poll_sleep_max == bare.poll_sleep_max);
    CHECK(written.poll_coalesce == bare.poll_coalesce);
    CHECK(written.mac_ageing == bare.mac_ageing);
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
    for (const Section& section : sections()) {
        std::set<std::string> keys;
        for (const auto& [key, property] : section.properties.items())
            keys.insert(key);
        CHECK(keys == parser_keys(section));
    }
}

TEST_CASE("the schema's bounds of whole numbers are the parser's") {
    std::size_t bounded = 0;
    for (const Section& section : sections()) {
        for (const auto& [key, property] : section.properties.items()) {
            if (!property.contains("minimum"))
                continue;
            INFO(section.name << " " << key);
            const std::int64_t min = property.at("minimum");
            const std::int64_t max = property.at("maximum");
            CHECK((accepts(section, key, min) || key == "agent_core"));
            CHECK(accepts(section, key, max));
            CHECK_FALSE(accepts(section, key, min - 1));
            CHECK_FALSE(accepts(section, key, max + 1));
            ++bounded;
        }
    }
    CHECK(bounded >= 10);
}

TEST_CASE("the schema's words, examples and defaults are taken by the parser") {
    for (const Section& section : sections()) {
        for (const auto& [key, property] : section.properties.items()) {
            INFO(section.name << " " << key);
            for (const char* list : {"enum", "examples"})
                for (const json& value : property.value(list, json::array()))
                    CHECK(accepts(section, key, value));
            if (property.contains("default"))
                CHECK(accepts(section, key, property["default"]));
            if (property.contains("enum"))
                CHECK_FALSE(accepts(section, key, "no such word"));
        }
    }
}

TEST_CASE("what default.jsonc says is what the schema says") {
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
