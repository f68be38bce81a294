// config_reader_test.cc - keys that were renamed, in the reader and in the schemas.
#include "common/config/config_reader.h"

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "test/support/catch.h"
#include "test/support/places.h"

using namespace weir;
using nlohmann::json;

namespace {

/// The faults of an object at `path` with the old key, read by a parser that knows the new one.
Faults faults_of(const RenamedKey& key, const std::string& path) {
    const json object{{std::string(key.old_name), 1}};
    Faults faults;
    ObjectReader reader(object, path, faults);
    (void)reader.take("another");
    (void)reader.take(key.new_name);
    reader.finish();
    return faults;
}

/// The section as a path, with an index in each list.
std::string path_in(const RenamedKey& key) {
    std::string path(key.section);
    for (std::size_t at = path.find("[]"); at != std::string::npos; at = path.find("[]"))
        path.replace(at, 2, "[12]");
    return path;
}

std::string text_of(const std::string& path) {
    std::ifstream stream(test::source_path(path));
    return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

TEST_CASE("the fault of every renamed key names the new key, in its section only") {
    for (const RenamedKey& key : kRenamedKeys) {
        INFO(key.section << ' ' << key.old_name);
        const Faults faults = faults_of(key, path_in(key));
        REQUIRE(faults.size() == 1);
        CHECK(faults[0].path.ends_with(key.old_name));
        CHECK(faults[0].message == "unknown key; it was renamed to \"" + std::string(key.new_name) + '"');
        const Faults elsewhere = faults_of(key, "elsewhere[0]");
        REQUIRE(elsewhere.size() == 1);
        CHECK(elsewhere[0].message.find("renamed") == std::string::npos);
    }
}

TEST_CASE(
    "a schema, or the page of what-if problems, has the new name of every renamed key, and no schema has the "
    "old one") {
    const std::string page = text_of("docs/what_if.md");
    for (const RenamedKey& key : kRenamedKeys) {
        INFO(key.section << ' ' << key.old_name);
        // Problems of `weirctl solve` have no schema.
        bool is_known = page.find("| `" + std::string(key.new_name) + "` |") != std::string::npos;
        for (const char* file : {"switch", "cluster", "scenario", "fleet_scenario"}) {
            const std::string schema = text_of("configs/schema/" + std::string(file) + ".schema.json");
            REQUIRE_FALSE(schema.empty());
            CHECK(schema.find('"' + std::string(key.old_name) + '"') == std::string::npos);
            is_known =
                is_known || schema.find('"' + std::string(key.new_name) + "\": {") != std::string::npos;
        }
        CHECK(is_known);
    }
}
