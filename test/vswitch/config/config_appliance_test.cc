// config_appliance_test.cc - appliances and a vNIC's part of them: read, refused, written back; their tables.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "test/vswitch/config/config_support.h"
#include "vswitch/config/config_files.h"

using namespace weir;
using namespace weir::test;
using nlohmann::json;

namespace {

namespace fs = std::filesystem;

json disk() {
    return {{"name", "disk"},
            {"address", "10.0.0.5"},
            {"port", 10809},
            {"protocol", "nbd"},
            {"cost", "ssd_file_store"}};
}

json disk_with(const json& more) {
    json object = disk();
    object.update(more);
    return object;
}

json with_parts(const json& parts) {
    const json cache = disk_with({{"name", "cache"}, {"port", 11211}, {"protocol", "memcached"}});
    return {
        {"appliances", {disk(), cache}},
        {"vnics", {{{"name", "a"}, {"socket", "/a"}, {"mac", "52:54:00:00:00:01"}, {"appliances", parts}}}}};
}

// The one fault of a configuration with these appliances.
void refuse_appliances(const json& appliances, const std::string& path, const std::string& fragment) {
    const Faults faults = faults_of(json{{"appliances", appliances}}.dump());
    INFO(appliances.dump() << "\nwanted " << path << ": " << fragment << "\n" << lines_of(faults));
    CHECK(faults.size() == 1);
    CHECK(has_fault(faults, path, fragment));
}

// A folder that is there as long as the test.
class Folder {
  public:
    Folder() : path_(fs::temp_directory_path() / ("weir_costs_" + std::to_string(::getpid()))) {
        fs::create_directories(path_);
    }
    ~Folder() { fs::remove_all(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    void write(const std::string& name, const std::string& text) const {
        std::ofstream(path_ / name) << text;
    }
    void copy(const std::string& from, const std::string& name) const { fs::copy_file(from, path_ / name); }
    [[nodiscard]] std::string of(const std::string& name) const { return path_ / name; }

  private:
    fs::path path_;
};

Faults load_faults(const json& appliances, ReadProgram read_program = nullptr) {
    const auto loaded =
        load_appliances(valid(json{{"appliances", appliances}}.dump()), read_program, kShipped);
    const Faults* faults = std::get_if<Faults>(&loaded);
    return faults == nullptr ? Faults{} : *faults;
}

class Doubled : public CostProgram {
  public:
    std::uint32_t tokens(const CostArguments& arguments) const noexcept override {
        return 2 * arguments.tokens;
    }
};

}  // namespace

TEST_CASE("every key of an appliance reaches its field") {
    const SwitchConfig config = valid(json{{"appliances",
                                            {disk_with({{"program", "w.o"}, {"window", "64ktokens"}}),
                                             disk_with({{"name", "six"}, {"address", "fd00::5"}})}}}
                                          .dump());
    REQUIRE(config.appliances.size() == 2);
    const ApplianceConfig& one = config.appliances[0];
    CHECK(one.name == "disk");
    CHECK(one.address == "10.0.0.5");
    CHECK(one.port == 10'809);
    CHECK(one.protocol == "nbd");
    CHECK(one.cost == "ssd_file_store");
    CHECK(one.program == "w.o");
    CHECK(one.window_tokens == 64'000U);
    CHECK(config.appliances[1].address == "fd00::5");
    CHECK(config.appliances[1].program.empty());
    CHECK_FALSE(config.appliances[1].window_tokens);
}

TEST_CASE("a vNIC's part of an appliance has limits, or defaults, and is written back as it was read") {
    const json parts{{{"name", "disk"},
                      {"limit", "800tokens"},
                      {"uplink", "40kbit"},
                      {"downlink", "1.5Mbit"},
                      {"burst", "100ms"},
                      {"buckets", "single"}},
                     {{"name", "cache"}}};
    const SwitchConfig config = valid(with_parts(parts).dump());
    const VnicConfig& vnic = config.vnics[0];
    REQUIRE(vnic.appliances.size() == 2);
    CHECK(vnic.appliances[0].limit_tokens == 800U);
    CHECK(vnic.appliances[0].uplink_bps == 40'000U);
    CHECK(vnic.appliances[0].downlink_bps == 1'500'000U);
    CHECK(vnic.appliances[0].burst == 100'000'000);
    CHECK_FALSE(vnic.appliances[0].multi_resource);
    CHECK_FALSE(vnic.appliances[1].limit_tokens);
    CHECK_FALSE(vnic.appliances[1].uplink_bps);
    CHECK_FALSE(vnic.appliances[1].downlink_bps);
    CHECK(vnic.appliances[1].burst == kNanosPerSec);
    CHECK(vnic.appliances[1].multi_resource);

    const json written = vnic_to_json(vnic);
    CHECK(written.at("appliances")[0] == parts[0]);
    CHECK(written.at("appliances")[1] == json{{"name", "cache"}, {"burst", "1s"}, {"buckets", "multi"}});
    const auto again = parse_vnic(written, "vnic", config, {});
    REQUIRE(std::holds_alternative<VnicConfig>(again));
    CHECK(vnic_to_json(std::get<VnicConfig>(again)) == written);
}

TEST_CASE("an appliance needs a name, an address, a port, a protocol and a cost table") {
    for (const char* key : {"name", "address", "port", "protocol", "cost"}) {
        json object = disk();
        object.erase(key);
        refuse_appliances(json::array({object}), std::string("appliances[0].") + key, "found nothing");
    }
}

TEST_CASE("wrong keys of an appliance are named") {
    const auto wrong = [](const char* key, const json& value, const char* fragment) {
        refuse_appliances(json::array({disk_with({{key, value}})}), std::string("appliances[0].") + key,
                          fragment);
    };
    wrong("name", "two words", "cannot be a name");
    for (const char* text :
         {"10.0.0", "10.0.0.05", "10.0.0.256", "disk.example", "10.0.0.5:80", "fe80::1%eth0", ""})
        wrong("address", text, "this is not an address");
    for (const char* text :
         {"0.0.0.0", "127.0.0.1", "224.0.0.1", "255.255.255.255", "::", "::1", "ff02::1", "::ffff:10.0.0.5"})
        wrong("address", text, "no host has this address");
    wrong("address", 10, "wrong type");
    wrong("port", 0, "1 to 65535");
    wrong("port", 65'536, "1 to 65535");
    wrong("port", "10809", "wrong type");
    wrong("protocol", "nbdd", "did you mean \"nbd\"?");
    wrong("protocol", "http", "allowed: bytes, iscsi, memcached, nbd, nvme-tcp, redis");
    wrong("protocol", 5, "wrong type");
    wrong("cost", "", "cannot be a file");
    wrong("cost", "costs/", "cannot be a file");
    wrong("cost", std::string(4'096, 'x'), "cannot be a file");
    wrong("cost", json::object(), "wrong type");
    wrong("cost", std::string("a\0b", 3), "control character");
    wrong("program", "", "cannot be a file");
    wrong("window", 64'000, "bare number");
    wrong("window", "64KiB", "such as 16ktokens");
    wrong("window", "0tokens", "1tokens to 1000Gtokens");
    wrong("scheduler", "fifo", "allowed: wrr, fulfillment, rls");
    wrong("scheduler", "rls", "an appliance with a \"window\"");
    wrong("windows", "1tokens", "did you mean \"window\"?");
}

TEST_CASE("two appliances share neither a name nor an address with its port, however that is written") {
    refuse_appliances({disk(), disk_with({{"port", 1}})}, "appliances[1].name",
                      "appliance \"disk\" has it already");
    refuse_appliances({disk(), disk_with({{"name", "b"}})}, "appliances[1].address",
                      "appliance \"disk\" has it already");
    refuse_appliances(
        {disk_with({{"address", "fd00::5"}}), disk_with({{"name", "b"}, {"address", "FD00:0:0::0:5"}})},
        "appliances[1].address", "an address and port of its own");
    CHECK(valid(json{{"appliances", {disk(), disk_with({{"name", "b"}, {"port", 1}})}}}.dump())
              .appliances.size() == 2);
}

TEST_CASE("wrong keys of a vNIC's part are named") {
    const auto wrong = [](const json& parts, const std::string& key, const char* fragment) {
        const Faults faults = faults_of(with_parts(parts).dump());
        INFO(parts.dump() << "\n" << lines_of(faults));
        CHECK(faults.size() == 1);
        CHECK(has_fault(faults, "vnics[0].appliances" + key, fragment));
    };
    wrong({{{"limit", "1tokens"}}}, "[0].name", "this is needed");
    wrong({{{"name", "tape"}}}, "[0].name", "allowed: disk, cache; there is no such appliance");
    wrong({{{"name", "disk"}}, {{"name", "disk"}}}, "[1].name", "the vNIC names it already");
    wrong({{{"name", "disk"}, {"limit", "5kbit"}}}, "[0].limit", "such as 16ktokens");
    wrong({{{"name", "disk"}, {"limit", 5}}}, "[0].limit", "bare number");
    wrong({{{"name", "disk"}, {"limit", "2000Gtokens"}}}, "[0].limit", "1tokens to 1000Gtokens");
    wrong({{{"name", "disk"}, {"uplink", "5tokens"}}}, "[0].uplink", "such as 10Gbit");
    wrong({{{"name", "disk"}, {"uplink", "999bit"}}}, "[0].uplink", "1kbit to 400Gbit");
    wrong({{{"name", "disk"}, {"downlink", "401Gbit"}}}, "[0].downlink", "1kbit to 400Gbit");
    wrong({{{"name", "disk"}, {"burst", "999us"}}}, "[0].burst", "1ms to 10s");
    wrong({{{"name", "disk"}, {"burst", nullptr}}}, "[0].burst", "wrong type");
    wrong({{{"name", "disk"}, {"buckets", "triple"}}}, "[0].buckets", "multi, single");
    wrong({{{"name", "disk"}, {"buckets", "single"}}}, "[0].buckets", "there is none");
    wrong({{{"name", "disk"}, {"shares", 5}}}, "[0].shares", "an appliance with a \"window\"");
    wrong({{{"name", "disk"}, {"reservation", "5tokens"}}}, "[0].reservation", "there is none");
    wrong({{{"name", "disk"}, {"cycles", "5tokens"}}}, "[0].cycles", "such as 50Mcycles");
    wrong({{{"name", "disk"}, {"cycles", "50Mcycles"}}}, "[0].cycles",
          "the file that weir-calibrate switch writes");
}

TEST_CASE("lists of appliances are bounded") {
    json list = json::array();
    for (int i = 0; i < 64; ++i)
        list.push_back(disk_with({{"name", "d" + std::to_string(i)}, {"port", 1'000 + i}}));
    CHECK(valid(json{{"appliances", list}}.dump()).appliances.size() == 64);
    list.push_back(disk());
    refuse_appliances(list, "appliances", "at most 64 appliances; there are too many");
    const json nine(9, json{{"name", "disk"}});
    const Faults faults = faults_of(with_parts(nine).dump());
    REQUIRE(faults.size() == 1);
    CHECK(has_fault(faults, "vnics[0].appliances", "at most 8 parts, such as"));
}

TEST_CASE("a running vNIC's parts of appliances change where they are named; no others come or go") {
    const SwitchConfig config = valid(
        with_parts({{{"name", "disk"}, {"limit", "5tokens"}, {"burst", "2s"}}, {{"name", "cache"}}}).dump());
    const auto changed = [&](const json& change) {
        return change_vnic(config.vnics[0], change, "change", config, {});
    };
    const auto shares = changed({{"shares", 7}});
    REQUIRE(std::holds_alternative<VnicConfig>(shares));
    CHECK(std::get<VnicConfig>(shares).appliances.at(0).limit_tokens == 5U);
    const auto limits =
        changed({{"appliances",
                  {{{"name", "cache"}, {"limit", "9tokens"}}, {{"name", "disk"}, {"limit", nullptr}}}}});
    REQUIRE(std::holds_alternative<VnicConfig>(limits));
    const std::vector<VnicApplianceConfig>& parts = std::get<VnicConfig>(limits).appliances;
    REQUIRE(parts.size() == 2);
    CHECK(parts[0].name == "disk");
    CHECK_FALSE(parts[0].limit_tokens);
    CHECK(parts[0].burst == 2 * kNanosPerSec);
    CHECK(parts[1].limit_tokens == 9U);
    const auto other = changed({{"appliances", {{{"name", "tape"}}}}});
    REQUIRE(std::holds_alternative<Faults>(other));
    CHECK(has_fault(std::get<Faults>(other), "change.appliances[0].name", "there is no such appliance"));
    CHECK(std::holds_alternative<Faults>(changed({{"appliances", 5}})));
    const SwitchConfig one = valid(with_parts({{{"name", "disk"}}}).dump());
    const auto more = change_vnic(one.vnics[0], {{"appliances", {{{"name", "cache"}}}}}, "change", one, {});
    REQUIRE(std::holds_alternative<Faults>(more));
    CHECK(has_fault(std::get<Faults>(more), "change.appliances[0].name", "remove the vNIC and add it anew"));
}

TEST_CASE("cost tables are found by their name, or from the configuration's own folder") {
    const Folder folder;
    folder.copy(kShipped + "/hdd_file_store.json", "mine.json");
    const json file{
        {"appliances",
         {disk(), disk_with({{"name", "b"}, {"port", 1}, {"cost", "./mine.json"}, {"program", "w.o"}}),
          disk_with({{"name", "c"}, {"port", 2}, {"cost", "../mine.json"}}),
          disk_with({{"name", "d"}, {"port", 3}, {"cost", folder.of("mine.json")}})}}};
    folder.write("switch.jsonc", file.dump());
    auto config = load_config(folder.of("switch.jsonc"));
    REQUIRE(std::holds_alternative<SwitchConfig>(config));
    std::vector<ApplianceConfig>& appliances = std::get<SwitchConfig>(config).appliances;
    CHECK(appliances[0].cost == "ssd_file_store");
    CHECK(appliances[1].cost == folder.of("./mine.json"));
    CHECK(appliances[1].program == folder.of("w.o"));
    CHECK(appliances[3].cost == folder.of("mine.json"));
    appliances[2].cost = "key_value_store";

    const auto read_program = [](const std::string& name) {
        CHECK(name.ends_with("/w.o"));
        return std::variant<std::shared_ptr<const CostProgram>, Fault>(std::make_shared<const Doubled>());
    };
    const auto loaded = load_appliances(std::get<SwitchConfig>(config), read_program, kShipped);
    REQUIRE(std::holds_alternative<std::vector<ApplianceCosts>>(loaded));
    const auto& costs = std::get<std::vector<ApplianceCosts>>(loaded);
    REQUIRE(costs.size() == 4);
    CHECK(costs[0].table->facts().name == "file store on an SSD");
    CHECK(costs[1].table->facts().name == costs[3].table->facts().name);
    CHECK(costs[2].table->tokens(Operation::kRead, 40, 100) == 8'192);
    CHECK(costs[0].program == nullptr);
    REQUIRE(costs[1].program != nullptr);
    CHECK(costs[1].program->tokens(CostArguments{0, 0, 0, 21, 1, 0}) == 42);
}

TEST_CASE("tables and programs that cannot be used are faults of the appliance that names them") {
    const Folder folder;
    folder.write("bad.json", "{\"name\": \"x\",\n\"unit\": 5}");
    folder.write("half.json", "{");
    CHECK(load_faults(json::array({disk()})).empty());
    const Faults faults =
        load_faults({disk_with({{"cost", "floppy"}}),
                     disk_with({{"name", "b"}, {"port", 1}, {"cost", folder.of("bad.json")}}),
                     disk_with({{"name", "c"}, {"port", 2}, {"cost", folder.of("half.json")}}),
                     disk_with({{"name", "d"}, {"port", 3}, {"cost", folder.of("none.json")}})});
    INFO(lines_of(faults));
    CHECK(has_fault(faults, "appliances[0].cost", "key_value_store"));
    CHECK(has_fault(faults, "appliances[0].cost", "ssd_file_store"));
    CHECK(has_fault(faults, "appliances[0].cost", "No such file"));
    CHECK(has_fault(faults, "appliances[1].cost", "bad.json: unit: wrong type (line 2)"));
    CHECK(has_fault(faults, "appliances[1].cost", "bad.json: operations: "));
    CHECK(has_fault(faults, "appliances[2].cost", "half.json: line 1"));
    CHECK(has_fault(faults, "appliances[3].cost", "a readable file; the cost table could not be read"));
    for (const Fault& fault : faults)
        CHECK_FALSE((fault.allowed.empty() || fault.message.empty()));

    const json programmed = json::array({disk_with({{"program", "/w.o"}})});
    CHECK(has_fault(load_faults(programmed), "appliances[0].program", "not supported by this version"));
    const auto refuse_program = [](const std::string& name) {
        return std::variant<std::shared_ptr<const CostProgram>, Fault>(
            Fault{name, "a call", "none", "it calls"});
    };
    CHECK(has_fault(load_faults(programmed, refuse_program), "appliances[0].program",
                    "found a call; allowed: none; /w.o: it calls"));
}

TEST_CASE("the tables that come with the switch are found from its build folder, or in WEIR_DATA_DIR") {
    CHECK(is_shipped_table("ssd_file_store"));
    CHECK_FALSE(is_shipped_table("ssd.json"));
    CHECK_FALSE(is_shipped_table("costs/ssd"));
    CHECK(shipped_tables() == kShipped);
    ::setenv("WEIR_DATA_DIR", "/nonexistent/weir", 1);
    CHECK(shipped_tables() == "/nonexistent/weir/costs");
    ::unsetenv("WEIR_DATA_DIR");
}

TEST_CASE("a vNIC that waits for a window is next by wrr, or by another scheduler") {
    const auto scheduler_of = [](const json& more) {
        return valid(json{{"appliances", json::array({disk_with(more)})}}.dump()).appliances[0].scheduler;
    };
    CHECK(scheduler_of({{"window", "64ktokens"}})->name == "wrr");
    CHECK(scheduler_of({{"window", "64ktokens"}, {"scheduler", "rls"}})->name == "rls");
}

TEST_CASE("a part of the window needs one, and is no more than the limit") {
    const json with_window = disk_with({{"window", "64ktokens"}});
    json config = with_parts({{{"name", "disk"},
                               {"limit", "800tokens"},
                               {"reservation", "500tokens"},
                               {"shares", 300},
                               {"cycles", "50Mcycles"}}});
    config["appliances"][0] = with_window;
    config["cycle_costs"] = "/c.json";
    const SwitchConfig read = valid(config.dump());
    const VnicApplianceConfig& part = read.vnics[0].appliances[0];
    CHECK(part.reservation_tokens == 500);
    CHECK(part.shares == 300);
    CHECK(part.cycles == 50'000'000U);
    const json written = vnic_to_json(read.vnics[0]).at("appliances")[0];
    CHECK(written.at("reservation") == "500tokens");
    CHECK(written.at("shares") == 300);
    CHECK(written.at("cycles") == "50Mcycles");

    config["vnics"][0]["appliances"][0]["reservation"] = "900tokens";
    Faults faults = std::get<Faults>(parse_config(config.dump()));
    REQUIRE(faults.size() == 1);
    CHECK(faults[0].path == "vnics[0].appliances[0].reservation");
    CHECK(faults[0].allowed == "at most the limit, 800tokens");
    config["appliances"][0] = disk();
    faults = std::get<Faults>(parse_config(config.dump()));
    CHECK(faults.size() == 3);
    CHECK(has_fault(faults, "vnics[0].appliances[0].reservation", "an appliance with a \"window\""));
    CHECK(has_fault(faults, "vnics[0].appliances[0].shares", "an appliance with a \"window\""));
}

TEST_CASE("without cycle_costs appliances charge no cycles") {
    SwitchConfig config;
    config.appliances.resize(1);
    config.appliances[0].cost = "ssd_file_store";
    const auto loaded = load_appliances(config, nullptr, kShipped);
    REQUIRE(std::holds_alternative<std::vector<ApplianceCosts>>(loaded));
    CHECK(std::get<std::vector<ApplianceCosts>>(loaded)[0].cycles == nullptr);
    config.cycle_costs = "/nonexistent/cycles.json";
    const auto refused = load_appliances(config, nullptr, kShipped);
    REQUIRE(std::holds_alternative<Faults>(refused));
    CHECK(has_fault(std::get<Faults>(refused), "cycle_costs", "No such file"));
}
