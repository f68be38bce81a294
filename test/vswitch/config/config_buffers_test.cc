// config_buffers_test.cc - the pool of buffers has room for all quotas: at start, for a vNIC more, and for a
// larger quota.
#include <nlohmann/json.hpp>

#include "test/vswitch/config/config_support.h"

using namespace weir;
using namespace weir::test;
using nlohmann::json;

namespace {

// One worker and an uplink of 1,024 descriptors hold 2,048 + 2,048 + 1,024 + 4,096; a vNIC 1,920, and as a
// receiver 33 of the wire and 33 of other workers.
constexpr std::uint32_t kBeside = 9'216;
constexpr std::uint32_t kEachVnic = 1'986;

/// @param root     members of the root object
/// @param a_vnic   members of the first of two vNICs
std::string two_vnics(const std::string& root, const std::string& a_vnic = "") {
    return "{" + root + R"("uplink": {"device": "net_tap0"}, "vnics": [
        {"name": "a", "socket": "/a", "mac": "52:54:00:00:00:01")" +
           a_vnic + R"(}, {"name": "b", "socket": "/b", "mac": "52:54:00:00:00:02"}]})";
}

json third(const json& more = json::object()) {
    json object{{"name", "c"}, {"socket", "/c"}, {"mac", "52:54:00:00:00:03"}};
    object.update(more);
    return object;
}

}  // namespace

TEST_CASE("the pool is the sum of what all may hold, with room for eight vNICs more") {
    CHECK(pool_buffers(valid(two_vnics(""))) == kBeside + (2 + 8) * kEachVnic);
    CHECK(pool_buffers(valid(two_vnics("", R"(, "buffers": 4000)"))) == kBeside + 4'066 + 9 * kEachVnic);
    CHECK(pool_buffers(valid(two_vnics("", R"(, "buffers": 64)"))) == kBeside + 933 + 9 * kEachVnic);
    CHECK(pool_buffers(valid(two_vnics("\"workers\": [1, 2], "))) ==
          2 * (kBeside + 1'024 + 2'112 + 1'056) + 10 * kEachVnic);
    CHECK(pool_buffers(valid(two_vnics("\"buffers\": 20000, "))) == 20'000);
}

TEST_CASE("a pool that is smaller than what all may hold is a fault with the sum") {
    CHECK(valid(two_vnics("\"buffers\": 13188, ")).buffers == kBeside + 2 * kEachVnic);
    const Faults faults = faults_of(two_vnics("\"buffers\": 13187, "));
    REQUIRE(faults.size() == 1);
    CHECK(faults[0].path == "buffers");
    CHECK(faults[0].found == "13187");
    CHECK(faults[0].allowed == "at least 13188, or no key: the sum is the default");
    CHECK(has_fault(faults_of(two_vnics("\"buffers\": 13188, ", R"(, "buffers": 1921)")), "buffers",
                    "may hold 13189 together"));
}

TEST_CASE("a vNIC that is added, and a quota that is raised, must fit into the running switch's pool") {
    SwitchConfig base = valid(two_vnics("\"buffers\": 15294, "));
    const std::vector<VnicConfig> others = std::exchange(base.vnics, {});
    const auto parsed = parse_vnic(third(), "vnic", base, others);
    REQUIRE(std::holds_alternative<VnicConfig>(parsed));
    const auto refused = parse_vnic(third({{"buffers", 2'041}}), "vnic", base, others);
    REQUIRE(std::holds_alternative<Faults>(refused));
    CHECK(std::get<Faults>(refused).front().to_line() ==
          "vnic.buffers: found 2041; allowed: at most 2040, what is left; of the switch's 15294 buffers the "
          "others may hold 13188; start the switch with \"buffers\": 15295");
    const auto raise = [&](unsigned buffers) {
        return change_vnic(std::get<VnicConfig>(parsed), {{"buffers", buffers}}, "change", base, others);
    };
    CHECK(std::holds_alternative<VnicConfig>(raise(2'040)));
    const auto too_much = raise(2'041);
    REQUIRE(std::holds_alternative<Faults>(too_much));
    CHECK(has_fault(std::get<Faults>(too_much), "change.buffers", "at most 2040"));
}
