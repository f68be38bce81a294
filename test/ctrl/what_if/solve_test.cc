// solve_test.cc - faulty problems: every fault with its path, in the order of the text.
#include <nlohmann/json.hpp>
#include <string>

#include "ctrl/what_if/registry.h"
#include "test/support/catch.h"
#include "test/support/faults.h"

using namespace weir;
using test::has_fault;
using test::lines_of;

namespace {

Faults faults_of_text(const std::string& text) {
    const what_if::Solved solved = what_if::solve_text(text);
    const Faults* faults = std::get_if<Faults>(&solved);
    return faults == nullptr ? Faults{} : *faults;
}

// An `allocation` with these flows and resources.
std::string allocation(const std::string& resources, const std::string& flows) {
    return R"({"kind": "allocation", "mechanism": "drf", "resources": [)" + resources + R"(], "flows": [)" +
           flows + "]}";
}

}  // namespace

TEST_CASE("a text that is not a problem is refused with the place of the fault") {
    CHECK(lines_of(faults_of_text("{")).find("line 1, column ") == 0);
    CHECK(has_fault(faults_of_text("[]"), "", "an object"));
    CHECK(has_fault(faults_of_text("{}"), "kind", "this is needed"));
    CHECK(has_fault(faults_of_text(R"({"kind": 5})"), "kind", "allocation"));
    CHECK(has_fault(faults_of_text(R"({"kind": "alocation"})"), "kind", "allocation"));
    CHECK(has_fault(faults_of_text(R"({"kind": "allocation", "kind": "allocation"})"), "kind", "duplicate"));
}

TEST_CASE("wrong amounts are reported with their paths") {
    const std::string disk = R"({"id": "disk", "capacity": 10})";
    for (const char* amount : {"-1", "1e300", "\"1\"", "null", "true", "[]"}) {
        INFO(amount);
        CHECK(has_fault(faults_of_text(allocation(
                            disk, R"({"id": "f", "demand": {"disk": )" + std::string(amount) + "}}")),
                        "flows[0].demand.disk", "0 to 1e+18"));
        CHECK(
            has_fault(faults_of_text(allocation(R"({"id": "disk", "capacity": )" + std::string(amount) + "}",
                                                R"({"id": "f", "demand": {}})")),
                      "resources[0].capacity", "0 to 1e+18"));
    }
    CHECK(lines_of(faults_of_text(allocation(disk, R"({"id": "f", "demand": {"disk": NaN}})")))
              .find("not JSON") != std::string::npos);
    CHECK(has_fault(faults_of_text(allocation(disk, R"({"id": "f", "demand": {"disc": 1}})")),
                    "flows[0].demand.disc", "disk"));
    CHECK(has_fault(faults_of_text(allocation(disk, R"({"id": "f", "weight": 1e-9, "demand": {}})")),
                    "flows[0].weight", "1e-06"));
}

TEST_CASE("all faults are listed, in the order of the text") {
    const Faults faults = faults_of_text(allocation(R"({"id": "a"}, {"id": "a", "capacity": 1}, 7)",
                                                    R"({"demand": {}, "wieght": 2}, {"id": ""})"));
    INFO(lines_of(faults));
    REQUIRE(faults.size() == 7);
    CHECK(faults[0].path == "resources[0].capacity");
    CHECK(faults[1].path == "resources[1].id");
    CHECK(has_fault(faults, "resources[2]", "an object"));
    CHECK(has_fault(faults, "flows[0].id", "this is needed"));
    CHECK(has_fault(faults, "flows[0].wieght", "did you mean \"weight\"?"));
    CHECK(has_fault(faults, "flows[1].id", "it is empty"));
    CHECK(has_fault(faults, "flows[1].demand", "this is needed"));
}

TEST_CASE("a tree leads to the root, in any order") {
    const auto tree = [](const std::string& nodes, const std::string& tenant) {
        return R"({"kind": "allocation", "mechanism": "hdrf", "resources": [{"id": "disk", "capacity": 10}], "tree": [)" +
               nodes + R"(], "flows": [{"id": "f", "demand": {"disk": 20}, "tenant": ")" + tenant + "\"}]}";
    };
    CHECK(faults_of_text(tree(R"({"id": "b", "parent": "a"}, {"id": "a"})", "b")).empty());
    CHECK(faults_of_text(tree(R"({"id": "b", "parent": "root"})", "b")).empty());
    CHECK(has_fault(faults_of_text(tree(R"({"id": "b", "parent": "c"})", "b")), "tree[0].parent",
                    "unknown name"));
    CHECK(has_fault(faults_of_text(tree(R"({"id": "a"})", "b")), "flows[0].tenant", "unknown name"));
    CHECK(has_fault(faults_of_text(tree(R"({"id": "a", "parent": "a"})", "a")), "tree[0].parent",
                    "back to itself"));
    CHECK(has_fault(
        faults_of_text(tree(R"({"id": "c"}, {"id": "a", "parent": "b"}, {"id": "b", "parent": "a"})", "c")),
        "tree[1].parent", "back to itself"));
}

TEST_CASE("reservations and limits of tenants are checked") {
    const auto vdc = [](const std::string& tenant, const std::string& more) {
        return R"({"kind": "vdc", "global": "drf", "resources": [{"id": "disk", "capacity": 10}], "tenants": [{"id": "A", )" +
               tenant + R"(}], "flows": [{"id": "f", "tenant": "A", "demand": {"disk": 20}}])" + more + "}";
    };
    const std::string good = R"("sharing_rule": "fixed", "reservations": {"disk": 5})";
    CHECK(faults_of_text(vdc(good, "")).empty());
    CHECK(has_fault(faults_of_text(vdc(good + R"(, "limits": {"disk": 4})", "")), "tenants[0].limits.disk",
                    "5"));
    CHECK(has_fault(faults_of_text(vdc(good + R"(, "local": "fair")", "")), "tenants[0].local", "drf, hdrf"));
    CHECK(has_fault(faults_of_text(vdc(R"("sharing_rule": "some", "reservations": {})", "")),
                    "tenants[0].sharing_rule", "fixed, minimum"));
    CHECK(has_fault(faults_of_text(vdc(R"("sharing_rule": "fixed")", "")), "tenants[0].reservations",
                    "needed"));
    CHECK(has_fault(faults_of_text(vdc(good, R"(, "headroom": 0.9)")), "headroom", "0.5"));
    CHECK(has_fault(faults_of_text(vdc(good, R"(, "spare": 1)")), "spare", "true or false"));
    CHECK(has_fault(faults_of_text(vdc(good, R"(, "weights": "x")")), "weights", "given, guarantees"));
}

TEST_CASE("tenants may have the weights of their reservations") {
    const what_if::Solved solved =
        what_if::solve_text(R"({"kind": "vdc", "global": "hdrf", "weights": "guarantees",
        "resources": [{"id": "disk", "capacity": 600}],
        "tenants": [{"id": "A", "sharing_rule": "minimum", "reservations": {"disk": 150}},
                    {"id": "B", "sharing_rule": "minimum", "reservations": {"disk": 100}},
                    {"id": "C", "sharing_rule": "minimum", "reservations": {"disk": 50}}],
        "flows": [{"id": "a", "tenant": "A", "demand": {"disk": 1000}}, {"id": "b", "tenant": "B", "demand": {"disk": 1000}},
                  {"id": "c", "tenant": "C", "demand": {"disk": 1000}}]})");
    const auto& flows = std::get<nlohmann::json>(solved)["flows"];
    CHECK(flows[0]["total"]["disk"].get<double>() == Approx(300));
    CHECK(flows[1]["total"]["disk"].get<double>() == Approx(200));
    CHECK(flows[2]["total"]["disk"].get<double>() == Approx(100));
}
