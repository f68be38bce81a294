// routes_test.cc - look-up of routes, arguments, and the table against configs/schema/openapi.json.
#include "ctrl/api/routes.h"

#include <algorithm>
#include <fstream>
#include <set>

#include "test/support/catch.h"
#include "test/support/places.h"

using namespace weir;
using nlohmann::json;

namespace {

std::string lower(std::string text) {
    std::ranges::transform(text, text.begin(), [](char sign) { return static_cast<char>(sign | 32); });
    return text;
}

const char* type_of(ValueKind kind) {
    switch (kind) {
        case ValueKind::kText:
            return "string";
        case ValueKind::kInteger:
            return "integer";
        case ValueKind::kFlag:
            return "boolean";
        case ValueKind::kObject:
            return "object";
    }
    return "";
}

/// "in name type required" of each argument.
std::set<std::string> arguments_in(const Route& route) {
    std::set<std::string> out;
    for (const Parameter& each : route.parameters) {
        const bool is_in_path =
            std::string_view(route.path).find('{' + std::string(each.name) + '}') != std::string_view::npos;
        const std::string place = is_in_path ? "path" : route.body_max != 0 ? "body" : "query";
        out.insert(place + ' ' + each.name + ' ' + type_of(each.kind) +
                   (each.is_required ? " required" : ""));
    }
    return out;
}

std::set<std::string> arguments_in(const json& operation) {
    std::set<std::string> out;
    for (const json& each : operation.value("parameters", json::array()))
        if (each.contains("in") && each["in"] != "header")
            out.insert(each["in"].get<std::string>() + ' ' + each["name"].get<std::string>() + ' ' +
                       each["schema"]["type"].get<std::string>() +
                       (each.value("required", false) ? " required" : ""));
    if (!operation.contains("requestBody"))
        return out;
    const json& schema = operation["requestBody"]["content"]["application/json"]["schema"];
    CHECK(schema["additionalProperties"] == false);
    const json needed = schema.value("required", json::array());
    for (const auto& [name, value] : schema["properties"].items())
        out.insert("body " + name + ' ' + value["type"].get<std::string>() +
                   (std::ranges::find(needed, json(name)) == needed.end() ? "" : " required"));
    return out;
}

json arguments(std::string_view method, const std::string& path,
               const std::vector<std::pair<std::string, std::string>>& query, std::string_view body,
               Faults& faults) {
    const Match match = find_route(method, path);
    REQUIRE(match.route != nullptr);
    return arguments_of(match, query, body, faults);
}

}  // namespace

TEST_CASE("the OpenAPI file has the routes of the table and no others") {
    std::ifstream file(test::source_path("configs/schema/openapi.json"));
    const json document = json::parse(file);
    CHECK(document["servers"][0]["url"] == kApiRoot);
    std::size_t described = 0;
    for (const auto& [path, operations] : document["paths"].items())
        described += operations.size();
    CHECK(described == routes().size());
    for (const Route& route : routes()) {
        INFO(route.method << ' ' << route.path);
        const json& operation = document["paths"][route.path][lower(route.method)];
        REQUIRE(operation.is_object());
        CHECK(operation["x-role"] == name_of(route.role));
        CHECK(operation["x-command"] == route.command);
        CHECK(operation["summary"] == route.phrase);
        CHECK(operation.contains("requestBody") == (route.body_max != 0));
        CHECK(arguments_in(operation) == arguments_in(route));
    }
}

TEST_CASE("only requests with a body change anything, and they need the role operate") {
    for (const Route& route : routes()) {
        INFO(route.method << ' ' << route.path);
        const bool changes = std::string_view(route.method) == "POST";
        CHECK(changes == (route.body_max != 0));
        CHECK(changes == (route.role == Role::kOperate));
    }
    CHECK(includes(Role::kOperate, Role::kView));
    CHECK_FALSE(includes(Role::kView, Role::kOperate));
}

TEST_CASE("a path has its methods and its values") {
    const Match host = find_route("GET", "/api/v1/hosts/h1");
    REQUIRE(host.route != nullptr);
    CHECK(host.values == std::vector<std::pair<std::string, std::string>>{{"name", "h1"}});
    CHECK(find_route("HEAD", "/api/v1/hosts").route != nullptr);
    const Match text = find_route("PUT", "/api/v1/specification");
    CHECK(text.route == nullptr);
    CHECK(text.methods == "GET, POST");
    for (const char* path :
         {"/api/v1", "/api/v1/", "/api/v1/hosts/", "/api/v1/hosts/h1/", "/api/v1/hosts//", "/api/v1hosts",
          "/api/v1/nothing", "/api/v2/hosts", "", "/", "//", "/api/v1/pools/p/reset/x"}) {
        INFO(path);
        CHECK(find_route("GET", path).methods.empty());
    }
}

TEST_CASE("arguments have the types of the table, and others are faults with the allowed ones") {
    Faults faults;
    CHECK(arguments("GET", "/api/v1/bill", {{"tenant", "A"}, {"from", "17"}, {"verify", "true"}}, "",
                    faults) == json{{"tenant", "A"}, {"from", 17}, {"verify", true}});
    CHECK(arguments("POST", "/api/v1/pools/p", {}, R"({"change": {"shares": 7}})", faults) ==
          json{{"name", "p"}, {"change", {{"shares", 7}}}});
    CHECK(faults.empty());
    const auto fault_of = [](std::string_view method, const std::string& path,
                             const std::vector<std::pair<std::string, std::string>>& query,
                             std::string_view body) {
        Faults found;
        (void)arguments(method, path, query, body, found);
        return found.empty() ? Fault{} : found.front();
    };
    CHECK(fault_of("GET", "/api/v1/bill", {{"form", "17"}}, "").allowed == "tenant, from, to, verify");
    CHECK(fault_of("GET", "/api/v1/bill", {{"from", "-1"}}, "").allowed == "a whole number");
    CHECK(fault_of("GET", "/api/v1/bill", {{"from", "1"}, {"from", "2"}}, "").allowed == "one value");
    CHECK(fault_of("GET", "/api/v1/bill", {{"verify", "yes"}}, "").allowed == "true or false");
    CHECK(fault_of("GET", "/api/v1/hosts/h1", {{"name", "h2"}}, "").path == "name");
    CHECK(fault_of("POST", "/api/v1/specification", {}, R"({"text": ""})").path == "base");
    CHECK(fault_of("POST", "/api/v1/specification", {{"base", "1"}}, R"({"text": "", "base": 1})").path ==
          "base");
    CHECK(fault_of("POST", "/api/v1/specification", {}, R"({"text": "", "base": 1, "via": "x"})").path ==
          "via");
    CHECK(fault_of("POST", "/api/v1/pools/p", {}, R"({"name": "q", "change": {}})").path == "name");
    for (const char* body :
         {"", "[]", "{", "\"text\"", "{\"change\": {}, \"change\": {}}", "\xff\xfe", "null"}) {
        INFO(body);
        CHECK_FALSE(fault_of("POST", "/api/v1/pools/p", {}, body).message.empty());
    }
    CHECK_FALSE(fault_of("POST", "/api/v1/pools/p", {}, std::string(200'000, '[')).message.empty());
}
