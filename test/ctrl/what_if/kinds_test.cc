// kinds_test.cc - worked numbers and faults of every kind of problem, as JSON.
#include <nlohmann/json.hpp>
#include <string>

#include "ctrl/what_if/registry.h"
#include "test/support/catch.h"
#include "test/support/faults.h"

using namespace weir;
using nlohmann::json;
using test::has_fault;

namespace {

json answer_of(const json& problem) {
    what_if::Solved solved = what_if::solve(problem);
    if (const Faults* faults = std::get_if<Faults>(&solved))
        FAIL(test::lines_of(*faults));
    return std::get<json>(solved);
}

Faults faults_of(const json& problem) {
    const what_if::Solved solved = what_if::solve(problem);
    const Faults* faults = std::get_if<Faults>(&solved);
    return faults == nullptr ? Faults{} : *faults;
}

std::vector<double> rates(const json& problem) {
    return answer_of(problem)["rates"].get<std::vector<double>>();
}

json rcp(const char* law, double senders, double start, int steps) {
    return {{"kind", "rcp"},  {"law", law},   {"capacity", 9000}, {"senders", senders},
            {"start", start}, {"alpha", 0.5}, {"steps", steps}};
}

}  // namespace

TEST_CASE("solve capacity: fed step by step, the search takes the steps of Fig. 8") {
    json problem{{"kind", "capacity"}, {"min", 5000},   {"max", 10000},
                 {"tolerance", 0.01},  {"readings", 1}, {"intervals", json::array()}};
    CHECK(answer_of(problem)["intervals"].empty());
    double estimate = 5000;
    std::vector<double> seen{estimate};
    json last;
    while (seen.size() < 11) {
        problem["intervals"].push_back({{"throughput", std::min(estimate, 6500.0)}, {"offered", 9000}});
        last = answer_of(problem)["intervals"].back();
        estimate = last["estimate"].get<double>();
        seen.push_back(estimate);
    }
    CHECK(seen ==
          std::vector<double>{5000, 7500, 5000, 6250, 6875, 6250, 6562.5, 6250, 6406.25, 6484.375, 6484.375});
    CHECK(last["phase"] == "stable");
}

TEST_CASE("solve capacity: two of three readings are not enough") {
    json problem{{"kind", "capacity"}, {"min", 5000}, {"max", 10000}, {"intervals", json::array()}};
    const json clear{{"throughput", 5000}, {"offered", 9000}};
    const json congested{{"throughput", 6000}, {"offered", 9000}};
    problem["intervals"] = {clear, congested, congested};
    CHECK(answer_of(problem)["intervals"][2]["estimate"] == 7500);
    problem["intervals"].push_back(congested);
    CHECK(answer_of(problem)["intervals"][3]["estimate"] == 5000);
}

TEST_CASE("solve capacity: with jump one overload shows the capacity, and the queue drains") {
    json problem{{"kind", "capacity"}, {"min", 3000}, {"max", 10000}, {"jump", true}, {"readings", 1}};
    problem["intervals"] = {{{"throughput", 3000}, {"offered", 9000}, {"outstanding", 15}},
                            {{"throughput", 4000}, {"offered", 9000}, {"outstanding", 400}}};
    const json row = answer_of(problem)["intervals"][1];
    CHECK(row["phase"] == "revert");
    CHECK(row["estimate"] == 4000);
    CHECK(row["allocate"].get<double>() < 4000);
}

TEST_CASE("solve capacity: a tenant that a limit of its switch holds lowers no estimate with jump") {
    // A store of 6,500 reads/s that answers after 1 ms. Of two tenants with half of the rate each, one is
    // held to 500 from the 20th interval on. Reads beyond 6,500 queue at the store.
    json problem{
        {"kind", "capacity"}, {"min", 1000}, {"max", 10000}, {"jump", true}, {"intervals", json::array()}};
    double allocate = 1000;
    double queue = 0;
    for (int i = 0; i < 60; ++i) {
        CAPTURE(i);
        const double before = queue;
        const double inside = queue + (i < 20 ? allocate : 500 + allocate / 2);
        const double served = std::min(inside, 6500.0);
        queue = inside - served;
        problem["intervals"].push_back({{"throughput", served},
                                        {"offered", 40'000},
                                        {"outstanding", 0.001 * served + (before + queue) / 2}});
        const json row = answer_of(problem)["intervals"].back();
        allocate = row["allocate"].get<double>();
        if (i >= 15)
            CHECK(row["estimate"].get<double>() == Approx(6500).epsilon(0.05));
    }
}

TEST_CASE("solve capacity: a changed mix restarts the search around the estimate") {
    json problem{
        {"kind", "capacity"}, {"min", 5000}, {"max", 10000}, {"readings", 1}, {"intervals", json::array()}};
    json mix{{"get", 90}, {"set", 10}};
    json last{{"estimate", 5000}};
    const auto add_interval = [&] {
        const double estimate = last["estimate"].get<double>();
        problem["intervals"].push_back(
            {{"throughput", std::min(estimate, 6500.0)}, {"offered", 9000}, {"mix", mix}});
        last = answer_of(problem)["intervals"].back();
    };
    for (int i = 0; i < 12; ++i)
        add_interval();
    CHECK(last["phase"] == "stable");
    mix = {{"set", 15}, {"get", 85}};
    add_interval();
    CHECK(last["phase"] == "stable");
    mix = {{"set", 30}, {"get", 70}};
    add_interval();
    CHECK(last["phase"] == "increase");
    CHECK(last["max_window"] == 10000);
}

TEST_CASE("solve demand: every shape, and nothing outstanding") {
    CHECK(answer_of({{"kind", "demand"},
                     {"used", {1000, 10}},
                     {"backlog", {200, 5}},
                     {"queued", {50, 9}},
                     {"outstanding", {100, 0}}})["demand"] == json({1500, 15}));
    CHECK(answer_of({{"kind", "demand"}, {"used", {{"a", 7}}}})["demand"] == json({{"a", 7}}));
    CHECK(answer_of({{"kind", "demand"}, {"used", json::array()}})["demand"] == json::array());
    std::vector<double> many(12, 1);
    CHECK(answer_of({{"kind", "demand"}, {"used", many}})["demand"] == json(many));
}

TEST_CASE("solve demand: a value that is not a vector is refused") {
    CHECK(has_fault(faults_of({{"kind", "demand"}}), "used", "this is needed"));
    CHECK(has_fault(faults_of({{"kind", "demand"}, {"used", 5}}), "used", "a list"));
    CHECK(has_fault(faults_of({{"kind", "demand"}, {"used", {1, 2}}, {"backlog", {1}}}), "backlog",
                    "not a vector"));
    CHECK(has_fault(faults_of({{"kind", "demand"}, {"used", {{"a", 1}}}, {"queued", {1}}}), "queued",
                    "not a vector"));
    CHECK(has_fault(faults_of({{"kind", "demand"}, {"used", {1, -2}}}), "used[1]", "not an amount"));
    CHECK(has_fault(faults_of({{"kind", "demand"}, {"used", {{"a", 1e300}}}}), "used.a", "not an amount"));
}

TEST_CASE("solve rcp: the worked numbers of both laws") {
    const std::vector<double> linear = rates(rcp("linear", 2, 1000, 17));
    REQUIRE(linear.size() == 18);
    const std::vector<double> wanted{1000, 1388.89, 1869.00, 2415.37, 2974.83, 3478.96, 3873.64, 4143.23};
    for (std::size_t i = 0; i < wanted.size(); ++i)
        CHECK(linear[i] == Approx(wanted[i]).epsilon(1e-5));
    CHECK(linear[17] == Approx(4500).epsilon(1e-4));
    const std::vector<double> cut = rates(rcp("linear", 4, 9000, 4));
    CHECK(cut[1] == Approx(10));
    CHECK(cut[4] == Approx(33.51).epsilon(1e-3));
    CHECK(rates(rcp("log", 0, 100, 2)) == std::vector<double>{100, 200, 400});
    CHECK(rates(rcp("log", 4, 9000, 0)) == std::vector<double>{9000});
}

TEST_CASE("solve rcp: the log law is stable just below its bound and not just above") {
    // a < 2 sin(pi / (2 (2d + 1))): 0.445 for d = 3
    json problem = rcp("log", 4, 2000, 2000);
    problem["delay"] = 3;
    problem["alpha"] = 0.97 * 0.445;
    CHECK(rates(problem).back() == Approx(2250).epsilon(0.01));
    problem["alpha"] = 1.03 * 0.445;
    double farthest = 0;
    const std::vector<double> swinging = rates(problem);
    for (std::size_t i = 1900; i < swinging.size(); ++i)
        farthest = std::max(farthest, std::abs(swinging[i] - 2250));
    CHECK(farthest > 500);
}

TEST_CASE("solve placement: guarantees that break when a tenant is forced") {
    json problem{
        {"kind", "placement"},
        {"topology", {{"hosts", {{{"id", "h1"}, {"uplink", "1Gbit"}}, {{"id", "h2"}, {"uplink", "1Gbit"}}}}}},
        {"tenants",
         {{{"id", "A"},
           {"vnics",
            {{{"id", "a1"}, {"reservation", "2Gbit"}, {"host", "h1"}},
             {{"id", "a2"}, {"reservation", "2Gbit"}, {"host", "h2"}}}}}}}};
    json answer = answer_of(problem);
    CHECK(answer["fits"] == false);
    CHECK(answer["failed"][0]["constraint"] == "host_link");
    CHECK(answer["failed"][0]["need"] == 250'000'000);
    CHECK(answer["failed"][0]["have"] == 125'000'000);
    CHECK(answer["links"].empty());
    problem["force"] = true;
    answer = answer_of(problem);
    CHECK(answer["links"].size() == 2);
    CHECK(answer["broken"][0]["guaranteed"] == 250'000'000);
    CHECK(answer["broken"][0]["possible"] == 125'000'000);
}

TEST_CASE("solve placement: faults are reported with their paths") {
    const json hosts{{"hosts", {{{"id", "h"}, {"uplink", 1}}}}};
    const auto with = [&](const json& tenant) {
        return faults_of({{"kind", "placement"}, {"topology", hosts}, {"tenants", {tenant}}});
    };
    CHECK(has_fault(faults_of({{"kind", "placement"}}), "topology", "this is needed"));
    CHECK(has_fault(faults_of({{"kind", "placement"}, {"topology", json::object()}}), "topology.hosts",
                    "needed"));
    CHECK(has_fault(with({{"id", "A"}, {"vnics", {{{"id", "a"}, {"reservation", "2"}}}}}),
                    "tenants[0].vnics[0].reservation", "Gbit"));
    CHECK(has_fault(with({{"id", "A"}, {"vnics", {{{"id", "a"}, {"reservation", -1}}}}}),
                    "tenants[0].vnics[0].reservation", "1e14"));
    CHECK(has_fault(with({{"id", "A"}, {"vnics", {{{"id", "a"}, {"reservation", 1}, {"host", "x"}}}}}),
                    "tenants[0].vnics[0].host", "h"));
    CHECK(has_fault(with({{"id", "A"}, {"vnics", {{{"id", "a"}, {"reservation", 1}, {"count", 1'000'000}}}}}),
                    "tenants[0].vnics[0].count", "100000"));
    CHECK(has_fault(with({{"id", "A"}, {"vnics", {{{"id", "a"}, {"reservation", 1e13}, {"count", 100}}}}}),
                    "tenants[0].id", "1e14"));
    const json both{{"hosts", {{{"id", "h"}, {"uplink", 1}}}},
                    {"appliances", {{{"id", "p"}, {"capacity", 1}, {"host", "h"}, {"link", 1}}}}};
    CHECK(has_fault(faults_of({{"kind", "placement"}, {"topology", both}, {"tenants", {{{"id", "A"}}}}}),
                    "topology.appliances[0].host", "shares"));
}

TEST_CASE("solve price: impossible values are refused with their paths") {
    const json good{{"kind", "price"}, {"p0", 1}, {"beta", 0.5}, {"link", 1000}, {"periods", json::array()}};
    CHECK(answer_of(good)["total"]["charge"] == 0);
    CHECK(answer_of(good)["total"]["fulfillment"].is_null());
    json bad = good;
    bad["p0"] = -1;
    bad["beta"] = 1.5;
    bad["periods"] = {{{"guarantee_kind", "strict"}, {"reservation", 1001}, {"delivered", 1}},
                      {{"guarantee_kind", "dynamic"}, {"size", 100}, {"time", 0}, {"delivered", 1}},
                      {{"guarantee_kind", "dynamic"}, {"size", 1e6}, {"time", 60}, {"delivered", -1}},
                      {{"guarantee_kind", "gold"}, {"delivered", 1}},
                      {{"guarantee_kind", "fairness"}, {"reservation", 5}, {"delivered", 1}}};
    const Faults faults = faults_of(bad);
    CHECK(has_fault(faults, "p0", "out of range"));
    CHECK(has_fault(faults, "beta", "out of range"));
    CHECK(has_fault(faults, "periods[0].reservation", "0 to 1000"));
    CHECK(has_fault(faults, "periods[1].time", "out of range"));
    CHECK(has_fault(faults, "periods[2].size", "cannot carry"));
    CHECK(has_fault(faults, "periods[2].delivered", "out of range"));
    CHECK(has_fault(faults, "periods[3].guarantee_kind", "strict"));
    CHECK(has_fault(faults, "periods[4].reservation", ""));
}

TEST_CASE("solve overcommit: the points of SoftBW Fig. 2, and faults") {
    json problem{{"kind", "overcommit"}, {"vms", 16}, {"utilization", 0.1}, {"ratio", 6.9}};
    CHECK(answer_of(problem)["failure_probability"].get<double>() == Approx(0.0482).margin(5e-5));
    CHECK_FALSE(answer_of(problem).contains("ratio_within"));
    problem["vms"] = 0;
    problem["utilization"] = 1.1;
    problem["ratio"] = -1;
    const Faults faults = faults_of(problem);
    CHECK(has_fault(faults, "vms", "1 to 100000"));
    CHECK(has_fault(faults, "utilization", "out of range"));
    CHECK(has_fault(faults, "ratio", "out of range"));
}

TEST_CASE("solve divvy: the cases that the paper leaves out, and faults") {
    json problem{{"kind", "divvy"}, {"capacity", 1000}, {"children", json::array()}};
    CHECK(answer_of(problem)["unassigned"] == 1000);
    problem["children"] = {{{"id", "a"}, {"reservation", 1500}, {"shares", 1}},
                           {{"id", "b"}, {"reservation", 500}, {"shares", 0}}};
    CHECK(answer_of(problem)["children"][0]["allocation"] == 750);
    problem["children"] = {{{"id", "a"}, {"reservation", 200}, {"demand", 50}, {"shares", 1}},
                           {{"id", "b"}, {"limit", 300}}};
    CHECK(answer_of(problem)["children"][0]["allocation"] == 200);
    CHECK(answer_of(problem)["unassigned"] == 500);
    problem["children"] = {{{"id", "a"}, {"reservation", 200}, {"limit", 100}},
                           {{"id", "a"}, {"shares", -1}},
                           {{"reservation", "much"}}};
    const Faults faults = faults_of(problem);
    CHECK(has_fault(faults, "children[0].limit", "at least the reservation"));
    CHECK(has_fault(faults, "children[1].id", "another entry has this id"));
    CHECK(has_fault(faults, "children[1].shares", "out of range"));
    CHECK(has_fault(faults, "children[2].reservation", "wrong type"));
    CHECK(has_fault(faults_of({{"kind", "divvy"}}), "capacity", "needed"));
}

TEST_CASE("solve pools: absent leaves, pools in pools, and faults") {
    json problem{{"kind", "pools"},
                 {"capacity", 1000},
                 {"root",
                  {{"children",
                    {{{"id", "p"},
                      {"children",
                       {{{"id", "q"}, {"children", {{{"id", "a"}, {"reservation", 300}, {"host", "h1"}}}}}}}},
                     {{"id", "b"}, {"host", "h2"}}}}}}};
    json answer = answer_of(problem);
    CHECK(answer["nodes"][1] == json({{"id", "p"},
                                      {"demand", nullptr},
                                      {"reservation", 300},
                                      {"limit", nullptr},
                                      {"shares", 0.5},
                                      {"entitlement", 500}}));
    CHECK(answer["hosts"] ==
          json({{{"id", "h1"}, {"queue_depth", 500}}, {{"id", "h2"}, {"queue_depth", 500}}}));
    problem["root"]["children"][1]["absent"] = true;
    answer = answer_of(problem);
    CHECK(answer["nodes"][3]["entitlement"] == 1000);
    CHECK(answer["hosts"][1]["queue_depth"] == 0);

    problem["root"]["reservation"] = 200;
    problem["root"]["children"][0]["demand"] = 5;
    problem["root"]["children"][1]["limit"] = -1;
    problem["hosts"] = {{"p", "h1"}, {"b", "h1"}, {"h3", 5}};
    const Faults faults = faults_of(problem);
    CHECK(has_fault(faults, "root.reservation", "300"));
    CHECK(has_fault(faults, "root.children[0].demand", ""));
    CHECK(has_fault(faults, "root.children[1].limit", "out of range"));
    CHECK(has_fault(faults, "hosts.p", "leaf"));
    CHECK(has_fault(faults, "hosts.b", "once"));
    CHECK(has_fault(faults, "hosts.h3", "wrong type"));
    CHECK(has_fault(faults_of({{"kind", "pools"}, {"capacity", 1}}), "root", "needed"));
}

TEST_CASE("solve pools: a tree may be deep, up to the depth of a text") {
    const auto solved = [](unsigned levels) {
        std::string text = R"({"kind": "pools", "capacity": 1, "root": )";
        for (unsigned i = 0; i < levels; ++i)
            text += R"({"id": ")" + std::to_string(i) + R"(", "children": [)";
        text += R"({"id": "leaf", "demand": 1})";
        for (unsigned i = 0; i < levels; ++i)
            text += "]}";
        return what_if::solve_text(text + "}");
    };
    const auto deep = solved(60);
    CHECK(std::get<json>(deep)["nodes"][60]["entitlement"] == 1);
    const Faults faults = std::get<Faults>(solved(10'000));
    REQUIRE(faults.size() == 1);
    CHECK(faults[0].message.find("nested deeper") != std::string::npos);
}
