// config_tunnel_test.cc - tunnels and vNICs that use them: read, refused, written back; keys and tables in
// files.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/ip_address.h"
#include "test/vswitch/config/config_support.h"
#include "vswitch/config/config_files.h"

using namespace weir;
using namespace weir::test;
using nlohmann::json;

namespace {

json tunnel(const json& more = json::object()) {
    json object{{"name", "t"},
                {"local", "192.0.2.1"},
                {"remote", "192.0.2.2"},
                {"remote_mac", "02:00:00:00:00:02"},
                {"spi_out", 4096},
                {"spi_in", 8192},
                {"key", std::string(64, 'a')},
                {"networks", {"10.0.2.0/24"}}};
    object.update(more);
    for (const auto& [key, value] : more.items())
        if (value.is_null())
            object.erase(key);
    return object;
}

json whole(const std::vector<json>& tunnels, const json& vnic = json::object()) {
    json first{{"name", "a"}, {"socket", "/a"}, {"mac", "52:54:00:00:00:01"}};
    first.update(vnic);
    return {{"uplink", {{"device", "net_tap0"}}}, {"tunnels", tunnels}, {"vnics", {first}}};
}

// The one fault of a configuration with these tunnels.
void refuse_tunnels(const std::vector<json>& tunnels, const std::string& path, const std::string& fragment) {
    const Faults faults = faults_of(whole(tunnels).dump());
    INFO(json(tunnels).dump() << "\nwanted " << path << ": " << fragment << "\n" << lines_of(faults));
    CHECK(faults.size() == 1);
    CHECK(has_fault(faults, path, fragment));
}

}  // namespace

TEST_CASE("a tunnel is read whole, with its defaults") {
    const SwitchConfig config = valid(whole({tunnel()}).dump());
    const TunnelConfig& read = config.tunnels.at(0);
    CHECK(read.name == "t");
    CHECK(read.local == "192.0.2.1");
    CHECK(read.remote_mac.to_string() == "02:00:00:00:00:02");
    CHECK_FALSE(read.local_mac);
    CHECK(read.spi_out == 4096);
    CHECK(read.algorithm == EspAlgorithm::kAes128Gcm);
    CHECK(read.device == "auto");
    CHECK(read.cost == "encryption_aes_128_gcm");
    CHECK(read.rekey == 3600 * kNanosPerSec);
    CHECK(read.networks == std::vector<std::string>{"10.0.2.0/24"});
    const TunnelConfig other = valid(whole({tunnel({{"algorithm", "aes-256-cbc-sha256"},
                                                    {"device", "crypto_aesni_mb"},
                                                    {"rekey", "10s"}})})
                                         .dump())
                                   .tunnels.at(0);
    CHECK(other.algorithm == EspAlgorithm::kAes256CbcSha256);
    CHECK(other.cost == "encryption_aes_256_cbc_sha256");
    CHECK(other.rekey == 10 * kNanosPerSec);
}

TEST_CASE("what a tunnel cannot be is refused, with its path and what would be right") {
    for (const char* key : {"name", "local", "remote", "remote_mac", "spi_out", "spi_in", "networks"})
        refuse_tunnels({tunnel({{key, nullptr}})}, std::string("tunnels[0].") + key, "this is needed");
    refuse_tunnels({tunnel({{"key", nullptr}})}, "tunnels[0].key", "both ends need the same secret");
    refuse_tunnels({tunnel({{"key", "abc"}})}, "tunnels[0].key", "this is no key of 32 bytes");
    refuse_tunnels({tunnel({{"key", std::string(64, 'g')}})}, "tunnels[0].key", "this is no key of 32 bytes");
    refuse_tunnels({tunnel({{"key_file", "/k"}})}, "tunnels[0].key_file", "there is a key too");
    refuse_tunnels({tunnel({{"remote", "fd00::1"}})}, "tunnels[0].remote", "one end is IPv4, the other IPv6");
    refuse_tunnels({tunnel({{"remote", "192.0.2.1"}})}, "tunnels[0].remote", "this is the same end");
    refuse_tunnels({tunnel({{"local", "224.0.0.1"}})}, "tunnels[0].local", "no host has this address");
    refuse_tunnels({tunnel({{"remote_mac", "03:00:00:00:00:02"}})}, "tunnels[0].remote_mac", "multicast");
    refuse_tunnels({tunnel({{"spi_out", 4097}})}, "tunnels[0].spi_out", "the low 12 bits");
    refuse_tunnels({tunnel({{"spi_out", 8192}})}, "tunnels[0].spi_out", "each direction has keys of its own");
    refuse_tunnels({tunnel({{"algorithm", "des"}})}, "tunnels[0].algorithm", "");
    refuse_tunnels({tunnel({{"device", "crypto_qat"}})}, "tunnels[0].device", "");
    refuse_tunnels({tunnel({{"device", "crypto_aesni_gcm"}, {"algorithm", "aes-128-cbc-sha256"}})},
                   "tunnels[0].device", "this device does AES-GCM alone");
    refuse_tunnels({tunnel({{"networks", json::array()}})}, "tunnels[0].networks",
                   "this is no list of networks");
    refuse_tunnels({tunnel({{"networks", {"10.0.2.1/24"}}})}, "tunnels[0].networks", "is not a network");
    refuse_tunnels({tunnel({{"networks", {"10.0.2.0/33"}}})}, "tunnels[0].networks", "is not a network");
    refuse_tunnels({tunnel({{"networks", std::vector<std::string>(257, "10.0.0.0/8")}})},
                   "tunnels[0].networks", "more than 256");
    refuse_tunnels({tunnel({{"rekey", "10ms"}})}, "tunnels[0].rekey", "");
    refuse_tunnels({json(3)}, "tunnels[0]", "");
    refuse_tunnels({tunnel(), tunnel({{"spi_in", 12288}, {"spi_out", 16384}, {"networks", {"10.0.3.0/24"}}})},
                   "tunnels[1].name", "has it already");
    refuse_tunnels({tunnel(), tunnel({{"name", "u"}, {"spi_out", 16384}, {"networks", {"10.0.3.0/24"}}})},
                   "tunnels[1].spi_in", "has it already");
    refuse_tunnels({tunnel(), tunnel({{"name", "u"}, {"spi_in", 12288}, {"spi_out", 16384}})},
                   "tunnels[1].networks", "is behind tunnel \"t\" already");
    const Faults nowhere = faults_of(json{{"tunnels", json::array({tunnel()})}}.dump());
    CHECK(has_fault(nowhere, "tunnels", "tunnels lead over the wire"));
    json small = whole({tunnel()});
    small["uplink"]["mtu"] = 100;
    CHECK(has_fault(faults_of(small.dump()), "tunnels[0].algorithm", "no packet would fit"));
}

TEST_CASE("a vNIC that encrypts is offered the MTU that fits, and no larger one") {
    const auto mtu = [](const std::vector<json>& tunnels, const json& more) {
        json vnic{{"encrypt", true}};
        vnic.update(more);
        return valid(whole(tunnels, vnic).dump()).vnics.at(0).mtu;
    };
    CHECK(mtu({tunnel()}, json::object()) == 1432);
    CHECK(mtu({tunnel()}, {{"vlan", 5}}) == 1428);
    CHECK(mtu({tunnel()}, {{"anti_spoofing", false}}) == 1424);  // and two tags of the guest's
    CHECK(mtu({tunnel()}, {{"anti_spoofing", false}, {"vlan", 5}}) == 1420);
    CHECK(mtu({tunnel()}, {{"anti_spoofing", false}, {"mtu", 1432}}) == 1432);
    CHECK(mtu({tunnel()}, {{"mtu", 1400}}) == 1400);
    CHECK(mtu({tunnel({{"algorithm", "aes-128-cbc-sha256"}})}, json::object()) == 1424);
    CHECK(mtu({tunnel({{"local", "fd00::1"}, {"remote", "fd00::2"}})}, json::object()) == 1412);
    json jumbo = whole({tunnel()}, {{"encrypt", true}});
    jumbo["uplink"]["mtu"] = 9000;
    CHECK(valid(jumbo.dump()).vnics.at(0).mtu == kEspFrameMax - 14);
    CHECK(has_fault(faults_of(whole({tunnel()}, {{"encrypt", true}, {"mtu", 1433}}).dump()), "vnics[0].mtu",
                    "more does not fit"));
    CHECK(has_fault(faults_of(whole({}, {{"encrypt", true}}).dump()), "vnics[0].encrypt",
                    "there is no tunnel"));
    CHECK(has_fault(faults_of(whole({tunnel()}, {{"encrypt_limit", "5Mtokens"}}).dump()),
                    "vnics[0].encrypt_limit", "nothing of this vNIC is encrypted"));
}

TEST_CASE("encryption is written back, and its limit may change while the vNIC runs") {
    const SwitchConfig config =
        valid(whole({tunnel()}, {{"encrypt", true}, {"encrypt_limit", "5Mtokens"}}).dump());
    const VnicConfig& vnic = config.vnics.at(0);
    const json written = vnic_to_json(vnic);
    const auto again = parse_vnic(written, "vnic", config, {});
    REQUIRE(std::holds_alternative<VnicConfig>(again));
    CHECK(vnic_to_json(std::get<VnicConfig>(again)) == written);
    const auto changed = change_vnic(vnic, {{"encrypt_limit", nullptr}}, "change", config, {});
    REQUIRE(std::holds_alternative<VnicConfig>(changed));
    CHECK_FALSE(std::get<VnicConfig>(changed).encrypt_limit);
    CHECK(std::holds_alternative<Faults>(change_vnic(vnic, {{"encrypt", false}}, "change", config, {})));
}

TEST_CASE("keys come from digits or a file, tables by name or file, and faults name their place") {
    const std::string file =
        std::filesystem::temp_directory_path() / ("weir_key_" + std::to_string(::getpid()));
    std::ofstream(file) << std::string(62, '0') << "1F\n";
    const auto load = [](const json& more) {
        return load_tunnels(valid(whole({tunnel(more)}).dump()), kShipped);
    };
    const auto parts = load({{"key", nullptr}, {"key_file", file}});
    REQUIRE(std::holds_alternative<std::vector<TunnelParts>>(parts));
    CHECK(std::get<std::vector<TunnelParts>>(parts).at(0).key[31] == 0x1F);
    CHECK(std::get<std::vector<TunnelParts>>(parts).at(0).cost->tokens(Operation::kBytes, 1024, 0) == 456);
    CHECK(std::get<std::vector<TunnelParts>>(load(json::object())).at(0).key[0] == 0xAA);
    std::ofstream(file) << "no digits";
    const auto refused = load({{"key", nullptr}, {"key_file", file}, {"cost", "no_such_table"}});
    REQUIRE(std::holds_alternative<Faults>(refused));
    CHECK(has_fault(std::get<Faults>(refused), "tunnels[0].key_file", "this file holds no key"));
    CHECK(has_fault(std::get<Faults>(refused), "tunnels[0].cost", "could not be read"));
    std::filesystem::remove(file);
    CHECK(has_fault(std::get<Faults>(load({{"key", nullptr}, {"key_file", file}})), "tunnels[0].key_file",
                    "the key could not be read"));
}

TEST_CASE("networks are strict, and contain the addresses of their prefix") {
    for (const char* bad : {"", "/", "10.0.0.0/", "10.0.0.0/08", "10.0.0.0/-1", "10.0.0.1/31", "10.0.0.0/33",
                            "::/129", "fd00::1/64", "10.0.0.0/8 ", "x/8"})
        CHECK_FALSE(IpNetwork::parse(bad));
    const auto holds = [](const char* network, const char* address) {
        return IpNetwork::parse(network)->contains(*IpAddress::parse(address));
    };
    CHECK(holds("10.0.0.0/8", "10.255.0.1"));
    CHECK_FALSE(holds("10.0.0.0/8", "11.0.0.1"));
    CHECK(holds("10.1.2.3", "10.1.2.3"));
    CHECK_FALSE(holds("10.1.2.3", "10.1.2.2"));
    CHECK(holds("0.0.0.0/0", "1.2.3.4"));
    CHECK_FALSE(holds("0.0.0.0/0", "fd00::1"));
    CHECK(holds("fd00:0:0:2::/63", "fd00:0:0:3::9"));
    CHECK_FALSE(holds("fd00:0:0:2::/63", "fd00:0:0:4::9"));
}
