// config_schema.h - comparison of a JSON schema with the parser that it describes.
// Threads: tests only.
#pragma once

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "test/support/catch.h"
#include "test/support/faults.h"

namespace weir::test {

inline std::string contents(const std::string& path) {
    std::ifstream file(path);
    REQUIRE(file.is_open());
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// One object of a file that people write.
struct SchemaSection {
    std::string path;                  ///< in faults; "" is the root
    const nlohmann::json& properties;  ///< in the schema
    /// Faults of an otherwise valid file with this member.
    std::function<Faults(const std::string& key, const nlohmann::json& value)> faults_with;

    [[nodiscard]] std::string path_of(const std::string& key) const {
        return path.empty() ? key : path + '.' + key;
    }
    /// The parser has no fault at this member.
    [[nodiscard]] bool accepts(const std::string& key, const nlohmann::json& value) const {
        return !has_fault(faults_with(key, value), path_of(key), "");
    }
    [[nodiscard]] std::set<std::string> schema_keys() const {
        std::set<std::string> keys;
        for (const auto& [key, property] : properties.items())
            keys.insert(key);
        return keys;
    }
    /// The parser's own: it lists them beside an unknown one.
    [[nodiscard]] std::set<std::string> parser_keys() const {
        const std::string unused = "no_such_key_anywhere";
        const Faults faults = faults_with(unused, 1);
        const auto unknown = std::find_if(faults.begin(), faults.end(),
                                          [&](const Fault& fault) { return fault.path == path_of(unused); });
        REQUIRE(unknown != faults.end());
        std::set<std::string> keys;
        std::istringstream list(unknown->allowed);
        for (std::string key; std::getline(list >> std::ws, key, ',');)
            keys.insert(key);
        return keys;
    }
};

/// The schema's words, examples and defaults are taken.
inline void check_values(const SchemaSection& section) {
    for (const auto& [key, property] : section.properties.items()) {
        INFO(section.path << " " << key);
        for (const char* list : {"enum", "examples"})
            for (const nlohmann::json& value : property.value(list, nlohmann::json::array()))
                CHECK(section.accepts(key, value));
        if (property.contains("default"))
            CHECK(section.accepts(key, property["default"]));
        if (property.contains("enum"))
            CHECK_FALSE(section.accepts(key, "no such word"));
    }
}

/// The schema's bounds of whole numbers are the parser's. `least_elsewhere`: a key whose least value needs
/// more of the file.
/// @return how many have bounds
inline std::size_t check_bounds(const SchemaSection& section, const std::string& least_elsewhere = "") {
    std::size_t bounded = 0;
    for (const auto& [key, property] : section.properties.items()) {
        if (!property.contains("minimum"))
            continue;
        INFO(section.path << " " << key);
        const std::int64_t min = property.at("minimum");
        const std::int64_t max = property.at("maximum");
        CHECK((section.accepts(key, min) || key == least_elsewhere));
        CHECK(section.accepts(key, max));
        CHECK_FALSE(section.accepts(key, min - 1));
        CHECK_FALSE(section.accepts(key, static_cast<std::uint64_t>(max) + 1));
        ++bounded;
    }
    return bounded;
}

}  // namespace weir::test
