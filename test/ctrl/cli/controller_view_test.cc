// controller_view_test.cc - the controller's status and audit trail as text.
#include "ctrl/cli/controller_view.h"

#include "ctrl/cli/status_view.h"
#include "test/support/catch.h"
#include "test/support/text.h"

using namespace weir::cli;
using nlohmann::json;
using weir::test::has;

namespace {

const json kStatus =
    json::parse(R"({"role": "controller", "version": "0.1.0", "cluster": "c1", "epoch": 1795257000,
    "interval": 42, "interval_ns": 1000000000, "flows": 7,
    "hosts": [{"name": "h1", "state": "connected", "proven": true, "version": "0.1.0", "heard_ms": 400, "vnics": 2,
               "flows": 7, "refused_vnics": ["x9: it is not in the cluster file"]},
              {"name": "h2", "state": "absent"}],
    "counters": {"messages": 100, "solves": 45, "early_solves": 3,
                 "refused": {"malformed": {"magic": 2, "short": 0}, "stale": 1, "foreign": 0}},
    "appliances": [{"name": "disk", "phase": "stable", "estimate": 6500, "allocate": 6400, "window": [6400, 6600]}],
    "sockets": {"denied": 5}, "refusals": [{"what": "refused: there is no host h9 in the cluster file", "times": 4}]})");

}  // namespace

TEST_CASE("the controller's status says who is there and what was refused") {
    REQUIRE(is_controller(kStatus));
    const std::string text = controller_text(kStatus, {});
    INFO(text);
    CHECK(has(text, "cluster c1  weir-ctrl 0.1.0  epoch 1795257000, interval 42 of 1 s"));
    CHECK(has(text, "flows 7, solved 45 times (3 between intervals), heard 100 messages"));
    CHECK(has(text, "h1    connected  shown      2      7  400 ms ago  0.1.0"));
    CHECK(has(text, "h2    absent     -          -      -           -  -"));
    CHECK(has(text, "disk       stable  6.5 ktokens/s  6.4 ktokens/s  6.4 ktokens/s and 6.6 ktokens/s"));
    CHECK(has(text, "refused: malformed magic 2, stale 1, connections without a known key 5"));
    CHECK(has(text, "refused: there is no host h9 in the cluster file (4x)"));
    CHECK(has(text, "now: vNIC x9: it is not in the cluster file (host h1)"));
}

TEST_CASE("a status of another version's controller is shown as far as it goes") {
    CHECK_FALSE(is_controller(json::object()));
    CHECK(has(controller_text({{"role", "controller"}, {"hosts", 3}}, {}), "refused: nothing"));
    CHECK(has(controller_text({{"role", "controller"}, {"hosts", {1, "x"}}}, {}), "cluster -"));
}

TEST_CASE("the audit trail is shown in order, with its times") {
    const std::string text = audit_text(
        {{"entries",
          {{{"time", 0}, {"kind", "start"}, {"text", "epoch 1"}}, {{"kind", "lost"}, {"text", "host h1"}}}}},
        {});
    INFO(text);
    CHECK(has(text, "1970-01-01 00:00:00Z  start  epoch 1"));
    CHECK(has(text, "lost   host h1"));
}

TEST_CASE("a switch says how its link to the controller is") {
    const json status{{"controller",
                       {{"state", "refused"},
                        {"refusal", "there is no host h9"},
                        {"cluster", "c1"},
                        {"epoch", 5},
                        {"flows", 0}}}};
    CHECK(has(status_text(status, {}),
              "controller refused, cluster c1, epoch 5, rates for 0 flows, refused: there is no"));
    CHECK_FALSE(has(status_text({{"controller", nullptr}}, {}), "controller"));
}
