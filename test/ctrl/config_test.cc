// config_test.cc - the cluster file: what it says, and every fault with its path.
#include "ctrl/config.h"

#include "test/support/catch.h"
#include "test/support/faults.h"

using namespace weir;

namespace {

ClusterConfig good(std::string_view text) {
    auto outcome = parse_cluster(text);
    const Faults* faults = std::get_if<Faults>(&outcome);
    INFO((faults == nullptr ? "" : test::lines_of(*faults)));
    REQUIRE(faults == nullptr);
    return std::get<ClusterConfig>(std::move(outcome));
}

Faults bad(std::string_view text) {
    auto outcome = parse_cluster(text);
    REQUIRE(std::holds_alternative<Faults>(outcome));
    return std::get<Faults>(std::move(outcome));
}

}  // namespace

TEST_CASE("the documented example says what it says") {
    auto outcome = load_cluster(WEIR_SOURCE_ROOT "/configs/cluster.jsonc");
    const Faults* faults = std::get_if<Faults>(&outcome);
    INFO((faults == nullptr ? "" : test::lines_of(*faults)));
    REQUIRE(faults == nullptr);
    const auto& config = std::get<ClusterConfig>(outcome);
    CHECK(config.interval == kNanosPerSec);
    CHECK(config.listen.size() == 2);
    CHECK(config.headroom == Approx(0.03));
    CHECK(config.global == Mechanism::kHdrf);
    REQUIRE(config.hosts.size() == 2);
    CHECK(config.hosts[0].rack == "r1");
    CHECK(config.hosts[0].vms_max == 40);
    REQUIRE(config.appliances.size() == 2);
    CHECK(config.appliances[0].host == "h2");
    CHECK(config.appliances[0].capacity_max == 10'000);
    CHECK(config.appliances[1].link_bps == 10'000'000'000);
    REQUIRE(config.tenants.size() == 2);
    const TenantConfig& tenant = config.tenants[0];
    CHECK(tenant.vnics.at(0).limit_bps == 8'000'000'000);
    CHECK_FALSE(tenant.vnics.at(1).limit_bps);
    CHECK(tenant.appliances.at(0).reservation_tokens == 2'000);
    CHECK(config.tenants[1].guarantee == GuaranteeKind::kFixed);
    CHECK(config.tenants[1].local == Mechanism::kMaxMin);
}

TEST_CASE("an empty cluster is one") {
    const ClusterConfig config = good("{}");
    CHECK(config.listen == std::vector<std::string>{"ipc:///run/weir/ctrl.ipc"});
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
    CHECK(test::has_fault(faults, "pools", "not supported"));
    CHECK(test::has_fault(faults, "topology.hosts[0].name", "needed"));
    CHECK(test::has_fault(faults, "topology.hosts[0].uplink", "needs a unit"));
    CHECK(test::has_fault(faults, "topology.hosts[0].key", "no CURVE public key"));
    CHECK(test::has_fault(faults, "topology.hosts[0].rack", "no such entry"));
    CHECK(test::has_fault(faults, "appliances[0].capacity_max", "window is empty"));
    CHECK(test::has_fault(faults, "tenants[0].local", "unknown word"));
    CHECK(test::has_fault(faults, "tenants[0].vnics[0].limit", "breaks the promise"));
    CHECK(test::has_fault(faults, "tenants[0].vnics[0].host", "no such entry"));
    CHECK(test::has_fault(faults, "tenants[0].appliances[0].name", "no such entry"));
    CHECK(faults.front().path == "name");
}

TEST_CASE("one name for one thing") {
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

TEST_CASE("over a network everybody needs a key") {
    const Faults faults =
        bad(R"({"listen": ["tcp://0.0.0.0:5555"], "topology": {"hosts": [{"name": "h"}]}})");
    CHECK(test::has_fault(faults, "listen", "secret_key_file"));
    CHECK(test::has_fault(faults, "topology.hosts[0].key", "every host needs one"));
    for (const char* endpoint :
         {"tcp://:5555", "tcp://a:0", "tcp://a:65536", "tcp://a", "ipc://x", "ipc:///a/"})
        CHECK(test::has_fault(bad(std::string(R"({"listen": [")") + endpoint + "\"]}"), "listen",
                              "no address to listen on"));
}

TEST_CASE("promises beyond what is surely there are refused, or meant") {
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
