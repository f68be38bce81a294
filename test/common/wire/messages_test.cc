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
                      .appliances = {{"disk", "10.0.0.5", 10809}},
                      .capabilities = {"refusals", "of-a-later-version"}};
    CHECK(good(parse_hello(to_text(hello))) == hello);
    const Welcome welcome{.cluster = "c1",
                          .interval = kNanosPerSec,
                          .validity = 3,
                          .refused = "",
                          .capabilities = {"refusals"}};
    CHECK(good(parse_welcome(to_text(welcome))) == welcome);
    Welcome seldom = welcome;
    seldom.billing_period = 60 * kNanosPerSec;
    CHECK(good(parse_welcome(to_text(seldom))) == seldom);
    CHECK(to_text(welcome).find("billing") ==
          std::string::npos);  // switches that do not know the key accept the message
    const Welcome refusal{.cluster = "c1", .interval = 0, .validity = 0, .refused = "no host h9 here"};
    CHECK(good(parse_welcome(to_text(refusal))) == refusal);
    const Tables tables{
        .endpoints = {{3, Endpoint::Kind::kVnic, "web", "A", "h1", "52:54:00:00:00:01", 10, 0},
                      {17, Endpoint::Kind::kAppliance, "disk", "", "", "", 0}},
        .guarantees = {{.flow = {3, 17}, .rate = {kNoStatement, 500, kNoStatement}}}};
    CHECK(good(parse_tables(to_text(tables))) == tables);
    Tables refusing = tables;
    refusing.refused_vnics.emplace();  // none is refused, which is a statement
    CHECK(good(parse_tables(to_text(refusing))) == refusing);
    refusing.refused_vnics = {{"db", "host h2 has it"}, {"x9", "it is not in the cluster file", true}};
    CHECK(good(parse_tables(to_text(refusing))) == refusing);
    refusing.refused_vnics->front().why.assign(400, 'x');
    CHECK(good(parse_tables(to_text(refusing))).refused_vnics->front().why.size() == 300);
}

TEST_CASE("the protocol's page has a row for every key of the JSON messages") {
    std::set<std::string> keys;
    for (const std::string& text :
         {to_text(Hello{"h1",
                        "0.1.0",
                        1,
                        {{"web", "A", "52:54:00:00:00:01", 10}},
                        {{"disk", "10.0.0.5", 10809}},
                        1,
                        {"b"}}),
          to_text(Welcome{"c1", kNanosPerSec, 3, 60 * kNanosPerSec, "no host h9 here"}),
          to_text(Tables{{{3, Endpoint::Kind::kVnic, "web", "A", "h1", "52:54:00:00:00:01", 10, 5}},
                         {{.flow = {3, 17}, .rate = {1, 2, 3}}},
                         {{{"web", "it is not in the cluster file", true}}}})})
        collect_keys(nlohmann::json::parse(text), keys);
    CHECK(keys.size() == 32);
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

TEST_CASE("HELLO and WELCOME name capabilities, of which every name is kept, known or not") {
    const Hello hello{.host = "h1", .capabilities = {"pair-floors", "of-2031"}};
    CHECK(good(parse_hello(to_text(hello))) == hello);
    CHECK(has(hello.capabilities, "of-2031"));
    CHECK_FALSE(has(hello.capabilities, "of"));
    const Welcome welcome{.interval = kNanosPerSec, .validity = 3, .capabilities = {"a"}};
    CHECK(good(parse_welcome(to_text(welcome))) == welcome);
    CHECK(good(parse_hello(R"({"schema": 1, "host": "h1"})")).capabilities.empty());
    for (const char* wrong : {R"("a")", R"(["a b"])", R"([1])", R"([""])"})
        CHECK(test::has_fault(
            bad(parse_hello(R"({"schema": 1, "host": "h1", "capabilities": )" + std::string(wrong) + "}")),
            "capabilities", "at most 32 names"));
    Hello many = hello;
    many.capabilities.assign(kCapabilitiesMax, "a");
    CHECK(good(parse_hello(to_text(many))) == many);
    many.capabilities.emplace_back("one-more");
    CHECK(test::has_fault(bad(parse_hello(to_text(many))), "capabilities", "at most 32 names"));
}

TEST_CASE("keys of later versions are ignored in extensions, and nowhere else") {
    const std::string known =
        R"({"schema": 1, "host": "h1", "extensions": {"a": [1, {"b": null}], "host": 7}})";
    CHECK(good(parse_hello(known)) == Hello{.host = "h1"});
    CHECK(good(parse_welcome(
                   R"({"schema": 1, "interval_ns": 1000000000, "validity": 3, "extensions": {"x": 1}})"))
              .validity == 3);
    CHECK(good(parse_tables(R"({"schema": 1, "extensions": {"x": 1}})")).endpoints.empty());
    CHECK(test::has_fault(bad(parse_hello(R"({"schema": 1, "host": "h1", "a": 1})")), "a", "unknown key"));
    CHECK(test::has_fault(bad(parse_hello(R"({"schema": 1, "host": "h1", "extensions": 1})")), "extensions",
                          "an object"));
}

TEST_CASE("of a message of another protocol, the text for people is read, and its other keys are not") {
    const Hello hello = good(parse_hello(
        R"({"protocol": 2, "schema": 3, "host": "h1", "version": "2.0.0", "vnics": 7, "spam": 1})"));
    CHECK(hello == Hello{.host = "h1", .version = "2.0.0", .protocol = 2});
    const Welcome welcome = good(parse_welcome(R"({"protocol": 3, "refused": "upgrade", "interval": "1s"})"));
    CHECK(welcome == Welcome{.refused = "upgrade", .protocol = 3});
    CHECK(good(parse_hello(R"({"protocol": 2, "host": 5})")) == Hello{.protocol = 2});
    CHECK(test::has_fault(bad(parse_hello(R"({"schema": 1, "host": "h1", "protocol": 0})")), "protocol",
                          "out of range"));
    CHECK(why_protocol("this weir-switch", "weir-ctrl", 2) ==
          "this weir-switch speaks protocol 2, and weir-ctrl knows protocol 1 only: upgrade weir-ctrl");
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
