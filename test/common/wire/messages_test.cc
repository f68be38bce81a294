// messages_test.cc - HELLO, WELCOME, TABLES and ASK as JSON, and the faults for which they are refused.
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
    const Hello hello{
        .host = "h1",
        .version = "0.1.0",
        .uplink_bps = 9'000'000'000,
        .vnics = {{"web", "A", "52:54:00:00:00:01", 10}, {"tap", "", "", 0}},
        .appliances = {{"disk", "10.0.0.5", 10809}},
        .capabilities = {std::string(capability::kTablesByNeed), "refusals", "of-a-later-version"},
        .unbilled = {"gone"}};
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
    Tables changes = tables;
    changes.changes = changes.more = true;
    changes.removed = {4, 5};
    changes.unknown = {{3, "52:54:00:00:00:09"}};
    CHECK(good(parse_tables(to_text(changes))) == changes);
    const Ask ask{{{3, "52:54:00:00:00:09"}, {3, "52:54:00:00:00:0a"}}};
    CHECK(good(parse_ask(to_text(ask))) == ask);
}

TEST_CASE("keys of TABLES by need are absent from other messages, so that older switches accept them") {
    for (const char* key : {"changes", "more", "removed", "unknown"})
        CHECK(to_text(Tables{}).find(key) == std::string::npos);
}

TEST_CASE("a table of 25,000 endpoints and 12,000 guarantees takes 4 messages, each of which is accepted") {
    const std::string longest(31, 'n');
    Tables tables;
    for (std::uint32_t id = 0; id < 25'000; ++id)
        tables.endpoints.push_back(
            {UINT32_MAX - id, Endpoint::Kind::kVnic, longest, longest, longest, "52:54:00:00:00:01", 4094});
    for (std::uint32_t id = 0; id < 12'000; ++id)
        tables.guarantees.push_back({.flow = {UINT32_MAX, UINT32_MAX - id},
                                     .rate = {UINT64_MAX - 1, UINT64_MAX - 1, UINT64_MAX - 1}});
    const std::vector<Tables> parts = split(tables);
    REQUIRE(parts.size() == 4);
    Tables together;
    for (const Tables& part : parts) {
        CHECK(part.changes == (&part != &parts.front()));
        CHECK(part.more == (&part != &parts.back()));
        const std::string text = to_text(part);
        CHECK(text.size() < kBodyBytesMax);
        const Tables read = good(parse_tables(text));
        CHECK(read == part);
        together.endpoints.insert(together.endpoints.end(), read.endpoints.begin(), read.endpoints.end());
        together.guarantees.insert(together.guarantees.end(), read.guarantees.begin(), read.guarantees.end());
    }
    CHECK(together == tables);
    CHECK(std::holds_alternative<Faults>(parse_tables(to_text(tables))));  // all at once
}

TEST_CASE("an empty table is one message, and changes in several are complete one by one") {
    CHECK(split(Tables{}).size() == 1);
    Tables changes{.changes = true};
    for (std::uint32_t id = 0; id < 10'001; ++id)
        changes.removed.push_back(id);
    const std::vector<Tables> parts = split(changes);
    REQUIRE(parts.size() == 2);
    CHECK(parts[0].removed.size() == 10'000);
    CHECK(parts[1].removed == std::vector<std::uint32_t>{10'000});
    CHECK((parts[0].changes && parts[1].changes && !parts[0].more && !parts[1].more));
}

TEST_CASE("the protocol's page has a row for every key of the JSON messages") {
    std::set<std::string> keys;
    for (const std::string& text :
         {to_text(Hello{"h1",
                        "0.1.0",
                        1,
                        {{"web", "A", "52:54:00:00:00:01", 10, VnicPromise{}}},
                        {{"disk", "10.0.0.5", 10809}},
                        1,
                        {"b"},
                        {"gone"}}),
          to_text(Welcome{"c1", kNanosPerSec, 3, 60 * kNanosPerSec, "no host h9 here"}),
          to_text(Tables{{{3, Endpoint::Kind::kVnic, "web", "A", "h1", "52:54:00:00:00:01", 10, 5,
                           VnicPromise{GuaranteeKind::kDynamic, 1, 2, 3, 4, 5, {6, 17, 8, 0, 10}}}},
                         {{.flow = {3, 17}, .rate = {1, 2, 3}}},
                         {{{"web", "it is not in the cluster file", true}}},
                         true,
                         true,
                         {4},
                         {{3, "52:54:00:00:00:09"}}}),
          to_text(Ask{{{3, "52:54:00:00:00:09"}}})})
        collect_keys(nlohmann::json::parse(text), keys);
    CHECK(keys.size() == 51);
    const std::string page = test::protocol_page();
    for (const std::string& key : keys) {
        INFO(key);
        CHECK(page.find("`" + key + "`") != std::string::npos);
    }
}

namespace {

const VnicPromise kDynamicPromise{.guarantee = GuaranteeKind::kDynamic,
                                  .reservation_bps = 1'000'000'000,
                                  .size_bytes = 75'000'000'000,
                                  .time = 600 * kNanosPerSec,
                                  .limit_bps = 4'000'000'000,
                                  .shares = 300};

}  // namespace

TEST_CASE("promises to vNICs, and the values that a switch's file states, are parsed as they were written") {
    Tables tables{
        .endpoints = {{.id = 3, .name = "web", .promise = kDynamicPromise}, {.id = 4, .name = "db"}}};
    CHECK(good(parse_tables(to_text(tables))) == tables);
    tables.endpoints[1].promise.emplace();  // all defaults, which is a statement
    CHECK(good(parse_tables(to_text(tables))) == tables);
    const Hello hello{.host = "h1",
                      .vnics = {{.name = "web", .stated = kDynamicPromise}, {.name = "db"}},
                      .unbilled = {"gone"}};
    CHECK(good(parse_hello(to_text(hello))) == hello);
    CHECK(to_text(Hello{.host = "h1", .vnics = {{.name = "web"}}}).find("extensions") == std::string::npos);
    CHECK(to_text(Tables{.endpoints = {{.id = 4, .name = "db"}}}).find("promise") == std::string::npos);
    // A vNIC that the message does not have is as if it were absent.
    CHECK(good(parse_hello(
              R"({"schema": 1, "host": "h1", "extensions": {"stated_vnics": [{"name": "x"}]}})")) ==
          Hello{.host = "h1"});
}

TEST_CASE("a promise whose values cannot be is refused with every fault") {
    const Faults faults = bad(parse_tables(
        R"({"schema": 1, "endpoints": [{"id": 1, "kind": "vnic", "name": "a", "promise": {"guarantee_kind": "best",
            "reservation_bps": -1, "limit_bps": 63999, "shares": 0, "size_bytes": 999, "time_ns": 1, "spam": 1}},
           {"id": 2, "kind": "vnic", "name": "b", "promise": {"guarantee_kind": "dynamic", "size_bytes": 1000}},
           {"id": 3, "kind": "vnic", "name": "c", "promise": {"size_bytes": 1000, "time_ns": 1000000000}},
           {"id": 4, "kind": "vnic", "name": "d", "promise": 5}]})"));
    for (const char* key : {"reservation_bps", "limit_bps", "shares", "size_bytes", "time_ns"})
        CHECK(test::has_fault(faults, std::string("endpoints[0].promise.") + key, "out of range"));
    CHECK(test::has_fault(faults, "endpoints[0].promise.guarantee_kind", "unknown word"));
    CHECK(test::has_fault(faults, "endpoints[0].promise.spam", "unknown key"));
    CHECK(test::has_fault(faults, "endpoints[1].promise.size_bytes", "a size within a time"));
    CHECK(test::has_fault(faults, "endpoints[2].promise.size_bytes", "a size within a time"));
    CHECK(test::has_fault(faults, "endpoints[3].promise", ""));
    CHECK(test::has_fault(
        bad(parse_hello(
            R"({"schema": 1, "host": "h1", "extensions": {"stated_vnics": [{"shares": 10001}]}})")),
        "extensions.stated_vnics[0].shares", "out of range"));
}

TEST_CASE("a message of TABLES with the promises of a switch's most vNICs is accepted") {
    const std::string longest(31, 'n');
    Tables tables;
    for (std::uint32_t id = 0; id < kTablesEntriesMax; ++id)
        tables.endpoints.push_back({UINT32_MAX - id, Endpoint::Kind::kVnic, longest, longest, longest,
                                    "52:54:00:00:00:01", 4094, UINT64_MAX});
    const VnicPromise longest_promise{
        .guarantee = GuaranteeKind::kDynamic,
        .reservation_bps = 400'000'000'000,
        .size_bytes = 1'000'000'000'000'000,
        .time = 2'592'000 * kNanosPerSec,
        .limit_bps = 400'000'000'000,
        .shares = 10'000,
        .worker = {1'000'000'000, 1'000'000'000, 10'000, 1'000'000'000'000, 1'000'000'000'000}};
    for (std::size_t i = 0; i < kPromisesMax; ++i)
        tables.endpoints[i].promise = longest_promise;
    const std::string text = to_text(tables);
    CHECK(text.size() < kBodyBytesMax);
    CHECK(good(parse_tables(text)) == tables);
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
    CHECK(test::has_fault(
        bad(parse_hello(R"({"schema": 1, "host": "h1", "extensions": {"unbilled": ["a b"]}})")),
        "extensions.unbilled", "at most 1000 names"));
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
    const Faults ids =
        bad(parse_tables(R"({"schema": 1, "changes": 1, "removed": [-1], "unknown": [{"mac": "x"}]})"));
    CHECK(test::has_fault(ids, "changes", "true or false"));
    CHECK(test::has_fault(ids, "removed", "no endpoint's id"));
    CHECK(test::has_fault(ids, "unknown[0].source", "needed"));
    CHECK(test::has_fault(ids, "unknown[0].mac", "not a MAC address"));
}

TEST_CASE("an ASK of more than 1,000 addresses, or of what is no address, is refused") {
    Ask ask;
    for (std::uint32_t i = 0; i < 1'001; ++i)
        ask.addresses.push_back({i, "52:54:00:00:00:01"});
    CHECK_FALSE(bad(parse_ask(to_text(ask))).empty());
    ask.addresses.pop_back();
    CHECK(good(parse_ask(to_text(ask))) == ask);
    CHECK(test::has_fault(bad(parse_ask(R"({"schema": 1, "addresses": [{"source": 1}]})")),
                          "addresses[0].mac", "needed"));
}
