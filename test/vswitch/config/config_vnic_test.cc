// config_vnic_test.cc - one vNIC: read, checked against others, changed while it runs, and written back.
#include <nlohmann/json.hpp>

#include "test/vswitch/config/config_support.h"

using namespace weir;
using namespace weir::test;
using nlohmann::json;

namespace {

SwitchConfig base_config() {
    return valid(R"({"uplink": {"device": "net_tap0", "mtu": 9000}, "workers": [1, 2]})");
}

VnicConfig valid_vnic(const json& object, const std::vector<VnicConfig>& others = {}) {
    auto parsed = parse_vnic(object, "vnic", base_config(), others);
    if (const Faults* faults = std::get_if<Faults>(&parsed))
        FAIL(lines_of(*faults));
    return std::get<VnicConfig>(parsed);
}

Faults vnic_faults(const json& object, const std::vector<VnicConfig>& others = {}) {
    auto parsed = parse_vnic(object, "vnic", base_config(), others);
    const Faults* faults = std::get_if<Faults>(&parsed);
    return faults == nullptr ? Faults{} : *faults;
}

json small() {
    return {{"name", "vm1"}, {"socket", "/run/vm1"}, {"mac", "52:54:00:00:00:01"}};
}

json small_with(const json& more) {
    json object = small();
    object.update(more);
    return object;
}

Faults change_faults(const json& change) {
    const VnicConfig other =
        valid_vnic({{"name", "o"}, {"socket", "/o"}, {"mac", "52:54:00:00:00:0f"}, {"reservation", "6Gbit"}});
    const VnicConfig current =
        valid_vnic(small_with({{"reservation", "1Gbit"}, {"limit", "4Gbit"}}), {other});
    auto changed = change_vnic(current, change, "change", base_config(), {other});
    const Faults* faults = std::get_if<Faults>(&changed);
    return faults == nullptr ? Faults{} : *faults;
}

}  // namespace

TEST_CASE("a vNIC needs a name, a port and an address; the rest has defaults") {
    const VnicConfig vnic = valid_vnic(small());
    CHECK(vnic.name == "vm1");
    CHECK(vnic.socket == "/run/vm1");
    CHECK(vnic.mode == VhostMode::kClient);
    CHECK(vnic.anti_spoofing);
    CHECK(vnic.reservation_bps == 0);
    CHECK(vnic.reservation_pps == 0);
    CHECK_FALSE(vnic.limit_bps);
    CHECK_FALSE(vnic.limit_pps);
    CHECK(vnic.shares == 100);
    CHECK(vnic.cycle_shares == 100);
    CHECK(vnic.queues == 1);
    CHECK(vnic.mtu == 9'000);  // the uplink's
    CHECK(vnic.tso);
    CHECK(vnic.checksum);
    CHECK(vnic.mergeable);
    CHECK(vnic.packed);
    CHECK(vnic.isolation);
    CHECK_FALSE(vnic.worker);
}

TEST_CASE("a vNIC is written in the configuration's words and reads back as itself") {
    const json full = small_with({{"mode", "server"},
                                  {"tenant", "A"},
                                  {"vlan", 10},
                                  {"anti_spoofing", false},
                                  {"reservation", "2Gbit"},
                                  {"reservation_pps", "500kpps"},
                                  {"limit", "2.5Gbit"},
                                  {"limit_pps", "1.5Mpps"},
                                  {"shares", 200},
                                  {"cycle_shares", 50},
                                  {"queues", 4},
                                  {"spread", true},
                                  {"mtu", 1500},
                                  {"buffers", 512},
                                  {"receive_reservation", "1Gbit"},
                                  {"receive_limit", "3Gbit"},
                                  {"receive_shares", 7},
                                  {"tso", false},
                                  {"checksum", false},
                                  {"mergeable", false},
                                  {"packed", false},
                                  {"worker", 1}});
    CHECK(vnic_to_json(valid_vnic(full)) == full);
    const json guarded = small_with({{"addresses", {"10.0.0.1", "10.1.0.0/16", "fd00::1", "fd00:1::/64"}},
                                     {"dhcp", "client"},
                                     {"router", true}});
    const json written = vnic_to_json(valid_vnic(guarded));
    for (const char* key : {"addresses", "dhcp", "router"})
        CHECK(written[key] == guarded[key]);
    CHECK(vnic_to_json(valid_vnic(written)) == written);
    CHECK(vnic_to_json(valid_vnic(small_with({{"dhcp", "server"}, {"router", false}})))["router"] == false);
    const json device{{"name", "d"}, {"device", "net_tap1"}, {"anti_spoofing", false}};
    CHECK(vnic_to_json(valid_vnic(vnic_to_json(valid_vnic(device)))) == vnic_to_json(valid_vnic(device)));
}

TEST_CASE("spread: as many workers as there are, or queue pairs; refusals say what is allowed instead") {
    CHECK(valid_vnic(small_with({{"spread", true}, {"queues", 4}})).members == 2);
    CHECK(valid_vnic(small_with({{"spread", false}, {"queues", 4}})).members == 1);
    const auto refuses = [](const json& vnic, const char* allowed) {
        CHECK(has_fault(vnic_faults(vnic), "vnic.spread", std::string(allowed) + ", or no \"spread\""));
    };
    refuses(small_with({{"spread", true}}), "\"queues\": 2 to 16");
    refuses(small_with({{"spread", true}, {"queues", 2}, {"dhcp", "client"}}), "\"addresses\"");
    refuses({{"name", "d"}, {"device", "net_tap1"}, {"anti_spoofing", false}, {"spread", true}},
            "a \"socket\"");
    SwitchConfig alone = base_config();
    alone.workers.resize(1);
    CHECK(std::holds_alternative<Faults>(
        parse_vnic(small_with({{"spread", true}, {"queues", 2}}), "vnic", alone, {})));
}

TEST_CASE("what a vNIC receives: its words, and sums that the uplink cannot carry") {
    const VnicConfig plain = valid_vnic(small());
    CHECK_FALSE(plain.receive_reservation_bps);
    CHECK_FALSE(plain.receive_limit_bps);
    CHECK_FALSE(plain.receive_shares);
    CHECK(has_fault(vnic_faults(small_with({{"receive_reservation", "3Gbit"}, {"receive_limit", "2Gbit"}})),
                    "vnic.receive_reservation", "at most receive_limit, 2Gbit"));
    CHECK(has_fault(vnic_faults(small_with({{"receive_shares", 0}})), "vnic.receive_shares", "1 to 10000"));
    CHECK(has_fault(vnic_faults(small_with({{"receive_limit", "1kbit"}})), "vnic.receive_limit", "64kbit"));

    SwitchConfig base;
    base.uplink.device = "net_ring0";
    base.uplink.rate_bps = 10'000'000'000;
    base.workers = {1, 2};
    VnicConfig other;
    other.name = "other";
    other.socket = "/run/other.sock";
    other.receive_reservation_bps = 6'000'000'000;
    const json too_much = small_with({{"receive_reservation", "4Gbit"}});
    const auto added = parse_vnic(too_much, "vnic", base, {other});
    REQUIRE(std::holds_alternative<Faults>(added));
    CHECK(has_fault(std::get<Faults>(added), "vnic.receive_reservation",
                    "allowed: in all at most 9Gbit, the uplink's 10Gbit less 10% headroom"));
    CHECK(has_fault(std::get<Faults>(added), "vnic.receive_reservation",
                    "with the other vNICs that would be 10Gbit"));
    CHECK(std::holds_alternative<VnicConfig>(
        parse_vnic(small_with({{"receive_reservation", "3Gbit"}}), "vnic", base, {other})));
    base.overcommit = true;
    CHECK(std::holds_alternative<VnicConfig>(parse_vnic(too_much, "vnic", base, {other})));
    base.overcommit = false;
    const VnicConfig running = std::get<VnicConfig>(parse_vnic(small(), "vnic", base, {other}));
    const auto change = [&](const json& what) { return change_vnic(running, what, "change", base, {other}); };
    CHECK(has_fault(std::get<Faults>(change({{"receive_reservation", "4Gbit"}})),
                    "change.receive_reservation", "with the other vNICs that would be 10Gbit"));
    const auto changed =
        change({{"receive_reservation", "3Gbit"}, {"receive_limit", "5Gbit"}, {"receive_shares", 9}});
    REQUIRE(std::holds_alternative<VnicConfig>(changed));
    CHECK(std::get<VnicConfig>(changed).receive_reservation_bps == 3'000'000'000U);
    CHECK(std::get<VnicConfig>(changed).receive_shares == 9U);

    json whole{{"uplink", {{"device", "net_ring0"}, {"rate", "10Gbit"}}}, {"vnics", json::array()}};
    for (int i = 1; i <= 2; ++i)
        whole["vnics"].push_back({{"name", "vm" + std::to_string(i)},
                                  {"socket", "/run/vm" + std::to_string(i)},
                                  {"mac", "52:54:00:00:00:0" + std::to_string(i)},
                                  {"receive_reservation", "5Gbit"}});
    const auto parsed = parse_config(whole.dump());
    REQUIRE(std::holds_alternative<Faults>(parsed));
    CHECK(has_fault(std::get<Faults>(parsed), "vnics", "receive reservations of 10Gbit"));
}

TEST_CASE("kinds of guarantees, what goes with them, and that they read back as themselves") {
    const VnicConfig dynamic =
        valid_vnic(small_with({{"guarantee_kind", "dynamic"}, {"size", "10GB"}, {"time", "100s"}}));
    CHECK(dynamic.guarantee == GuaranteeKind::kDynamic);
    CHECK(dynamic.reservation_bps == 800'000'000);  // 10 GB in 100 s
    CHECK(vnic_to_json(valid_vnic(vnic_to_json(dynamic))) == vnic_to_json(dynamic));
    const VnicConfig best = valid_vnic(small_with({{"guarantee_kind", "best_effort"}}));
    CHECK(best.shares == 1);
    CHECK(vnic_to_json(valid_vnic(vnic_to_json(best))) == vnic_to_json(best));
    CHECK_FALSE(valid_vnic(small()).guarantee);

    const auto wrong = [](const json& more, const char* key, const char* fragment) {
        CHECK(has_fault(vnic_faults(small_with(more)), std::string("vnic.") + key, fragment));
    };
    wrong({{"guarantee_kind", "dynamic"}, {"size", "1GB"}, {"time", "9s"}, {"reservation", "1Gbit"}},
          "reservation", "its size and time give the rate");
    wrong({{"guarantee_kind", "dynamic"}, {"size", "10GB"}, {"time", "1s"}}, "size", "would be 80Gbit");
    wrong({{"guarantee_kind", "dynamic"}, {"size", "1GB"}, {"time", "1s"}, {"limit", "1Gbit"}}, "size",
          "at most the limit, 1Gbit");
    wrong({{"guarantee_kind", "fairness"}, {"reservation", "1Gbit"}}, "reservation",
          "this kind of guarantee has no rate");
    wrong({{"guarantee_kind", "best_effort"}, {"reservation_pps", "1kpps"}}, "reservation_pps",
          "allowed: 0pps, or \"guarantee_kind\": \"strict\"; this kind of guarantee has no rate");
    wrong({{"guarantee_kind", "best_effort"}, {"shares", 100}}, "shares",
          "all best-effort vNICs have one share each");
}

TEST_CASE("a running vNIC gets another kind of guarantee, and what belonged to the old one goes with it") {
    VnicConfig vnic = valid_vnic(small_with({{"reservation", "1Gbit"}, {"shares", 70}}));
    const auto change = [&vnic](const json& object) {
        auto changed = change_vnic(vnic, object, "change", base_config(), {});
        if (const Faults* faults = std::get_if<Faults>(&changed))
            FAIL(lines_of(*faults));
        vnic = std::get<VnicConfig>(changed);
    };
    change({{"guarantee_kind", "dynamic"}, {"size", "10GB"}, {"time", "100s"}});
    CHECK(vnic.reservation_bps == 800'000'000);
    CHECK(vnic.shares == 70);
    change({{"time", "200s"}});
    CHECK(vnic.reservation_bps == 400'000'000);
    change({{"guarantee_kind", "best_effort"}});
    CHECK(vnic.reservation_bps == 0);
    CHECK(vnic.time == 0);
    change({{"guarantee_kind", "strict"}, {"reservation", "2Gbit"}});
    CHECK(vnic.shares == 100);
    change({{"guarantee_kind", "fairness"}});
    CHECK(vnic.reservation_bps == 0);
}

TEST_CASE("a guest without checksum offload gets no segmentation, and asking for it is a fault") {
    CHECK_FALSE(valid_vnic(small_with({{"checksum", false}})).tso);
    CHECK(has_fault(vnic_faults(small_with({{"checksum", false}, {"tso", true}})), "vnic.tso",
                    "needs checksum"));
}

TEST_CASE("a vNIC must differ from the others in name, port, and address within its VLAN") {
    const std::vector<VnicConfig> others{valid_vnic(small())};
    const Faults same = vnic_faults(small(), others);
    CHECK(has_fault(same, "vnic.name", "vNIC \"vm1\" has it already"));
    CHECK(has_fault(same, "vnic.socket", "has it already"));
    CHECK(has_fault(same, "vnic.mac", "an address of its own in VLAN 0"));
    CHECK(vnic_faults({{"name", "vm2"}, {"socket", "/run/vm2"}, {"mac", "52:54:00:00:00:01"}, {"vlan", 7}},
                      others)
              .empty());
}

TEST_CASE("a vNIC may not take the uplink's device or the command socket") {
    CHECK(has_fault(vnic_faults({{"name", "a"}, {"device", "net_tap0,iface=y"}, {"anti_spoofing", false}}),
                    "vnic.device", "it is the uplink's"));
    CHECK(has_fault(vnic_faults(small_with({{"socket", "/run/weir/admin/switch.sock"}})), "vnic.socket",
                    "control_socket"));
}

TEST_CASE("the socket of a server has the group and the mode of the file, and QEMU's own has not") {
    const VnicConfig vnic =
        valid_vnic(small_with({{"mode", "server"}, {"socket_group", "weir-vm"}, {"socket_mode", "0660"}}));
    CHECK(vnic.socket_group == "weir-vm");
    CHECK(vnic.socket_mode == 0660U);
    CHECK_FALSE(valid_vnic(small()).socket_mode);
    for (const char* mode : {"", "66", "0888", "01777", "0660x", "rw"})
        CHECK(has_fault(vnic_faults(small_with({{"mode", "server"}, {"socket_mode", mode}})),
                        "vnic.socket_mode", "octal digits"));
    CHECK(has_fault(vnic_faults(small_with({{"mode", "server"}, {"socket_group", ""}})), "vnic.socket_group",
                    "name of a group"));
    CHECK(has_fault(vnic_faults(small_with({{"socket_group", "weir-vm"}})), "vnic.mode", "QEMU makes"));
    CHECK(has_fault(vnic_faults(small_with({{"mode", "client"}, {"socket_mode", "0660"}})), "vnic.mode",
                    "server"));
    CHECK(has_fault(vnic_faults({{"name", "a"}, {"device", "net_tap1"}, {"socket_mode", "0660"}}),
                    "vnic.socket_mode", "vhost-user sockets"));
}

TEST_CASE("a reservation that the others leave no room for is refused when a vNIC is added") {
    const std::vector<VnicConfig> others{valid_vnic(small_with({{"reservation", "8Gbit"}}))};
    json second{{"name", "b"}, {"socket", "/b"}, {"mac", "52:54:00:00:00:02"}, {"reservation", "1Gbit"}};
    CHECK(vnic_faults(second, others).empty());
    second["reservation"] = "1.1Gbit";
    CHECK(has_fault(vnic_faults(second, others), "vnic.reservation",
                    "with the other vNICs that would be 9.1Gbit"));
}

TEST_CASE(
    "promised packets count as 88 bytes each in the sum of the reservations, unless the reservation is "
    "more") {
    const json strict = small_with({{"guarantee_kind", "strict"}, {"reservation_pps", "10Mpps"}});
    const std::vector<VnicConfig> others{valid_vnic(strict)};  // 7.04 Gbit/s
    CHECK(uplink_reservation_bps(others[0], Accounting::kWire) == 7'040'000'000);
    CHECK(uplink_reservation_bps(others[0], Accounting::kL2) == 5'120'000'000);
    json second{{"name", "b"}, {"socket", "/b"}, {"mac", "52:54:00:00:00:02"}, {"reservation_pps", "2Mpps"}};
    CHECK(vnic_faults(second, others).empty());
    second["reservation_pps"] = "3Mpps";
    const Faults faults = vnic_faults(second, others);
    CHECK(has_fault(faults, "vnic.reservation_pps", "found 3Mpps"));
    CHECK(has_fault(faults, "vnic.reservation_pps", "in all at most 9Gbit"));
    CHECK(has_fault(faults, "vnic.reservation_pps",
                    "its packets of 64 bytes are 2.112Gbit; with the other vNICs that would be 9.152Gbit"));
    second["vlan"] = 10;
    second["reservation_pps"] = "2.7Mpps";  // 1.99 Gbit/s with tags
    CHECK(has_fault(vnic_faults(second, others), "vnic.reservation_pps", "are 1.9872Gbit"));
    second["reservation"] = "2.5Gbit";
    CHECK(has_fault(vnic_faults(second, others), "vnic.reservation", "that would be 9.54Gbit"));
}

TEST_CASE("promised packets are at most what the limits let pass") {
    const auto wrong = [](const json& more, const char* fragment) {
        CHECK(has_fault(vnic_faults(small_with(more)), "vnic.reservation_pps", fragment));
    };
    wrong({{"reservation_pps", "200kpps"}, {"limit_pps", "100kpps"}},
          "allowed: at most limit_pps, 100kpps; the reservation is above the limit");
    wrong({{"reservation_pps", "200kpps"}, {"limit", "70.4Mbit"}},
          "allowed: at most 100kpps, the limit of 70.4Mbit in packets of 64 bytes; the reservation is above");
    CHECK(vnic_faults(
              small_with({{"reservation_pps", "100kpps"}, {"limit_pps", "100kpps"}, {"limit", "70.4Mbit"}}))
              .empty());
    SwitchConfig local = base_config();
    local.uplink.device.clear();
    CHECK(std::holds_alternative<VnicConfig>(
        parse_vnic(small_with({{"reservation_pps", "1Mpps"}}), "vnic", local, {})));
}

TEST_CASE("a running vNIC changes in what was promised to it") {
    const VnicConfig current = valid_vnic(small_with({{"limit", "4Gbit"}, {"worker", 1}, {"queues", 2}}));
    auto changed = change_vnic(current,
                               {{"reservation", "1Gbit"},
                                {"reservation_pps", "300kpps"},
                                {"limit", nullptr},
                                {"limit_pps", "2Mpps"},
                                {"shares", 7},
                                {"cycle_shares", 8},
                                {"buffers", 64}},
                               "change", base_config(), {});
    REQUIRE(std::holds_alternative<VnicConfig>(changed));
    const VnicConfig& vnic = std::get<VnicConfig>(changed);
    CHECK(vnic.reservation_bps == 1'000'000'000);
    CHECK(vnic.reservation_pps == 300'000);
    CHECK_FALSE(vnic.limit_bps);
    CHECK(vnic.limit_pps == 2'000'000U);
    CHECK(vnic.shares == 7);
    CHECK(vnic.cycle_shares == 8);
    CHECK(vnic.buffers == 64);
    CHECK(vnic.worker == 1U);
    CHECK(vnic.queues == 2);
}

TEST_CASE("the addresses of a running vNIC change, null removes them, and its own are no overlap") {
    VnicConfig vnic = valid_vnic(small());
    const VnicConfig other = valid_vnic({{"name", "o"},
                                         {"socket", "/o"},
                                         {"mac", "52:54:00:00:00:0f"},
                                         {"addresses", {"10.0.0.9", "fd00:9::/64"}}});
    const auto change = [&](const json& object) {
        auto changed = change_vnic(vnic, object, "change", base_config(), {other});
        if (const VnicConfig* good = std::get_if<VnicConfig>(&changed))
            vnic = *good;
        const Faults* faults = std::get_if<Faults>(&changed);
        return faults == nullptr ? Faults{} : *faults;
    };
    CHECK(change({{"addresses", {"10.0.0.1"}}, {"dhcp", "client"}, {"router", true}}).empty());
    CHECK(vnic.addresses == std::vector{*IpNetwork::parse("10.0.0.1")});
    CHECK(vnic.dhcp == DhcpRole::kClient);
    CHECK(vnic.router == true);
    CHECK(change({{"addresses", {"10.0.0.0/29"}}}).empty());
    CHECK(has_fault(change({{"addresses", {"10.0.0.0/24"}}}), "change.addresses[0]",
                    "vNIC \"o\" of VLAN 0 has 10.0.0.9"));
    CHECK(change({{"addresses", nullptr}, {"dhcp", nullptr}, {"router", nullptr}}).empty());
    CHECK(vnic.addresses.empty());
    CHECK_FALSE(vnic.dhcp);
    CHECK_FALSE(vnic.router);
}

TEST_CASE("a worker is an index or auto, and may change while the vNIC runs") {
    CHECK_FALSE(valid_vnic(small_with({{"worker", "auto"}})).worker);
    CHECK(valid_vnic(small_with({{"worker", 1}})).worker == 1);
    CHECK(change_faults({{"worker", 1}}).empty());
    CHECK(has_fault(change_faults({{"worker", 9}}), "change.worker", "0 to 1"));
    CHECK(has_fault(change_faults({{"worker", "first"}}), "change.worker", "0 to 1, or \"auto\""));
}

TEST_CASE(
    "a change of a key that is wired or negotiated is refused, and the fault names the keys that can "
    "change") {
    for (const char* key : {"name", "socket", "mac", "queues", "mode", "tso"}) {
        const Faults faults = change_faults({{key, small().value(key, json(1))}});
        INFO(key << ": " << lines_of(faults));
        REQUIRE(faults.size() == 1);
        CHECK(faults[0].path == std::string("change.") + key);
    }
    CHECK(has_fault(
        change_faults({{"vlan", 3}}), "change.vlan",
        "allowed: guarantee_kind, reservation, reservation_pps, size, time, limit, limit_pps, shares, "
        "cycle_shares, buffers, receive_reservation, receive_limit, receive_shares, "
        "encrypt_reservation, encrypt_limit, addresses, dhcp, router, appliances, worker; this cannot "
        "change while the vNIC runs"));
}

TEST_CASE("a change is checked like a configuration") {
    CHECK(has_fault(change_faults({{"limt", "1Gbit"}}), "change.limt", "did you mean \"limit\"?"));
    CHECK(has_fault(change_faults({{"limit", 5}}), "change.limit", "bare number"));
    CHECK(
        has_fault(change_faults({{"limit", "500Mbit"}}), "change.reservation", "at most the limit, 500Mbit"));
    CHECK(has_fault(change_faults({{"reservation", "3.5Gbit"}}), "change.reservation", "would be 9.5Gbit"));
    CHECK(has_fault(change_faults({{"reservation_pps", "5Mpps"}}), "change.reservation_pps",
                    "with the other vNICs that would be 9.52Gbit"));
    CHECK(has_fault(change_faults({{"reservation_pps", "1Gbit"}}), "change.reservation_pps", "unknown unit"));
    CHECK(has_fault(change_faults({{"reservation", nullptr}}), "change.reservation", "wrong type"));
    CHECK(has_fault(change_faults(json::object()), "change", "nothing to change"));
    CHECK(has_fault(change_faults(json::array({1})), "change", "nothing to change"));
}

TEST_CASE("a vNIC that is no object is one fault") {
    for (const json& value : {json(), json(1), json("x"), json::array()}) {
        const Faults faults = vnic_faults(value);
        REQUIRE(faults.size() == 1);
        CHECK(faults[0].message == "this must be an object in { }");
    }
}
