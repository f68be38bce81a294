// cost_table_reader_test.cc - wrong tables are refused with every fault, and the schema allows all
// tables that the reader accepts.
#include "cost_functions/cost_table_reader.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "common/config/config_text.h"
#include "test/cost_functions/table_support.h"
#include "test/support/places.h"

using namespace weir;
using namespace weir::test;
using nlohmann::json;

namespace {

const std::string kConfigs = source_path("configs/");
const std::string kRow = R"({"size": "sum", "shape": "linear", "tokens": 1, "per": "1B"})";

const json& schema() {
    static const json parsed = [] {
        std::ifstream file(kConfigs + "schema/cost.schema.json");
        return json::parse(file);
    }();
    return parsed;
}

void check_fault(const std::string& row, const std::string& path, const std::string& fragment) {
    const Faults faults = table_faults(table_of(row));
    INFO(row << "\n" << lines_of(faults));
    CHECK(has_fault(faults, path, fragment));
}

// The keys that the reader lists beside an unknown one at `path`.
std::set<std::string> keys_beside(const Faults& faults, const std::string& path) {
    std::set<std::string> keys;
    for (const Fault& fault : faults) {
        std::istringstream list(fault.path == path + "no_such_key" ? fault.allowed : "");
        for (std::string key; std::getline(list >> std::ws, key, ',');)
            keys.insert(key);
    }
    return keys;
}

std::set<std::string> keys_of(const json& properties) {
    std::set<std::string> keys;
    for (const auto& [key, value] : properties.items())
        keys.insert(key);
    return keys;
}

// A good row of each shape.
std::vector<json> shapes() {
    return {{{"shape", "linear"}, {"base", 1}, {"tokens", 1}, {"per", "1B"}},
            {{"shape", "minimum"}, {"base", 1}, {"minimum", 2}, {"tokens", 1}, {"per", "1B"}},
            {{"shape", "steps"}, {"base", 1}, {"until", "1KiB"}, {"tokens", 1}, {"every", "1KiB"}},
            {{"shape", "points"},
             {"points", json::array({json::array({"1B", 3})})},
             {"tokens", 1},
             {"per", "1B"}}};
}

json with_row(json row, const std::string& key, const json& value) {
    row["size"] = "sum";
    row[key] = value;
    return {{"name", "n"}, {"unit", "u"}, {"source", "s"}, {"operations", {{"otherwise", row}}}};
}

Faults faults_in(const json& table) {
    Faults faults;
    (void)load_cost_table(table, faults);
    return faults;
}

}  // namespace

TEST_CASE("every shipped table is valid and has a unit and a source") {
    std::size_t tables = 0;
    for (const auto& entry : std::filesystem::directory_iterator(kConfigs + "costs")) {
        const CostTable table = shipped_table(entry.path().stem());
        INFO(entry.path());
        CHECK_FALSE(table.facts().unit.empty());
        CHECK_FALSE(table.facts().source.empty());
        // For every operation and size, twice the bytes are not cheaper.
        for (std::size_t i = 0; i < kOperations; ++i)
            for (std::uint32_t size = 1; size < 1U << 30; size *= 2)
                CHECK(table.tokens(static_cast<Operation>(i), 2 * size, 2 * size) >=
                      table.tokens(static_cast<Operation>(i), size, size));
        ++tables;
    }
    CHECK(tables >= 11);
}

TEST_CASE("all faults of a table are listed, in order, with path, found, allowed and line") {
    const Faults faults = table_faults(R"({
        "unit": 7,
        "source": "",
        "operations": {
            "read": {"size": "both", "shape": "linear", "tokens": -1, "per": 4096},
            "rite": {},
            "write": {"size": "sum", "shape": "curve", "tokens": 1}
        },
        "colour": "red"})");
    INFO(lines_of(faults));
    CHECK(has_fault(faults, "name", "found nothing"));
    CHECK(has_fault(faults, "unit", "found 7"));
    CHECK(has_fault(faults, "source", "1 to 400 characters"));
    CHECK(has_fault(faults, "operations.read.size", "request, response, larger, sum"));
    CHECK(has_fault(faults, "operations.read.tokens", "0 to 1000000000"));
    CHECK(has_fault(faults, "operations.read.per", "needs a unit"));
    CHECK(has_fault(faults, "operations.rite", "did you mean \"write\"?"));
    CHECK(has_fault(faults, "operations.write.shape", "linear, minimum, steps, points"));
    CHECK(has_fault(faults, "operations.delete", "\"otherwise\""));
    CHECK(has_fault(faults, "colour", "unknown key"));
    CHECK(has_fault(faults, "operations.write.shape", "(line 7)"));
    CHECK(faults.size() == 14);  // five operations without a row
}

TEST_CASE("a missing key of a shape, and a key that it cannot have, are faults that name it") {
    const std::string row = "operations.otherwise";
    check_fault(R"({"size": "sum"})", row + ".shape", "this is needed");
    check_fault(R"({"shape": "linear", "tokens": 1, "per": "1B"})", row + ".size", "this is needed");
    check_fault(R"({"size": "sum", "shape": "linear", "per": "1B"})", row + ".tokens", "this is needed");
    check_fault(R"({"size": "sum", "shape": "linear", "tokens": 1})", row + ".per", "such as 1B");
    check_fault(R"({"size": "sum", "shape": "linear", "tokens": 1, "per": "0B"})", row + ".per",
                "1B to 512MiB");
    check_fault(R"({"size": "sum", "shape": "linear", "tokens": 1, "per": "1GiB"})", row + ".per",
                "1B to 512MiB");
    check_fault(R"({"size": "sum", "shape": "linear", "tokens": 1, "per": "1B", "until": "1B"})",
                row + ".until", "unknown key");
    check_fault(R"({"size": "sum", "shape": "minimum", "tokens": 1, "per": "1B"})", row + ".minimum",
                "needed");
    check_fault(R"({"size": "sum", "shape": "minimum", "minimum": 1, "base": 2, "tokens": 1, "per": "1B"})",
                row + ".minimum", "2 or more");
    check_fault(R"({"size": "sum", "shape": "steps", "tokens": 1, "every": "0B"})", row + ".every",
                "1B to 512MiB");
    check_fault(R"({"size": "sum", "shape": "steps", "tokens": 1.5, "every": "1B"})", row + ".tokens", "1.5");
    check_fault("[]", row, "an object");
}

TEST_CASE("points are checked one by one") {
    const std::string points = "operations.otherwise.points";
    const auto row = [](const std::string& list) {
        return R"({"size": "sum", "shape": "points", "points": )" + list + "}";
    };
    check_fault(R"({"size": "sum", "shape": "points"})", points, "this is needed");
    check_fault(row("[]"), points, "1 to 64 points");
    check_fault(row("7"), points, "1 to 64 points");
    check_fault(row(R"([["1B", 1], 7])"), points + "[1]", "[size, tokens]");
    check_fault(row(R"([["1B", 1, 2]])"), points + "[0]", "[size, tokens]");
    check_fault(row(R"([[1, 1]])"), points + "[0][0]", "needs a unit");
    check_fault(row(R"([["5GiB", 1]])"), points + "[0][0]", "0B to 4GiB");
    check_fault(row(R"([["1B", "1"]])"), points + "[0][1]", "a whole number");
    check_fault(row(R"([["4KiB", 1], ["4KiB", 2]])"), points + "[1][0]", "more than 4KiB");
    check_fault(row(R"([["1KiB", 9], ["4KiB", 8]])"), points + "[1][1]", "9 or more");
    check_fault(R"({"size": "sum", "shape": "points", "points": [["1B", 1]], "per": "1B"})",
                "operations.otherwise.tokens", "this is needed");
    std::string many = "[";
    for (int i = 0; i < 65; ++i)
        many += (i == 0 ? "[\"" : ", [\"") + std::to_string(i) + "B\", 1]";
    check_fault(row(many + "]"), points, "1 to 64 points");
}

TEST_CASE("points may fall in a table with \"monotone\": false") {
    const CostTable table =
        valid_table(table_of(R"({"size": "sum", "shape": "points", "points": [["1KiB", 9], ["4KiB", 8]]})",
                             R"("monotone": false, )"));
    CHECK(table.tokens(Operation::kRead, 4096, 0) == 8);
}

TEST_CASE("a price for sequential or repeated requests must not exceed the plain price") {
    const std::string plain = R"({"size": "sum", "shape": "linear", "base": 10, "tokens": 1, "per": "1KiB")";
    check_fault(plain + R"(, "sequential": {"shape": "linear", "tokens": 2, "per": "1KiB"}})",
                "operations.otherwise.sequential", "it would cost more than the row itself");
    check_fault(
        plain +
            R"(, "sequential": {"shape": "points", "points": [["5000B", 16]], "tokens": 0, "per": "1B"}})",
        "operations.otherwise.sequential", "found 16 tokens for 0B");
    check_fault(plain + R"(, "sequential": {"shape": "linear", "size": "sum", "tokens": 0, "per": "1B"}})",
                "operations.otherwise.sequential.size", "unknown key");
    check_fault(plain + R"(, "repeat": {"shape": "linear", "tokens": 1, "per": "1KiB"}})",
                "operations.otherwise.repeat", "window and capacity");
}

TEST_CASE("a rule for repeats is complete, within its bounds, and some row has a price for it") {
    const auto faults_with = [](const std::string& rule, const std::string& row = kRow) {
        return table_faults(table_of(row, R"("repeat": )" + rule + ", "));
    };
    CHECK(has_fault(faults_with(R"({"window": "1s", "capacity": 16})"), "repeat", "no operation costs less"));
    CHECK(has_fault(faults_with("{}"), "repeat.window", "this is needed"));
    CHECK(has_fault(faults_with("{}"), "repeat.capacity", "this is needed"));
    CHECK(has_fault(faults_with(R"({"window": "1s", "capacity": 15})"), "repeat.capacity", "16 to 1048576"));
    CHECK(has_fault(faults_with(R"({"window": "25h", "capacity": 16})"), "repeat.window", "1us to"));
    CHECK(has_fault(faults_with(R"({"window": "1s", "capacity": 16, "block": "3B"})"), "repeat.block",
                    "a power of two"));
}

TEST_CASE("a table within another file has its faults under that file's path") {
    Faults faults;
    (void)load_cost_table(json{{"name", "n"}}, faults, "appliances[2].cost");
    CHECK(has_fault(faults, "appliances[2].cost.unit", "this is needed"));
    (void)load_cost_table(json("text"), faults, "appliances[3].cost");
    CHECK(has_fault(faults, "appliances[3].cost", "an object"));
}

TEST_CASE("a file that is missing or is not JSON is refused") {
    const auto missing = read_cost_table("/nonexistent/costs.json");
    REQUIRE(std::holds_alternative<Faults>(missing));
    CHECK(std::get<Faults>(missing)[0].path == "/nonexistent/costs.json");
    CHECK(lines_of(table_faults("{")).find("this is not JSON") != std::string::npos);
    CHECK(has_fault(table_faults(R"({"name": "a", "name": "b"})"), "name", "duplicate key"));
}

TEST_CASE("the cost schema has the reader's keys and no others") {
    const json table = {{"name", "n"},
                        {"no_such_key", 1},
                        {"operations", {{"no_such_key", 1}}},
                        {"repeat", {{"no_such_key", 1}}}};
    const Faults faults = faults_in(table);
    const json& properties = schema()["properties"];
    CHECK(keys_beside(faults, "") == keys_of(properties));
    CHECK(keys_beside(faults, "operations.") == keys_of(properties["operations"]["properties"]));
    CHECK(keys_beside(faults, "repeat.") == keys_of(properties["repeat"]["properties"]));

    std::set<std::string> known;
    for (const json& shape : shapes())
        known.merge(keys_beside(faults_in(with_row(shape, "no_such_key", 1)), "operations.otherwise."));
    std::set<std::string> rows = keys_of(schema()["$defs"]["row"]["properties"]);
    rows.merge(keys_of(schema()["$defs"]["shape"]["properties"]));
    CHECK(known == rows);
}

TEST_CASE("the cost schema's bounds, words and examples are the reader's") {
    const json& tokens = schema()["$defs"]["tokens"];
    const json& properties = schema()["$defs"]["shape"]["properties"];
    for (const json& shape : shapes()) {
        const std::string path = "operations.otherwise.";
        INFO(shape.dump());
        CHECK(faults_in(with_row(shape, "key", tokens["maximum"])).empty());
        CHECK_FALSE(faults_in(with_row(shape, "key", tokens["maximum"].get<std::int64_t>() + 1)).empty());
        for (const auto& [key, value] : shape.items())
            for (const json& example : properties[key].value("examples", json::array()))
                CHECK(faults_in(with_row(shape, key, example)).empty());
    }
    const json& sizes = schema()["$defs"]["row"]["properties"]["size"]["enum"];
    CHECK(std::set<std::string>(sizes.begin(), sizes.end()) ==
          std::set<std::string>(kCountedSizeNames.begin(), kCountedSizeNames.end()));
    CHECK(schema()["$defs"]["points"]["maxItems"] == kCurvePointsMax);
    CHECK(schema()["$defs"]["shape"]["properties"]["shape"]["enum"].size() == shapes().size());
}
