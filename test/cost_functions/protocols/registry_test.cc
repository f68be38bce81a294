// registry_test.cc - the table of protocols: names, headers, and the documents that list them.
#include "cost_functions/protocols/registry.h"

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "test/support/catch.h"
#include "test/support/places.h"

using namespace weir;

namespace {

std::string contents(const std::string& name) {
    std::ifstream file(test::source_path(name));
    REQUIRE(file.is_open());
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::set<std::string> names() {
    std::set<std::string> all;
    for (const ProtocolEntry& entry : kProtocolEntries)
        all.emplace(entry.name);
    return all;
}

}  // namespace

TEST_CASE("every protocol is found by its name, and nothing by another") {
    static_assert(kProtocols.size() == kProtocolEntries.size());
    for (std::size_t i = 0; i < kProtocolEntries.size(); ++i) {
        CHECK(protocol_index(kProtocolEntries[i].name) == i);
        CHECK_FALSE(kProtocolEntries[i].summary.empty());
    }
    CHECK(names().size() == kProtocolEntries.size());
    CHECK(names().count("bytes") == 1);
    CHECK(protocol_index("") == std::nullopt);
    CHECK(protocol_index("gopher") == std::nullopt);
}

TEST_CASE("the header of every protocol fits a stream buffer") {
    for (std::size_t i = 0; i < kProtocols.size(); ++i) {
        INFO(kProtocolEntries[i].name);
        CHECK(kProtocols[i]->header_max >= 1);
        CHECK(kProtocols[i]->header_max <= kHeaderMax);
        CHECK(kProtocols[i]->request != nullptr);
        CHECK(kProtocols[i]->response != nullptr);
    }
}

TEST_CASE("the schema and default.jsonc list the protocols of the table and no others") {
    const auto schema = nlohmann::json::parse(contents("configs/schema/switch.schema.json"));
    const auto& words = schema["$defs"]["appliance"]["properties"]["protocol"]["enum"];
    CHECK(words.get<std::set<std::string>>() == names());

    const std::string text = contents("configs/default.jsonc");
    const std::size_t key = text.find("\"protocol\":");
    REQUIRE(key != std::string::npos);
    const std::size_t before = text.rfind("// [", key);
    std::set<std::string> listed;
    for (std::size_t at = text.find('"', before); at < key;) {
        const std::size_t end = text.find('"', at + 1);
        listed.insert(text.substr(at + 1, end - at - 1));
        at = text.find('"', end + 1);
    }
    CHECK(listed == names());
}

TEST_CASE("the page of cost_functions describes the protocols in the words of the table") {
    const std::string page = contents("cost_functions/README.md");
    for (const ProtocolEntry& entry : kProtocolEntries)
        CHECK(page.find("| `" + std::string(entry.name) + "` | " + std::string(entry.summary) + " |") !=
              std::string::npos);
}
