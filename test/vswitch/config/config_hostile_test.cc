// config_hostile_test.cc - a table of wrong configurations: each fault must name the place and the reason
// with it.
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "test/vswitch/config/config_support.h"

using namespace weir;
using namespace weir::test;

namespace {

struct Case {
    std::string_view text;      // members of the object
    std::string_view path;      // where the fault must be
    std::string_view fragment;  // a part of its line
};

// In the root object.
constexpr Case kRoot[] = {
    {R"("host": 5)", "host", "wrong type"},
    {R"("host": "")", "host", "cannot be a name"},
    {R"("host": "two words")", "host", "cannot be a name"},
    {R"("host": "a-name-of-thirty-two-characters-x")", "host", "1 to 31"},
    {R"("host": "bell\u0007")", "host", "control character"},
    {R"("host": "null\u0000")", "host", "control character"},
    {R"("host": "`reboot`")", "host", "cannot be a name"},
    {R"("eal": "--no-pci")", "eal", "a list of strings"},
    {R"("eal": [1])", "eal", "a list of strings"},
    {R"("eal": [""])", "eal", "not empty"},
    {R"("eal": ["a\u0000b"])", "eal", "null byte"},
    {R"("eal": ["--lcores=0@1"])", "eal", "set by the switch itself"},
    {R"("eal": ["-l1"])", "eal", "set by the switch itself"},
    {R"("workers": 1)", "workers", "a list of 1 to 16 cores"},
    {R"("workers": [])", "workers", "a list of 1 to 16 cores"},
    {R"("workers": [-1])", "workers", "not a list of cores"},
    {R"("workers": [1.0])", "workers", "not a list of cores"},
    {R"("workers": [1024])", "workers", "0 to 1023"},
    {R"("workers": [18446744073709551617])", "workers", "not a list of cores"},
    {R"("workers": [1, 2, 1])", "workers", "two workers share a core"},
    {R"("workers": [0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16])", "workers", "1 to 16"},
    {R"("agent_core": 1)", "agent_core", "a core without a worker"},
    {R"("agent_core": "0")", "agent_core", "wrong type"},
    {R"("isolation": "yes")", "isolation", "true or false"},
    {R"("isolation": 1)", "isolation", "true or false"},
    {R"("isolation": null)", "isolation", "found null"},
    {R"("accounting": "L2")", "accounting", "wire, l2"},
    {R"("accounting": "wired")", "accounting", "did you mean \"wire\"?"},
    {R"("control_socket": "weir.sock")", "control_socket", "an absolute path"},
    {R"("control_socket": "/run/weir/")", "control_socket", "cannot be a socket"},
    {R"("control_socket": "")", "control_socket", "cannot be a socket"},
    {R"("poll": "adaptiv")", "poll", "did you mean \"adaptive\"?"},
    {R"("poll_sleep_max": "100")", "poll_sleep_max", "bare number"},
    {R"("poll_sleep_max": "9us")", "poll_sleep_max", "10us to 1ms"},
    {R"("poll_sleep_max": "2ms")", "poll_sleep_max", "out of range"},
    {R"("poll_sleep_max": "-1us")", "poll_sleep_max", "does not begin with a plain number"},
    {R"("mac_aging": 300)", "mac_aging", "bare number"},
    {R"("mac_aging": "25h")", "mac_aging", "out of range"},
    {R"("flood_limit": "20Kpps")", "flood_limit", "unknown unit"},
    {R"("flood_limit": "1Mbit")", "flood_limit", "unknown unit"},
    {R"("buffers": 1)", "buffers", "8192 to 8388608"},
    {R"("buffers": 1e6)", "buffers", "wrong type"},
    {R"("buffers": 99999999999999999999999)", "buffers", "whole number"},
    {R"("feedback": true)", "feedback", "must be an object"},
    {R"("feedback": {"enabled": "yes"})", "feedback.enabled", "true or false"},
    {R"("feedback": {}, "isolation": false)", "feedback.enabled", "no feedback"},
    {R"("feedback": {"period": "20us"})", "feedback.period", "50us to 10ms"},
    {R"("feedback": {"law": "cubic"})", "feedback.law", "log, linear"},
    {R"("feedback": {"rate_min": "1kbit"})", "feedback.rate_min", "1Mbit to 1Gbit"},
    {R"("feedback": {"key_file": "feedback.key"})", "feedback.key_file", "an absolute path"},
    {R"("cycle_costs": "cycles.json")", "cycle_costs", "an absolute path"},
    {R"("feedback": {"key": "00"})", "feedback.key", "unknown key"},
    {R"("controller": {"connect": "tcp://10.0.0.1:5555"})", "controller.server_key", "both ends must prove"},
    {R"("controller": {"connect": "tcp://10.0.0.1:5555"})", "controller.secret_key_file",
     "both ends must prove"},
    {R"("controller": {})", "controller.connect", "this is needed"},
    {R"("controller": {"connect": "tcp://10.0.0.1"})", "controller.connect", "no address"},
    {R"("controller": {"connect": "tcp://fd00::1:5555"})", "controller.connect", "no address"},
    {R"("controller": {"connect": "tcp://*:5555"})", "controller.connect", "no address"},
    {R"("controller": {"connect": "ipc:///a", "server_key": "x"})", "controller.server_key",
     "no CURVE public key"},
    {R"("controller": {"connect": "ipc:///a", "on_unknown": 1})", "controller.on_unknown", "wrong type"},
    {R"("controller": {"connect": "ipc:///a", "on_refused": "drop"})", "controller.on_refused",
     "hold, best_effort"},
    {R"("appliances": {})", "appliances", "wrong type"},
    {R"("appliances": [5])", "appliances[0]", "must be an object"},
    {R"("vnic": [])", "vnic", "did you mean \"vnics\"?"},
    {R"("Workers": [1])", "Workers", "did you mean \"workers\"?"},
    {R"("": 1)", "", "unknown key"},
    {R"("poll": "busy", "poll": "busy")", "poll", "duplicate key"},
    {R"("vnics": {})", "vnics", "wrong type"},
    {R"("vnics": [5])", "vnics[0]", "must be an object"},
    {R"("vnics": [[]])", "vnics[0]", "must be an object"},
    {R"("uplink": null)", "uplink", "must be an object"},
    {R"("uplink": "0000:03:00.0")", "uplink", "must be an object"},
    {R"("uplink": {})", "uplink.device", "the uplink needs a device"},
};

// In the uplink, beside a good device.
constexpr Case kUplink[] = {
    {R"("rate": "10gbit")", "uplink.rate", "case sensitive"},
    {R"("rate": "500Gbit")", "uplink.rate", "1Mbit to 400Gbit"},
    {R"("rate": "0bit")", "uplink.rate", "out of range"},
    {R"("rate": "99999999999999999999Gbit")", "uplink.rate", "too large"},
    {R"("rate": "NaNbit")", "uplink.rate", "plain number"},
    {R"("rate": ["10Gbit"])", "uplink.rate", "found a list"},
    {R"("headroom": 0.1)", "uplink.headroom", "bare number"},
    {R"("headroom": "51%")", "uplink.headroom", "0% to 50%"},
    {R"("scheduler": "fifo")", "uplink.scheduler", "allowed: wrr, fulfillment, rls"},
    {R"("flow_offload": true)", "uplink.flow_offload", "auto, off"},
    {R"("mtu": 67)", "uplink.mtu", "68 to 9600"},
    {R"("mtu": 9601)", "uplink.mtu", "68 to 9600"},
    {R"("descriptors": 1000)", "uplink.descriptors", "power of two"},
    {R"("best_effort_dscp": 64)", "uplink.best_effort_dscp", "0 to 63"},
    {R"("best_effort_pcp": "1")", "uplink.best_effort_pcp", "wrong type"},
    {R"("descriptor": 1024)", "uplink.descriptor", "did you mean \"descriptors\"?"},
};

// In a vNIC that is otherwise good: name a, socket /a, MAC 52:54:00:00:00:01.
constexpr Case kVnic[] = {
    {R"("device": "net_tap1")", "vnics[0].device", "a vNIC has one port"},
    {R"("mode": "listen")", "vnics[0].mode", "client, server"},
    {R"("vlan": 4095)", "vnics[0].vlan", "0 to 4094"},
    {R"("vlan": "10")", "vnics[0].vlan", "wrong type"},
    {R"("vlan": -1)", "vnics[0].vlan", "out of range"},
    {R"("tenant": "A/B")", "vnics[0].tenant", "cannot be a name"},
    {R"("reservation": "2Gbit", "limit": "1Gbit")", "vnics[0].reservation", "at most the limit, 1Gbit"},
    {R"("reservation": 0)", "vnics[0].reservation", "bare number"},
    {R"("reservation": "10Gbit")", "vnics", "cannot keep these promises"},
    {R"("reservation_pps": "1Gbit")", "vnics[0].reservation_pps", "unknown unit"},
    {R"("reservation_pps": 1000)", "vnics[0].reservation_pps", "bare number"},
    {R"("reservation_pps": "1.1Gpps")", "vnics[0].reservation_pps", "0pps to 1Gpps"},
    {R"("reservation_pps": "20kpps", "limit_pps": "10kpps")", "vnics[0].reservation_pps",
     "at most limit_pps, 10kpps"},
    {R"("reservation_pps": "15Mpps")", "vnics", "cannot keep these promises"},
    {R"("limit": "1kbit")", "vnics[0].limit", "64kbit to 400Gbit"},
    {R"("limit": false)", "vnics[0].limit", "wrong type"},
    {R"("limit_pps": "1Gbit")", "vnics[0].limit_pps", "unknown unit"},
    {R"("limit_pps": "9pps")", "vnics[0].limit_pps", "10pps to 1Gpps"},
    {R"("shares": 0)", "vnics[0].shares", "1 to 10000"},
    {R"("shares": 10001)", "vnics[0].shares", "1 to 10000"},
    {R"("shares": "100")", "vnics[0].shares", "wrong type"},
    {R"("cycle_shares": -9223372036854775808)", "vnics[0].cycle_shares", "out of range"},
    {R"("queues": 0)", "vnics[0].queues", "1 to 16"},
    {R"("queues": 17)", "vnics[0].queues", "1 to 16"},
    {R"("mtu": 0)", "vnics[0].mtu", "68 to 9600"},
    {R"("buffers": 63)", "vnics[0].buffers", "64 to 1048576"},
    {R"("worker": 1)", "vnics[0].worker", "0 to 0"},
    {R"("tso": true, "checksum": false)", "vnics[0].tso", "needs checksum"},
    {R"("guarantee_kind": "best")", "vnics[0].guarantee_kind",
     "allowed: strict, dynamic, fairness, best_effort"},
    {R"("guarantee_kind": "strict")", "vnics[0].reservation", "a strict guarantee is a rate"},
    {R"("guarantee_kind": "dynamic", "time": "10s")", "vnics[0].size",
     "a dynamic guarantee is a size within a time"},
    {R"("guarantee_kind": "dynamic", "size": "1GB", "time": "1ms")", "vnics[0].time", "1s to 2592000s"},
    {R"("guarantee_kind": "dynamic", "size": "1kB", "time": "1h")", "vnics[0].size", "that is 2bit"},
    {R"("size": "1GB")", "vnics[0].size", "it belongs to a dynamic guarantee"},
    {R"("spread": true)", "vnics[0].spread", "\"queues\": 2 to 16, or no \"spread\""},
    {R"("spread": true, "queues": 2)", "vnics[0].spread", "two or more \"workers\""},
    {R"("spread": 2, "queues": 2)", "vnics[0].spread", "true or false"},
    {R"("isolation": false)", "vnics[0].isolation", "unknown key"},
    {R"("mac": "52:54:00:00:00:02")", "vnics[0].mac", "duplicate key"},
    {R"("addresses": "10.0.0.1")", "vnics[0].addresses", "a list of 1 to 16 addresses and networks"},
    {R"("addresses": [])", "vnics[0].addresses", "the guest could send nothing"},
    {R"("addresses": [5])", "vnics[0].addresses[0]", "no address and no network"},
    {R"("addresses": ["10.0.0.1", "10.0.0"])", "vnics[0].addresses[1]", "found \"10.0.0\""},
    {R"("addresses": ["10.0.0.1/24"])", "vnics[0].addresses[0]", "no address and no network"},
    {R"("addresses": ["fe80::1%eth0"])", "vnics[0].addresses[0]", "no address and no network"},
    {R"("addresses": ["0.0.0.0/0"])", "vnics[0].addresses[0]", "no host has these addresses"},
    {R"("addresses": ["64.0.0.0/2"])", "vnics[0].addresses[0]", "no host has these addresses"},
    {R"("addresses": ["::/0"])", "vnics[0].addresses[0]", "no host has these addresses"},
    {R"("addresses": ["224.0.0.1"])", "vnics[0].addresses[0]", "no host has these addresses"},
    {R"("addresses": ["::ffff:10.0.0.1"])", "vnics[0].addresses[0]", "no host has these addresses"},
    {R"("addresses": ["10.0.0.1","10.0.0.2","10.0.0.3","10.0.0.4","10.0.0.5","10.0.0.6","10.0.0.7","10.0.0.8","10.0.0.9","10.0.1.0","10.0.1.1","10.0.1.2","10.0.1.3","10.0.1.4","10.0.1.5","10.0.1.6","10.0.1.7"])",
     "vnics[0].addresses", "there are too many"},
    {R"("addresses": ["10.0.0.1"], "anti_spoofing": false)", "vnics[0].addresses",
     "allowed: null, or \"anti_spoofing\": true"},
    {R"("dhcp": "client", "anti_spoofing": false)", "vnics[0].dhcp", "bound to the guest's MAC address"},
    {R"("router": true, "anti_spoofing": false)", "vnics[0].router", "bound to the guest's MAC address"},
    {R"("dhcp": "clients")", "vnics[0].dhcp", "did you mean \"client\"?"},
    {R"("dhcp": true)", "vnics[0].dhcp", "client, server"},
    {R"("router": "yes")", "vnics[0].router", "true or false"},
    {R"("appliances": "disk")", "vnics[0].appliances", "a list of at most 8 parts"},
    {R"("appliances": ["disk"])", "vnics[0].appliances[0]", "must be an object"},
    {R"("appliances": [{"name": "disk"}])", "vnics[0].appliances[0].name", "an entry of \"appliances\""},
};

// Whole vNICs.
constexpr Case kVnics[] = {
    {R"({"socket": "/a", "mac": "52:54:00:00:00:01"})", "vnics[0].name", "every vNIC needs a name"},
    {R"({"name": "-a", "socket": "/a", "mac": "52:54:00:00:00:01"})", "vnics[0].name", "cannot be a name"},
    {R"({"name": "../etc", "socket": "/a", "mac": "52:54:00:00:00:01"})", "vnics[0].name",
     "cannot be a name"},
    {R"({"name": "a", "mac": "52:54:00:00:00:01"})", "vnics[0].socket", "the vNIC has no port"},
    {R"({"name": "a", "socket": "/a"})", "vnics[0].mac", "anti-spoofing needs the guest's address"},
    {R"({"name": "a", "socket": "/a", "mac": "00:00:00:00:00:00"})", "vnics[0].mac", "zero address"},
    {R"({"name": "a", "socket": "/a", "mac": "01:00:5e:00:00:01"})", "vnics[0].mac", "multicast"},
    {R"({"name": "a", "socket": "/a", "mac": "ff:ff:ff:ff:ff:ff"})", "vnics[0].mac", "broadcast"},
    {R"({"name": "a", "socket": "/a", "mac": "5254.0000.0001"})", "vnics[0].mac", "not a MAC address"},
    {R"({"name": "a", "socket": "a.sock", "mac": "52:54:00:00:00:01"})", "vnics[0].socket", "absolute"},
    {R"({"name": "a", "device": "eth0", "anti_spoofing": false})", "vnics[0].device",
     "cannot be a DPDK device"},
    {R"({"name": "a", "device": "0000:03:00.8", "anti_spoofing": false})", "vnics[0].device", "PCI address"},
    {R"({"name": "a", "device": "net_tap1", "mode": "server", "anti_spoofing": false})", "vnics[0].mode",
     "vhost-user"},
    {R"({"name": "a", "device": "net_tap1", "packed": true, "anti_spoofing": false})", "vnics[0].packed",
     "vhost-user"},
    {R"({"name": "a", "device": "net_tap0,x=1", "anti_spoofing": false})", "vnics[0].device",
     "it is the uplink's"},
    {R"({"name": "a", "socket": "/run/weir/admin/switch.sock", "anti_spoofing": false})", "vnics[0].socket",
     "control_socket"},
    {R"({"name": "a", "socket": "/a", "anti_spoofing": false}, {"name": "a", "socket": "/b", "anti_spoofing": false})",
     "vnics[1].name", "has it already"},
    {R"({"name": "a", "socket": "/a", "anti_spoofing": false}, {"name": "b", "socket": "/a", "anti_spoofing": false})",
     "vnics[1].socket", "vNIC \"a\" has it already"},
    {R"({"name": "a", "socket": "/a", "mac": "52:54:00:00:00:01"}, {"name": "b", "socket": "/b", "mac": "52:54:00:00:00:01"})",
     "vnics[1].mac", "in VLAN 0"},
    {R"({"name": "a", "device": "03:00.1", "anti_spoofing": false}, {"name": "b", "device": "0000:03:00.1", "anti_spoofing": false})",
     "vnics[1].device", "has it already"},
};

// Two vNICs with addresses of one VLAN.
constexpr Case kOverlaps[] = {
    {R"(["10.0.0.1"], ["10.0.0.1"])", "vnics[1].addresses[0]", "vNIC \"a\" of VLAN 7 has 10.0.0.1"},
    {R"(["10.0.0.0/24"], ["10.1.0.0/16", "10.0.0.9"])", "vnics[1].addresses[1]", "has 10.0.0.0/24"},
    {R"(["10.0.0.9", "fd00::1"], ["fd00::/64"])", "vnics[1].addresses[0]",
     "addresses that no other vNIC of the VLAN may use"},
    {R"(["fe80::/10"], ["fe80::1"])", "vnics[1].addresses[0]", "has fe80::/10"},
};

void require_fault(const std::string& text, const Case& wrong) {
    const Faults faults = faults_of(text);
    INFO(text << "\nwanted " << wrong.path << ": " << wrong.fragment << "\n" << lines_of(faults));
    CHECK(has_fault(faults, wrong.path, wrong.fragment));
    for (const Fault& fault : faults) {
        CHECK_FALSE(fault.allowed.empty());
        CHECK(fault.message.find("(line ") != std::string::npos);
    }
}

}  // namespace

TEST_CASE("at least sixty wrong configurations are in the tables") {
    STATIC_REQUIRE(std::size(kRoot) + std::size(kUplink) + std::size(kVnic) + std::size(kVnics) >= 60);
}

TEST_CASE("wrong keys of the switch are named") {
    for (const Case& wrong : kRoot)
        require_fault("{" + std::string(wrong.text) + "}", wrong);
}

TEST_CASE("wrong keys of the uplink are named") {
    for (const Case& wrong : kUplink)
        require_fault(R"({"uplink": {"device": "net_tap0", )" + std::string(wrong.text) + "}}", wrong);
}

TEST_CASE("wrong keys of a vNIC are named") {
    for (const Case& wrong : kVnic)
        require_fault(
            R"({"uplink": {"device": "net_tap0"}, "vnics": [{"name": "a", "socket": "/a", "mac": "52:54:00:00:00:01", )" +
                std::string(wrong.text) + "}]}",
            wrong);
}

TEST_CASE("wrong and conflicting vNICs are named") {
    for (const Case& wrong : kVnics)
        require_fault(R"({"uplink": {"device": "net_tap0"}, "vnics": [)" + std::string(wrong.text) + "]}",
                      wrong);
}

TEST_CASE("addresses that two vNICs of one VLAN may use are named, those of two VLANs are not") {
    const auto config = [](std::string_view lists, int second_vlan) {
        const std::size_t comma = lists.find("], [") + 1;
        const auto vnic = [](const char* name, int n, int vlan, std::string_view addresses) {
            const std::string number = std::to_string(n);
            return std::string(R"({"name": ")") + name + R"(", "socket": "/)" + number +
                   R"(", "mac": "52:54:00:00:00:0)" + number + R"(", "vlan": )" + std::to_string(vlan) +
                   R"(, "addresses": )" + std::string(addresses) + "}";
        };
        return "{\"vnics\": [" + vnic("a", 1, 7, lists.substr(0, comma)) + ", " +
               vnic("b", 2, second_vlan, lists.substr(comma + 1)) + "]}";
    };
    for (const Case& wrong : kOverlaps) {
        require_fault(config(wrong.text, 7), wrong);
        CHECK(faults_of(config(wrong.text, 8)).empty());
    }
}

TEST_CASE("a reservation without an uplink is refused, not ignored") {
    require_fault(
        R"({"vnics": [{"name": "a", "socket": "/a", "mac": "52:54:00:00:00:01", "reservation": "1Gbit"}]})",
        {"", "vnics[0].reservation", "part of the uplink, and there is none"});
}

TEST_CASE("a socket path has at most 107 bytes") {
    const std::string longest = "/" + std::string(106, 'a');
    CHECK(faults_of("{\"control_socket\": \"" + longest + "\"}").empty());
    CHECK(has_fault(faults_of("{\"control_socket\": \"" + longest + "b\"}"), "control_socket",
                    "the path has 108 bytes"));
}

TEST_CASE("a root that is no object is one fault") {
    for (const std::string text : {"[]", "5", "\"x\"", "null", "true"}) {
        const Faults faults = faults_of(text);
        REQUIRE(faults.size() == 1);
        CHECK(faults[0].message == "this must be an object in { } (line 1)");
    }
}

TEST_CASE("more vNICs than the table holds are refused before they are read") {
    std::string list;
    for (int i = 0; i < 1'025; ++i)
        list += std::string(i == 0 ? "" : ",") + "{}";
    const Faults faults = faults_of("{\"vnics\": [" + list + "]}");
    REQUIRE(faults.size() == 1);
    CHECK(faults[0].message == "there are too many (line 1)");
}

TEST_CASE("a file of unknown keys gives a bounded number of faults") {
    std::string text = "{\"k\": 0";
    for (int i = 0; i < 50'000; ++i)
        text += ",\"key" + std::to_string(i) + "\": 1";
    const Faults faults = faults_of(text + "}");
    CHECK(faults.size() == 1'000);
}

TEST_CASE("a valid configuration cut anywhere is refused and never crashes") {
    const std::string text =
        R"({"host": "h1", /* c */ "uplink": {"device": "net_tap0", "rate": "10Gbit"}, "vnics": [{"name": "a", "socket": "/a", "mac": "52:54:00:00:00:01", "shares": 7}]})";
    REQUIRE(faults_of(text).empty());
    for (std::size_t length = 0; length < text.size(); ++length)
        CHECK(faults_of(std::string_view(text).substr(0, length)).size() == 1);
}

TEST_CASE("a valid configuration with any byte replaced never crashes") {
    const std::string text =
        R"({"host": "h1", "uplink": {"device": "net_tap0", "headroom": "10%"}, "vnics": [{"name": "a", "socket": "/a", "mac": "52:54:00:00:00:01"}]})";
    for (std::size_t at = 0; at < text.size(); ++at) {
        for (const char by : {'\0', '"', '{', '}', '\\', '9', '\x80', '\xFF', '/', '-'}) {
            std::string changed = text;
            changed[at] = by;
            for (const Fault& fault : faults_of(changed))
                CHECK_FALSE(fault.to_line().empty());
        }
    }
}
