// plan_test.cc - a plan as text, complete or with keys missing.
#include "ctrl/cli/commands.h"
#include "test/support/catch.h"
#include "test/support/text.h"

using namespace weir::cli;
using nlohmann::json;
using weir::test::has;

namespace {

json canned_plan() {
    return json::parse(R"({"cluster": "weir", "hosts": 2, "admitted": false,
        "overcommit": {"allowed": true, "utilization": 0.15, "failure_max": 0.05},
        "tenants": [
            {"name": "A", "standing": "unchanged", "fits": true, "appliances": [],
             "vnics": [{"name": "a1", "host": "h1"}, {"name": "a2", "host": "h1"}, {"name": "a3", "host": "h2"}]},
            {"name": "B", "standing": "new", "fits": false, "why": "vNIC b1 of tenant B (6Gbit): too much",
             "vnics": [{"name": "b1", "host": null}], "appliances": []}],
        "gone": ["C"],
        "resources": [
            {"what": "the capacity of appliance disk", "unit": "tokens/s", "need": 500, "have": 1000, "ratio": 0.5,
             "over": false, "new": false, "vnics": 4, "admissible": true, "failure_probability": 0, "tenants": {"A": 500}},
            {"what": "the slots of host h1", "unit": "vnics", "need": 2, "have": 40, "ratio": 0.05, "over": false,
             "vnics": 2, "tenants": {"A": 2}},
            {"what": "the uplink of host h1", "unit": "bit/s", "need": 12000000000, "have": 10000000000, "ratio": 1.2,
             "over": true, "new": true, "vnics": 2, "admissible": false, "failure_probability": 0.084,
             "tenants": {"A": 6000000000, "B": 6000000000}}],
        "broken": [{"tenant": "A", "what": "the uplink of host h1", "unit": "bit/s", "guaranteed": 6000000000,
                    "possible": 5000000000, "new": true}]})");
}

}  // namespace

TEST_CASE("a plan shows which tenants fit, what is overloaded and whose guarantee would break", "[plan]") {
    const std::string text = plan_text(canned_plan(), {});
    CHECK(
        has(text,
            "over-commitment with failures at most 5% of the time when vNICs use 15% of their reservations"));
    CHECK(has(text, "h1 (2), h2"));
    CHECK(has(text, "vNIC b1 of tenant B (6Gbit): too much\n"));
    CHECK(has(text, "C (removed)"));
    CHECK(has(text, "B (new)"));
    CHECK_FALSE(has(text, "unchanged"));
    CHECK(has(text, "8.4%"));
    CHECK(text.find("the uplink of host h1") <
          text.find("the capacity of appliance disk"));  // the worst first
    CHECK_FALSE(has(text, "slots"));                     // there are enough
    CHECK(has(text, "6 Gbit/s"));
    CHECK(has(text, "5 Gbit/s"));
    CHECK(has(text, "the controller refuses this file\n"));
    CHECK_FALSE(has(text, "\x1b["));
    CHECK(has(plan_text(canned_plan(), {.interactive = true, .color = true}), "\x1b["));
}

TEST_CASE("a plan of another version ends nothing", "[plan]") {
    CHECK(has(plan_text(json::object(), {}), "refuses"));
    CHECK(
        has(plan_text(json::parse(R"({"tenants": [{}], "resources": [{}, {}], "broken": [{}], "gone": [3]})"),
                      {}),
            "cluster -"));
}
