// cluster_config_test.cc - reading the cluster file, and the path and message of each fault.
#include "ctrl/config/cluster_config.h"

#include "ctrl/placement/cluster_plan.h"
#include "ctrl/pools/pool_layout.h"
#include "test/support/catch.h"
#include "test/support/faults.h"
#include "test/support/places.h"

using namespace weir;

namespace {

ClusterConfig good(std::string_view text) {
    auto outcome = parse_cluster(text, placement_faults);
    const Faults* faults = std::get_if<Faults>(&outcome);
    INFO((faults == nullptr ? "" : test::lines_of(*faults)));
    REQUIRE(faults == nullptr);
    return std::get<ClusterConfig>(std::move(outcome));
}

Faults bad(std::string_view text) {
    auto outcome = parse_cluster(text, placement_faults);
    REQUIRE(std::holds_alternative<Faults>(outcome));
    return std::get<Faults>(std::move(outcome));
}

}  // namespace

TEST_CASE("the socket for reading is another one than that for changes") {
    CHECK(good("{}").control_read_socket.empty());
    CHECK(good(R"({"control_read_socket": "/run/weir/read/ctrl.sock"})").control_read_socket ==
          "/run/weir/read/ctrl.sock");
    CHECK(bad(R"({"control_read_socket": "/run/weir/admin/ctrl.sock"})")[0].path == "control_read_socket");
}

TEST_CASE("metrics are off without an address, and one that is none is a fault") {
    CHECK(good("{}").metrics.listen.empty());
    CHECK(good(R"({"metrics": {"listen": "[::1]:9418"}})").metrics.listen == "[::1]:9418");
    CHECK(bad(R"({"metrics": {"listen": "localhost:9418"}})")[0].path == "metrics.listen");
    CHECK(bad(R"({"metrics": {}})")[0].path == "metrics.listen");
}

TEST_CASE("the API listens beyond the machine only with TLS, and needs a file of tokens") {
    const auto with = [](const std::string& keys) { return R"({"api": {"listen": ")" + keys + "}}"; };
    CHECK(good("{}").api.listen.empty());
    for (const char* keys :
         {R"(127.0.0.1:9419", "token_file": "/t")", R"([::1]:9419", "token_file": "/t")",
          R"(0.0.0.0:9419", "token_file": "/t", "certificate_file": "/c", "key_file": "/k")"})
        CHECK(good(with(keys)).api.token_file == "/t");
    CHECK(bad(with(R"(127.0.0.1:9419")"))[0].path == "api.token_file");
    CHECK(bad(with(R"(0.0.0.0:9419", "token_file": "/t")"))[0].path == "api.listen");
    CHECK(bad(with(R"([::]:9419", "token_file": "/t")"))[0].path == "api.listen");
    CHECK(bad(with(R"(127.0.0.1:9419", "token_file": "/t", "key_file": "/k")"))[0].path ==
          "api.certificate_file");
    CHECK(bad(R"({"api": {"token_file": "/t"}})")[0].path == "api.listen");
}

TEST_CASE("prices count only as a whole, and none is negative") {
    const auto fault_at = [](const std::string& prices) {
        auto outcome = parse_cluster(R"({"prices": )" + prices + "}");
        const Faults* faults = std::get_if<Faults>(&outcome);
        std::string paths;
        for (const Fault& fault : faults == nullptr ? Faults{} : *faults)
            paths += fault.path + ' ';
        return paths;
    };
    CHECK(fault_at(R"({"p0": -0.01, "link": "1Gbit"})").find("prices.p0 ") != std::string::npos);
    CHECK(fault_at(R"({"p0": "1", "link": "1Gbit"})").find("prices.p0 ") != std::string::npos);
    CHECK(fault_at(R"({"link": "1Gbit"})").find("prices.p0 ") != std::string::npos);
    CHECK(fault_at(R"({"p0": 1})").find("prices.link ") != std::string::npos);
    CHECK(fault_at(R"({"p0": 1, "link": "1Gbit", "beta": "101%"})").find("prices.beta ") !=
          std::string::npos);
    for (const char* period : {"999ms", "3601s", "1h 1s"})
        CHECK(fault_at(R"({"p0": 1, "link": "1Gbit", "period": ")" + std::string(period) + "\"}")
                  .find("prices.period ") != std::string::npos);
    CHECK(fault_at(R"({"p0": 1, "link": "1Gbit", "period": "1h"})").find("prices") == std::string::npos);
    CHECK(fault_at(R"({"p0": 1, "link": "1Gbit"})").find("prices") == std::string::npos);
}

TEST_CASE("the documented example is read with its values") {
    auto outcome = load_cluster(test::source_path("configs/cluster.jsonc"), placement_faults);
    const Faults* faults = std::get_if<Faults>(&outcome);
    INFO((faults == nullptr ? "" : test::lines_of(*faults)));
    REQUIRE(faults == nullptr);
    const auto& config = std::get<ClusterConfig>(outcome);
    CHECK(config.interval == kNanosPerSec);
    CHECK(config.listen.size() == 2);
    CHECK(config.headroom == Approx(0.03));
    CHECK(config.keep_silent == 60 * kNanosPerSec);
    CHECK(config.global == alloc::find_mechanism("hdrf"));
    REQUIRE(config.hosts.size() == 2);
    CHECK(config.hosts[0].rack == "r1");
    CHECK(config.hosts[0].vms_max == 40);
    REQUIRE(config.appliances.size() == 3);
    CHECK(config.appliances[0].host == "h2");
    CHECK(config.appliances[0].capacity_max == 10'000);
    CHECK(config.appliances[1].link_bps == 10'000'000'000);
    REQUIRE(config.tenants.size() == 2);
    const TenantConfig& tenant = config.tenants[0];
    CHECK(tenant.vnics.at(0).limit_bps == 8'000'000'000);
    CHECK_FALSE(tenant.vnics.at(1).limit_bps);
    CHECK(tenant.vnics.at(0).mac == "52:54:00:00:00:01");
    CHECK(tenant.vnics.at(0).vlan == 0);
    CHECK_FALSE(tenant.vnics.at(0).guarantee);
    CHECK(tenant.vnics.at(1).guarantee == GuaranteeKind::kDynamic);
    CHECK(tenant.vnics.at(1).reservation_bps == 1'000'000'000);  // 75 GB in 600 s
    CHECK(tenant.vnics.at(1).mac.empty());
    CHECK_FALSE(tenant.vnics.at(1).vlan);
    CHECK(tenant.appliances.at(0).reservation_tokens == 2'000);
    CHECK(config.tenants[1].sharing_rule == alloc::SharingRule::kFixed);
    CHECK(config.tenants[1].local == alloc::find_mechanism("max_min"));
}

TEST_CASE("an empty file is a cluster with the defaults") {
    const ClusterConfig config = good("{}");
    CHECK(config.listen == std::vector<std::string>{"ipc:///run/weir/admin/ctrl.ipc"});
    CHECK(config.hosts.empty());
}

TEST_CASE("all faults are listed, with their paths and in their order") {
    const Faults faults = bad(R"({"name": "a b", "interval": "10ms", "listen": ["udp://x"], "headroom": "60%",
        "spam": 1, "pools": {},
        "topology": {"hosts": [{"uplink": 10, "key": "short", "rack": "r9"}]},
        "appliances": [{"name": "disk", "capacity_min": "2ktokens", "capacity_max": "1ktokens"}],
        "tenants": [{"name": "A", "local": "hdrf", "vnics": [{"name": "v", "reservation": "2Gbit", "limit": "1Gbit",
            "host": "h7"}], "appliances": [{"name": "dosk"}]}]})");
    CHECK(test::has_fault(faults, "name", "cannot be a name"));
    CHECK(test::has_fault(faults, "interval", "100ms to 60s"));
    CHECK(test::has_fault(faults, "listen", "udp://x"));
    CHECK(test::has_fault(faults, "headroom", "out of range"));
    CHECK(test::has_fault(faults, "spam", "unknown key"));
    CHECK(test::has_fault(faults, "pools", "wrong type"));
    CHECK(test::has_fault(faults, "topology.hosts[0].name", "needed"));
    CHECK(test::has_fault(faults, "topology.hosts[0].uplink", "needs a unit"));
    CHECK(test::has_fault(faults, "topology.hosts[0].key", "no CURVE public key"));
    CHECK(test::has_fault(faults, "topology.hosts[0].rack", "no such entry"));
    CHECK(test::has_fault(faults, "appliances[0].capacity_max", "window is empty"));
    CHECK(test::has_fault(faults, "tenants[0].local", "unknown word"));
    CHECK(test::has_fault(faults, "tenants[0].vnics[0].limit", "break the guarantee"));
    CHECK(test::has_fault(faults, "tenants[0].vnics[0].host", "no such entry"));
    CHECK(test::has_fault(faults, "tenants[0].appliances[0].name", "no such entry"));
    CHECK(faults.front().path == "name");
}

TEST_CASE("each name is unique") {
    const Faults faults = bad(R"({"topology": {"hosts": [{"name": "h"}, {"name": "h"}]},
        "appliances": [{"name": "d", "capacity_min": "1tokens", "capacity_max": "1tokens"}],
        "tenants": [{"name": "A", "vnics": [{"name": "v"}], "appliances": [{"name": "d"}, {"name": "d"}]},
                    {"name": "A", "vnics": [{"name": "v"}, {"name": "d"}]}]})");
    CHECK(test::has_fault(faults, "topology.hosts[1].name", "each once"));
    CHECK(test::has_fault(faults, "tenants[1].name", "each once"));
    CHECK(test::has_fault(faults, "tenants[0].appliances[1].name", "each once"));
    CHECK(test::has_fault(faults, "tenants[1].vnics[0].name", "another vNIC"));
    CHECK(test::has_fault(faults, "tenants[1].vnics[1].name", "another vNIC"));
}

TEST_CASE("a vNIC's guarantee and address are those that a switch's file may have") {
    const Faults faults = bad(R"({"topology": {"hosts": [{"name": "h"}]}, "tenants": [{"name": "A", "vnics": [
        {"name": "a", "guarantee_kind": "fairness", "reservation": "1Gbit"},
        {"name": "b", "guarantee_kind": "dynamic", "size": "75GB", "time": "600s", "limit": "999Mbit"},
        {"name": "c", "mac": "01:00:5e:00:00:01", "vlan": 4095},
        {"name": "d", "mac": "52:54", "size": "1GB"},
        {"name": "e", "mac": "52:54:00:00:00:0A", "vlan": 7}, {"name": "f", "mac": "52:54:00:00:00:0a", "vlan": 7},
        {"name": "g", "mac": "52:54:00:00:00:0a", "vlan": 8}]}]})");
    CHECK(test::has_fault(faults, "tenants[0].vnics[0].reservation", "has no rate"));
    CHECK(test::has_fault(faults, "tenants[0].vnics[1].limit", "break the guarantee"));
    CHECK(test::has_fault(faults, "tenants[0].vnics[2].mac", "no host has this address"));
    CHECK(test::has_fault(faults, "tenants[0].vnics[2].vlan", "out of range"));
    CHECK(test::has_fault(faults, "tenants[0].vnics[3].mac", "not a MAC address"));
    CHECK(test::has_fault(faults, "tenants[0].vnics[3].size", "belongs to a dynamic guarantee"));
    CHECK(test::has_fault(faults, "tenants[0].vnics[5].mac", "vNIC \"e\" has it already"));
    CHECK(faults.size() == 7);
}

TEST_CASE("over a network every host needs a key") {
    const Faults faults =
        bad(R"({"listen": ["tcp://0.0.0.0:5555"], "topology": {"hosts": [{"name": "h"}]}})");
    CHECK(test::has_fault(faults, "listen", "secret_key_file"));
    CHECK(test::has_fault(faults, "topology.hosts[0].key", "every host needs one"));
    for (const char* endpoint : {"tcp://:5555", "tcp://a:0", "tcp://a:65536", "tcp://a", "ipc://x",
                                 "ipc:///a/", "tcp://::1:5555", "tcp://ctrl.example.com:5555"})
        CHECK(test::has_fault(bad(std::string(R"({"listen": [")") + endpoint + "\"]}"), "listen",
                              "no address to listen on"));
}

TEST_CASE("reservations above certain capacities are refused without overcommit") {
    const std::string text = R"("headroom": "10%", "topology": {"hosts": [{"name": "h", "uplink": "1Gbit"}]},
        "appliances": [{"name": "d", "capacity_min": "10tokens", "capacity_max": "20tokens"}],
        "tenants": [{"name": "A", "vnics": [{"name": "v", "host": "h", "reservation": "500Mbit"}],
                     "appliances": [{"name": "d", "reservation": "6tokens"}]},
                    {"name": "B", "vnics": [{"name": "w", "host": "h", "reservation": "401Mbit"}],
                     "appliances": [{"name": "d", "reservation": "5tokens"}]}]})";
    const Faults faults = bad("{" + text);
    CHECK(faults.size() == 2);
    CHECK(test::has_fault(faults, "topology.hosts[0].uplink", "901Mbit"));
    CHECK(test::has_fault(faults, "appliances[0].capacity_min", "11tokens"));
    CHECK(good("{\"overcommit\": true, " + text).overcommit);
}

TEST_CASE("hostile texts are faults, not crashes") {
    for (const char* text : {"", "[]", "null", "1e300", "{\"tenants\": 3}", "{\"tenants\": [3, null]}",
                             "{\"topology\": []}", "{\"global\": {\"weights\": 1e300}}", "{\"listen\": [1]}",
                             "{\"interval\": -1}", "{\"name\": \"a\", \"name\": \"b\"}"})
        CHECK_FALSE(bad(text).empty());
}

namespace {

Faults bad_pools(const std::string& pools) {
    return bad(R"({"appliances": [{"name": "disk", "capacity_min": "1ktokens", "capacity_max": "2ktokens"},
                                  {"name": "tape", "capacity_min": "1ktokens", "capacity_max": "2ktokens"}],
        "tenants": [{"name": "A", "vnics": [{"name": "v"}, {"name": "w"}],
                     "appliances": [{"name": "disk"}, {"name": "tape", "reservation": "5tokens"}]},
                    {"name": "B", "vnics": [{"name": "x"}]}], "pools": )" +
               pools + "}");
}

}  // namespace

TEST_CASE("pools: trees of any depth, reservations added up where none is given") {
    const ClusterConfig config = good(
        R"({"appliances": [{"name": "disk", "capacity_min": "1ktokens", "capacity_max": "2ktokens"}],
        "tenants": [{"name": "A", "vnics": [{"name": "v"}, {"name": "w"}], "appliances": [{"name": "disk"}]}],
        "pools": [{"name": "inner", "parent": "outer", "vnics": [{"name": "v", "reservation": "300tokens"}]},
                  {"name": "outer", "appliance": "disk", "limit": "900tokens", "shares": 200,
                   "vnics": [{"name": "w", "reservation": "100tokens", "limit": null, "shares": 7}]}]})");
    CHECK(pool_reservations(config.pools) == std::vector<std::uint64_t>{300, 400});
    const PoolLayout layout(config.pools, "disk", 1000);
    const pools::PoolTree& tree = layout.tree();
    REQUIRE(tree.size() == 5);
    const pools::NodeIndex inner = *layout.find("inner", false);
    const pools::NodeIndex outer = *layout.find("outer", false);
    CHECK(tree.parent(inner) == outer);
    CHECK(tree.parent(*layout.find("v", true)) == inner);
    CHECK(tree.parent(*layout.find("w", true)) == outer);
    CHECK(tree.controls(outer).reservation == 400);
    CHECK(tree.controls(outer).limit == 900);
    CHECK(tree.controls(outer).shares == 200);
    CHECK(tree.controls(*layout.find("w", true)).shares == 7);
    CHECK(layout.find("disk", false) == pools::kRoot);
    CHECK_FALSE(layout.find("disk", true));
    CHECK(parts_in_pools(config.pools, "disk").at("v").reservation == 300);
}

TEST_CASE(
    "pools: reservations above the parent's, no shares, circles and unknown names are refused by their "
    "paths") {
    Faults faults = bad_pools(R"([
        {"name": "a", "appliance": "disk", "reservation": "500tokens",
         "vnics": [{"name": "v", "reservation": "400tokens"}, {"name": "v"}]},
        {"name": "b", "parent": "a", "reservation": "200tokens", "shares": 0},
        {"name": "c", "parent": "d"}, {"name": "d", "parent": "c"}, {"name": "e", "parent": "e"},
        {"name": "f", "parent": "none"}, {"name": "g"},
        {"name": "h", "parent": "a", "appliance": "tape"}, {"name": "h", "appliance": "spool"},
        {"name": "tape", "appliance": "tape", "vnics": [{"name": "x"}, {"name": "y"}, {"name": "w", "shares": -1}]}])");
    CHECK(test::has_fault(faults, "pools[0].reservation", "600tokens"));
    CHECK(test::has_fault(faults, "pools[0].vnics[1].name", "another pool already"));
    CHECK(test::has_fault(faults, "pools[1].shares", "1 to 10000"));
    CHECK(test::has_fault(faults, "pools[2].parent", "circle"));
    CHECK(test::has_fault(faults, "pools[3].parent", "circle"));
    CHECK(test::has_fault(faults, "pools[4].parent", "circle"));
    CHECK(test::has_fault(faults, "pools[5].parent", "no such entry"));
    CHECK(test::has_fault(faults, "pools[6].appliance", "a pool divides an appliance"));
    CHECK(test::has_fault(faults, "pools[7].appliance", "its parent's"));
    CHECK(test::has_fault(faults, "pools[8].name", "each once"));
    CHECK(test::has_fault(faults, "pools[8].appliance", "no such entry"));
    CHECK(test::has_fault(faults, "pools[9].name", "no appliance"));
    CHECK(test::has_fault(faults, "pools[9].vnics[0].name", "tenant B does not have it"));
    CHECK(test::has_fault(faults, "pools[9].vnics[1].name", "there is none"));
    CHECK(test::has_fault(faults, "pools[9].vnics[2].shares", "1 to 10000"));
    CHECK(test::has_fault(faults, "tenants[0].appliances[1].reservation", "pool of"));
    faults =
        bad_pools(R"([{"name": "a", "appliance": "disk", "reservation": "1100tokens", "limit": "1tokens"}])");
    CHECK(test::has_fault(faults, "pools[0].limit", "break the guarantee"));
    CHECK(test::has_fault(
        bad(R"({"appliances": [{"name": "d", "capacity_min": "1tokens", "capacity_max": "2tokens",
                                 "latency": "20ms"}]})"),
        "appliances[0].latency", "pools"));
    CHECK(test::has_fault(faults, "appliances[0].capacity_min", "1.1ktokens"));
}

TEST_CASE("pools: a change that breaks a reservation is refused, and changes nothing") {
    std::vector<PoolConfig> pools(2);
    pools[0] = {.name = "a", .appliance = "disk", .reservation_tokens = 600, .limit_tokens = {}};
    pools[1] = {.name = "b", .parent = "a", .reservation_tokens = 200, .limit_tokens = {}};
    PoolLayout layout(pools, "disk", 1000);
    const pools::NodeIndex a = *layout.find("a", false);
    CHECK(test::has_fault(layout.set(a, {1001, pools::kNoLimit, 1}), "reservation", "1ktokens"));
    CHECK(test::has_fault(layout.set(a, {100, pools::kNoLimit, 1}), "reservation", "200tokens"));
    CHECK(test::has_fault(layout.set(a, {600, 599, 1}), "limit", "600tokens"));
    CHECK(layout.tree().controls(a).reservation == 600);
    CHECK(layout.set(a, {900, 900, 5}).empty());
    CHECK(layout.tree().controls(a).limit == 900);
}

namespace {

/// A file of tenants with 20,000 vNICs each, and one with the others.
std::string file_of(std::uint32_t vnics) {
    std::string text = R"({"topology": {"hosts": [{"name": "h1"}]}, "tenants": [)";
    for (std::uint32_t i = 0; i < vnics; ++i) {
        if (i % 20'000 == 0)
            text +=
                std::string(i == 0 ? "" : "]}, ") + R"({"name": "t)" + std::to_string(i) + R"(", "vnics": [)";
        text += std::string(i % 20'000 == 0 ? "" : ",") + R"({"name": "v)" + std::to_string(i) +
                R"(", "reservation": "1Mbit", "weight": 10})";
    }
    return text + "]}]}";
}

}  // namespace

TEST_CASE("a file of 100,000 vNICs is read, and a larger one is refused with the number") {
    const auto read = parse_cluster(file_of(100'000));
    REQUIRE(std::holds_alternative<ClusterConfig>(read));
    CHECK(std::get<ClusterConfig>(read).tenants.size() == 5);
    const auto refused = parse_cluster(file_of(100'001));
    REQUIRE(std::holds_alternative<Faults>(refused));
    CHECK(test::has_fault(std::get<Faults>(refused), "tenants", "100001 vNICs"));
    CHECK(test::has_fault(std::get<Faults>(refused), "tenants", "at most 100000"));
}
