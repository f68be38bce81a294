// config_test.cc - what a good configuration becomes, and how faults are reported.
#include "vswitch/config/config.h"

#include <fstream>

#include "test/vswitch/config/config_support.h"

using namespace weir;
using namespace weir::test;

TEST_CASE("an empty object is a switch without vNICs and with every default") {
    const SwitchConfig config = valid("{}");
    CHECK(config.workers == std::vector<unsigned>{1});
    CHECK_FALSE(config.agent_core);
    CHECK(config.isolation);
    CHECK_FALSE(config.overcommit);
    CHECK(config.accounting == Accounting::kWire);
    CHECK(config.uplink.device.empty());
    CHECK(config.vnics.empty());
    CHECK(config.control_socket == "/run/weir/admin/switch.sock");
    CHECK(config.poll == PollMode::kBusy);
    CHECK(config.poll_sleep_max == 100'000);
    CHECK(config.mac_aging == 300 * kNanosPerSec);
    CHECK(config.flood_limit_pps == 20'000);
    CHECK(config.buffers == 0);
}

TEST_CASE("every key of the switch reaches its field") {
    const SwitchConfig config = valid(R"({ // a comment
        "host": "h1", "eal": ["--no-pci"], "workers": [2, 3], "agent_core": 0, "isolation": false, "overcommit": true,
        "accounting": "l2", "control_socket": "/tmp/s", "poll": "adaptive", "poll_sleep_max": "50us",
        "mac_aging": "60s", "flood_limit": "1kpps", "buffers": 32768,
        "uplink": {"device": "net_vhost0,iface=/tmp/wire", "rate": "1Gbit", "headroom": "5%", "scheduler": "wrr",
                   "flow_offload": "off", "mtu": 9000, "descriptors": 256} /* and another */ })");
    CHECK(config.host == "h1");
    CHECK(config.eal == std::vector<std::string>{"--no-pci"});
    CHECK(config.workers == std::vector<unsigned>{2, 3});
    CHECK(config.agent_core == 0U);
    CHECK_FALSE(config.isolation);
    CHECK(config.overcommit);
    CHECK(config.accounting == Accounting::kL2);
    CHECK(config.control_socket == "/tmp/s");
    CHECK(config.poll == PollMode::kAdaptive);
    CHECK(config.poll_sleep_max == 50'000);
    CHECK(config.mac_aging == 60 * kNanosPerSec);
    CHECK(config.flood_limit_pps == 1'000);
    CHECK(config.buffers == 32'768);
    CHECK(config.uplink.device == "net_vhost0,iface=/tmp/wire");
    CHECK(config.uplink.rate_bps == 1'000'000'000);
    CHECK(config.uplink.headroom == Approx(0.05));
    CHECK(config.uplink.flow_offload == FlowOffload::kOff);
    CHECK(config.uplink.mtu == 9'000);
    CHECK(config.uplink.descriptors == 256);
}

TEST_CASE("the uplink's capacity is its rate less the headroom, to the bit") {
    UplinkConfig uplink;
    CHECK(uplink.capacity_bps() == 9'000'000'000);
    uplink.headroom = 0.05;
    uplink.rate_bps = 400'000'000'000;
    CHECK(uplink.capacity_bps() == 380'000'000'000);
    uplink.headroom = 0;
    CHECK(uplink.capacity_bps() == 400'000'000'000);
}

TEST_CASE("all faults are listed, in the order of the file, each with its line") {
    const Faults faults = faults_of(
        "{\n\"vnics\": [\n{\"name\": \"a\",\n\"queues\": 99,\n\"mac\": 5}],\n\"workers\": \"x\",\n\"hots\": "
        "1}");
    REQUIRE(faults.size() == 5);
    CHECK(faults[0].path == "vnics[0].socket");
    CHECK(faults[0].message == "the vNIC has no port (line 3)");
    CHECK(faults[1].path == "vnics[0].queues");
    CHECK(faults[1].to_line() ==
          "vnics[0].queues: found 99; allowed: a whole number, 1 to 16; out of range (line 4)");
    CHECK(faults[2].path == "vnics[0].mac");
    CHECK(faults[3].path == "workers");
    CHECK(faults[4].path == "hots");
    CHECK(faults[4].message == "unknown key; did you mean \"host\"? (line 7)");
}

TEST_CASE("a key that was renamed is refused with its new name, where that is a key") {
    const Faults faults = faults_of(R"({"mac_ageing": "300s"})");
    REQUIRE(faults.size() == 1);
    CHECK(faults[0].path == "mac_ageing");
    CHECK(faults[0].message == "unknown key; it was renamed to \"mac_aging\" (line 1)");
    CHECK(has_fault(faults_of(R"({"uplink": {"device": "net_tap0", "mac_ageing": "300s"}})"),
                    "uplink.mac_ageing", "unknown key (line 1)"));
}

TEST_CASE("a bare number names the key, the value and an example") {
    const Faults faults = faults_of(R"({"uplink": {"device": "0000:03:00.0", "rate": 10}})");
    REQUIRE(faults.size() == 1);
    CHECK(faults[0].path == "uplink.rate");
    CHECK(faults[0].found == "10");
    CHECK(faults[0].allowed.find("such as 10Gbit") != std::string::npos);
    CHECK(faults[0].message.find("needs a unit") != std::string::npos);
}

TEST_CASE("the reservations of all vNICs must fit the uplink's capacity unless overcommit is allowed") {
    const std::string vnics = R"("uplink": {"device": "net_tap0"}, "vnics": [
        {"name": "a", "socket": "/a", "mac": "52:54:00:00:00:01", "reservation": "5Gbit"},
        {"name": "b", "socket": "/b", "mac": "52:54:00:00:00:02", "reservation": "4.1Gbit"}])";
    const Faults faults = faults_of("{" + vnics + "}");
    REQUIRE(faults.size() == 1);
    CHECK(faults[0].path == "vnics");
    CHECK(faults[0].found == "reservations of 9.1Gbit");
    CHECK(faults[0].allowed.find("at most 9Gbit, the uplink's 10Gbit less 10% headroom") !=
          std::string::npos);
    CHECK(valid("{\"overcommit\": true, " + vnics + "}").vnics.size() == 2);
}

TEST_CASE("a configuration is read from a file, which gives the machine's name when it has none") {
    const std::string path = "weir_config_test.jsonc";
    std::ofstream(path) << "{\"poll\": \"adaptive\"}";
    auto loaded = load_config(path);
    std::remove(path.c_str());
    REQUIRE(std::holds_alternative<SwitchConfig>(loaded));
    CHECK_FALSE(std::get<SwitchConfig>(loaded).host.empty());
    CHECK(std::get<SwitchConfig>(loaded).poll == PollMode::kAdaptive);
}

TEST_CASE("a file that is missing or is a directory is one fault that names it") {
    for (const char* path : {"/nonexistent/switch.jsonc", "/proc"}) {
        auto loaded = load_config(path);
        REQUIRE(std::holds_alternative<Faults>(loaded));
        const Faults& faults = std::get<Faults>(loaded);
        REQUIRE(faults.size() == 1);
        CHECK(faults[0].path == path);
        CHECK(faults[0].message == "the configuration could not be read");
    }
}

TEST_CASE("a MAC address is kept in wire order and printed as it was written") {
    const auto mac = MacAddress::parse("52:54:00:aB:00:0f");
    REQUIRE(mac);
    CHECK(mac->bits == 0x0F00AB005452);
    CHECK(mac->to_string() == "52:54:00:ab:00:0f");
    for (const char* text :
         {"", "52:54:00:00:00", "52:54:00:00:00:0g", "52-54-00-00-00-01", "52:54:00:00:00:011"})
        CHECK_FALSE(MacAddress::parse(text));
}

TEST_CASE("a device has one identity however it is written") {
    CHECK(device_identity("03:00.0") == "0000:03:00.0");
    CHECK(device_identity("0000:AF:00.1,arg=1") == "0000:af:00.1");
    CHECK(device_identity("net_tap0,iface=x") == "net_tap0");
}
