// pool_test.cc - pools as a tree, character by character.
#include <algorithm>

#include "ctrl/cli/commands.h"
#include "test/support/catch.h"

using namespace weir::cli;
using nlohmann::json;

namespace {

const json kShown =
    json::parse(R"({"interval": 7, "pools": [{"appliance": "disk", "capacity": 3000, "nodes": [
    {"name": "disk", "kind": "pool", "parent": null, "present": true, "static": {"reservation": 3000, "limit": null, "shares": 100},
     "dynamic": {"reservation": 3000, "limit": null, "shares": 100}, "demand": 2100, "entitlement": 3000, "delivered": 1400},
    {"name": "one", "kind": "pool", "parent": 0, "present": true, "static": {"reservation": 1500, "limit": 2000, "shares": 100},
     "dynamic": {"reservation": 3000, "limit": 2000, "shares": 66.7}, "demand": 2100, "entitlement": 2000, "delivered": 1400},
    {"name": "two", "kind": "pool", "parent": 0, "static": {"reservation": 0, "limit": null, "shares": 200}},
    {"name": "b", "kind": "vnic", "parent": 2, "present": false, "static": {"reservation": 0, "limit": null, "shares": 100},
     "dynamic": {"reservation": 0, "limit": 0, "shares": 0}, "demand": 0, "entitlement": 0, "delivered": 0},
    {"name": "a", "kind": "vnic", "parent": 1, "present": true, "host": "h1", "static": {"reservation": 0, "limit": null, "shares": 100},
     "dynamic": {"reservation": 3000, "limit": 2000, "shares": 66.7}, "demand": 2100, "entitlement": 2000, "delivered": 1400}]}]})");

}  // namespace

TEST_CASE("pools are shown as a tree, children below their parents wherever they stand") {
    const std::string text = pools_text(kShown, "", {});
    INFO(text);
    std::vector<std::string> order;
    for (const char* name : {"\ndisk ", "\n  one ", "\n    a ", "\n  two ", "\n    b "}) {
        REQUIRE(text.find(name) != std::string::npos);
        order.push_back(std::to_string(10'000 + text.find(name)));
    }
    CHECK(std::is_sorted(order.begin(), order.end()));
    CHECK(text.starts_with("disk: capacity 3 ktokens/s\n"));
    CHECK(text.find("absent") != std::string::npos);
    CHECK(text.find("none") != std::string::npos);
    CHECK(pools_text(kShown, "tape", {}) == "no pools of appliance tape; appliances with pools: disk\n");
    CHECK(pools_text(json::object(), "", {}) == "no pools: the cluster file has no \"pools\"\n");
    CHECK(pools_text(kShown, "disk", {}) == text);
}

TEST_CASE("a change of a pool that is not stored is stated not to last") {
    CHECK(not_lasting_text({{"lasting", true}}).empty());
    CHECK(not_lasting_text(json::object()).empty());  // an earlier controller's reply
    const std::string text = not_lasting_text({{"lasting", false}, {"fault", "database or disk is full"}});
    CHECK(text.starts_with("NOT LASTING: "));
    CHECK(text.find("(database or disk is full)") != std::string::npos);
}

TEST_CASE("answers of another shape are shown as far as they go") {
    const json malformed =
        json::parse(R"([null, [], {"pools": 5}, {"pools": [1, null, {}, {"nodes": {"a": 1}},
        {"nodes": [1]}, {"nodes": [{"parent": 0}, {"parent": 1}, {"parent": "x"}]}]}])");
    for (const json& each : malformed)
        CHECK_FALSE(pools_text(each, "", {}).empty());
}
