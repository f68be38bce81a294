// routes.h - the table of the HTTP API: which request is which command of the controller, and of which role.
// Source: docs/api.md. Threads: any (constants and pure functions).
//
// A reply is that of the command, as `weirctl --json` prints it. configs/schema/openapi.json describes the
// same table; a test compares the two.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/error.h"
#include "ctrl/api/token.h"

namespace weir {

inline constexpr std::string_view kApiRoot = "/api/v1";

enum class ValueKind : std::uint8_t { kText, kInteger, kFlag, kObject };

/// An argument of the command: of a GET in the query, of a POST in the body's object.
struct Parameter {
    const char* name;
    ValueKind kind;
    bool is_required = false;
};

/// How the answer is made.
enum class View : std::uint8_t {
    kReply,  ///< the command's reply
    // Of the reply to `status`:
    kHosts,
    kHost,
    kResources,
    // Of the specification in force:
    kTenants,
    kTenant,
    kVnics,
    kEvents  ///< a stream of the audit trail
};

struct Route {
    const char* method;
    const char* path;  ///< below kApiRoot; "{name}" is an argument
    Role role;
    const char* command;
    View view;
    std::span<const Parameter> parameters;
    std::size_t body_max;  ///< bytes; 0: it has none
    const char* phrase;
};

[[nodiscard]] std::span<const Route> routes();

struct Match {
    const Route* route = nullptr;  ///< null: no route has the path, or none has the method
    std::vector<std::pair<std::string, std::string>> values{};  ///< of the path
    std::string methods{};                                      ///< those of the path: "GET, POST"
};
/// @param path with kApiRoot
[[nodiscard]] Match find_route(std::string_view method, std::string_view path);

/// The arguments of the command.
/// @param body of a POST. Never throws on input @param faults outlives the call
[[nodiscard]] nlohmann::json arguments_of(const Match& match,
                                          const std::vector<std::pair<std::string, std::string>>& query,
                                          std::string_view body, Faults& faults);

}  // namespace weir
