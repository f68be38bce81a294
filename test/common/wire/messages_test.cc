// messages_test.cc - HELLO, WELCOME and TABLES as JSON, and the faults for which they are refused.
#include "common/wire/messages.h"

#include <nlohmann/json.hpp>
#include <set>

#include "test/common/wire/wire_support.h"
#include "test/support/catch.h"
#include "test/support/faults.h"

using namespace weir;
using namespace weir::wire;

namespace {

template <typename Message>
Message good(std::variant<Message, Faults> outcome) {
    const Faults* faults = std::get_if<Faults>(&outcome);
    INFO((faults == nullptr ? "" : test::lines_of(*faults)));
    REQUIRE(faults == nullptr);
    return std::get<Message>(std::move(outcome));
}

template <typename Message>
Faults bad(std::variant<Message, Faults> outcome) {
    REQUIRE(std::holds_alternative<Faults>(outcome));
    return std::get<Faults>(std::move(outcome));
}

/// The keys of a JSON text, in objects within lists too.
void collect_keys(const nlohmann::json& value, std::set<std::string>& keys) {
    for (const auto& [key, member] : value.items()) {
        if (value.is_object())
            keys.insert(key);
        if (member.is_structured())
            collect_keys(member, keys);
    }
}

}  // namespace

TEST_CASE("HELLO, WELCOME and TABLES are parsed as they were written") {
    const Hello hello{.host = "h1",
                      .version = "0.1.0",
                      .uplink_bps = 9'000'000'000,
                      .vnics = {{"web", "A", "52:54:00:00:00:01", 10}, {"tap", "", "", 0}},
                      .appliances = {{"disk", "10.0.0.5", 10809}}};
    CHECK(good(parse_hello(to_text(hello))) == hello);
    const Welcome welcome{.cluster = "c1", .interval = kNanosPerSec, .validity = 3, .refused = ""};
    CHECK(good(parse_welcome(to_text(welcome))) == welcome);
    Welcome seldom = welcome;
    seldom.billing_period = 60 * kNanosPerSec;
    CHECK(good(parse_welcome(to_text(seldom))) == seldom);
    CHECK(to_text(welcome).find("billing") ==
          std::string::npos);  // switches that do not know the key accept the message
    const Welcome refusal{.cluster = "c1", .interval = 0, .validity = 0, .refused = "no host h9 here"};
    CHECK(good(parse_welcome(to_text(refusal))) == refusal);
    const Tables tables{.endpoints = {{3, Endpoint::Kind::kVnic, "web", "A", "h1", "52:54:00:00:00:01", 10},
                                      {17, Endpoint::Kind::kAppliance, "disk", "", "", "", 0}},
                        .guarantees = {{.flow = {3, 17}, .rate = {kNoStatement, 500, kNoStatement}}}};
    CHECK(good(parse_tables(to_text(tables))) == tables);
}

TEST_CASE("the protocol's page has a row for every key of the JSON messages") {
    std::set<std::string> keys;
    for (const std::string& text :
         {to_text(Hello{
              "h1", "0.1.0", 1, {{"web", "A", "52:54:00:00:00:01", 10}}, {{"disk", "10.0.0.5", 10809}}}),
          to_text(Welcome{"c1", kNanosPerSec, 3, 60 * kNanosPerSec, "no host h9 here"}),
          to_text(Tables{{{3, Endpoint::Kind::kVnic, "web", "A", "h1", "52:54:00:00:00:01", 10}},
                         {{.flow = {3, 17}, .rate = {1, 2, 3}}}})})
        collect_keys(nlohmann::json::parse(text), keys);
    CHECK(keys.size() == 26);
    const std::string page = test::protocol_page();
    for (const std::string& key : keys) {
        INFO(key);
        CHECK(page.find("`" + key + "`") != std::string::npos);
    }
}

TEST_CASE("a wrong HELLO is refused with every fault") {
    const Faults faults = bad(parse_hello(R"({"schema": 2, "vnics": [{"name": "a b"},
        {"name": "b", "mac": "52:54", "vlan": 5000}], "spam": 1})"));
    CHECK(test::has_fault(faults, "schema", "out of range"));
    CHECK(test::has_fault(faults, "host", "needed"));
    CHECK(test::has_fault(faults, "vnics[0].name", "cannot be a name"));
    CHECK(test::has_fault(faults, "vnics[1].mac", "not a MAC address"));
    CHECK(test::has_fault(faults, "vnics[1].vlan", "out of range"));
    CHECK(test::has_fault(faults, "spam", "unknown key"));
    CHECK_FALSE(bad(parse_hello("[]")).empty());
    CHECK_FALSE(bad(parse_hello("")).empty());
    CHECK_FALSE(bad(parse_hello(R"({"schema": 1, "host": 1e300})")).empty());
}

TEST_CASE("a WELCOME has the length of an interval, or a reason of refusal") {
    CHECK(test::has_fault(bad(parse_welcome(R"({"schema": 1, "cluster": "c"})")), "interval_ns",
                          "must state both"));
    CHECK(test::has_fault(bad(parse_welcome(R"({"schema": 1, "interval_ns": 1, "validity": 3})")),
                          "interval_ns", "out of range"));
}

TEST_CASE("TABLES with a wrong id, kind or rate are refused") {
    const Faults faults =
        bad(parse_tables(R"({"schema": 1, "endpoints": [{"id": -1, "kind": "vm", "name": "a"}],
        "guarantees": [{"source": 1, "appliance": -5}]})"));
    CHECK(test::has_fault(faults, "endpoints[0].id", "out of range"));
    CHECK(test::has_fault(faults, "endpoints[0].kind", "unknown word"));
    CHECK(test::has_fault(faults, "guarantees[0].destination", "needed"));
    CHECK(test::has_fault(faults, "guarantees[0].appliance", "out of range"));
}
