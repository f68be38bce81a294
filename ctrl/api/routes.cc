// routes.cc - the table, its look-up, and arguments as values.
#include "ctrl/api/routes.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "common/config/json_text.h"
#include "common/control_socket.h"
#include "ctrl/config/cluster_config.h"

namespace weir {
namespace {

using nlohmann::json;
using enum ValueKind;

constexpr auto kSpecificationBytes = static_cast<std::size_t>(kRequestBytesMax);
constexpr std::size_t kChangeBytes = 64 * 1024;

constexpr std::array kAudit{Parameter{"last", kInteger}, Parameter{"since", kInteger},
                            Parameter{"changes", kFlag}};
constexpr std::array kBill{Parameter{"tenant", kText}, Parameter{"from", kInteger}, Parameter{"to", kInteger},
                           Parameter{"verify", kFlag}};
constexpr std::array kLast{Parameter{"last", kInteger}};
constexpr std::array kName{Parameter{"name", kText, true}};
constexpr std::array kRevision{Parameter{"revision", kInteger}};
constexpr std::array kRevisionOfPath{Parameter{"revision", kInteger, true}};
constexpr std::array kTenantOnly{Parameter{"tenant", kText}};
constexpr std::array kApply{Parameter{"text", kText, true}, Parameter{"base", kInteger, true},
                            Parameter{"dry_run", kFlag}, Parameter{"yes", kFlag}};
constexpr std::array kPoolSet{Parameter{"name", kText, true}, Parameter{"appliance", kText},
                              Parameter{"change", kObject, true}};
constexpr std::array kPoolReset{Parameter{"name", kText, true}, Parameter{"appliance", kText}};

// clang-format off
constexpr std::array kRoutes{
    Route{"GET", "/status", Role::kView, "status", View::kReply, {}, 0, "state of the controller and its hosts"},
    Route{"GET", "/hosts", Role::kView, "status", View::kHosts, {}, 0, "hosts with their links and vNICs"},
    Route{"GET", "/hosts/{name}", Role::kView, "status", View::kHost, kName, 0, "one host"},
    Route{"GET", "/resources", Role::kView, "status", View::kResources, {}, 0, "links of hosts, and appliances"},
    Route{"GET", "/allocation", Role::kView, "allocation", View::kReply, {}, 0, "rates of tenants, and users of resources, in the last interval"},
    Route{"GET", "/tenants", Role::kView, "specification", View::kTenants, {}, 0, "tenants of the specification"},
    Route{"GET", "/tenants/{name}", Role::kView, "specification", View::kTenant, kName, 0, "one tenant"},
    Route{"GET", "/vnics", Role::kView, "specification", View::kVnics, kTenantOnly, 0, "vNICs of the specification, of all tenants or of one"},
    Route{"GET", "/vnics/{name}", Role::kView, "why", View::kReply, kName, 0, "one vNIC: its host, flows, and the resources that hold it back"},
    Route{"GET", "/pools", Role::kView, "pool.show", View::kReply, {}, 0, "pools with demand and entitlement"},
    Route{"POST", "/pools/{name}", Role::kOperate, "pool.set", View::kReply, kPoolSet, kChangeBytes, "change a pool until it is reset"},
    Route{"POST", "/pools/{name}/reset", Role::kOperate, "pool.reset", View::kReply, kPoolReset, kChangeBytes, "return a pool to the specification"},
    Route{"GET", "/bill", Role::kView, "bill", View::kReply, kBill, 0, "guaranteed, delivered and charged"},
    Route{"GET", "/specification", Role::kView, "specification", View::kReply, {}, 0, "text of the specification in force"},
    Route{"POST", "/specification", Role::kOperate, "apply", View::kReply, kApply, kSpecificationBytes, "make a text the next revision, or show its effect"},
    Route{"GET", "/revisions", Role::kView, "history", View::kReply, kLast, 0, "revisions of the specification"},
    Route{"GET", "/revisions/{revision}", Role::kView, "specification", View::kReply, kRevisionOfPath, 0, "text of one revision"},
    Route{"GET", "/observed", Role::kView, "observed", View::kReply, kRevision, 0, "hosts that have not confirmed a revision"},
    Route{"GET", "/audit", Role::kView, "audit", View::kReply, kAudit, 0, "the last entries of the audit trail"},
    Route{"GET", "/events", Role::kView, "audit", View::kEvents, {}, 0, "new entries of the audit trail as server-sent events"}};
// clang-format on

std::string_view take_part(std::string_view& path) {
    path.remove_prefix(1);  // the slash
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, end);
    path.remove_prefix(end);
    return part;
}

bool matches(std::string_view pattern, std::string_view path,
             std::vector<std::pair<std::string, std::string>>& values) {
    while (!pattern.empty() && !path.empty() && path.front() == '/') {
        const std::string_view stated = take_part(pattern);
        const std::string_view found = take_part(path);
        if (stated.starts_with('{')) {
            if (found.empty())
                return false;
            values.emplace_back(stated.substr(1, stated.size() - 2), found);
        } else if (stated != found) {
            return false;
        }
    }
    return pattern.empty() && path.empty();
}

const Parameter* find_parameter(const Route& route, std::string_view name) {
    const auto found = std::ranges::find_if(
        route.parameters, [name](const Parameter& parameter) { return name == parameter.name; });
    return found == route.parameters.end() ? nullptr : &*found;
}

std::string names_of(const Route& route) {
    std::string names;
    for (const Parameter& parameter : route.parameters)
        names += (names.empty() ? "" : ", ") + std::string(parameter.name);
    return names.empty() ? "none" : names;
}

/// A value of a query or a path.
std::optional<json> value_of(ValueKind kind, const std::string& text) {
    if (kind == kText)
        return text;
    if (kind == kFlag && (text == "true" || text == "false"))
        return text == "true";
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (kind == kInteger && error == std::errc() && end == text.data() + text.size())
        return number;
    return {};
}

void add_text(const Route& route, const std::string& name, const std::string& text, json& out,
              Faults& faults) {
    const Parameter* parameter = find_parameter(route, name);
    if (parameter == nullptr) {
        faults.push_back({name, text, names_of(route), "the request has no such parameter"});
        return;
    }
    if (out.contains(name)) {
        faults.push_back({name, text, "one value", "it is given twice"});
        return;
    }
    if (auto value = value_of(parameter->kind, text))
        out[name] = std::move(*value);
    else
        faults.push_back({name, text, parameter->kind == kFlag ? "true or false" : "a whole number", ""});
}

void add_body(const Route& route, std::string_view body, json& out, Faults& faults) {
    JsonText text = read_json_text(body, {.bytes = route.body_max, .values = kClusterBounds.values});
    if (!text.faults.empty()) {
        faults = std::move(text.faults);
        return;
    }
    if (!text.value.is_object()) {
        faults.push_back({"", "", "a JSON object with " + names_of(route), "the body is none"});
        return;
    }
    for (const auto& [key, value] : text.value.items())
        if (find_parameter(route, key) == nullptr || out.contains(key))
            faults.push_back({key, "", names_of(route), "the body of this request has no such key"});
        else
            out[key] = value;
}

}  // namespace

std::span<const Route> routes() {
    return kRoutes;
}

Match find_route(std::string_view method, std::string_view path) {
    Match match;
    if (!path.starts_with(kApiRoot))
        return match;
    path.remove_prefix(kApiRoot.size());
    for (const Route& route : kRoutes) {
        std::vector<std::pair<std::string, std::string>> values;
        if (!matches(route.path, path, values))
            continue;
        match.methods += (match.methods.empty() ? "" : ", ") + std::string(route.method);
        if (method == route.method || (method == "HEAD" && std::string_view(route.method) == "GET")) {
            match.route = &route;
            match.values = std::move(values);
        }
    }
    return match;
}

json arguments_of(const Match& match, const std::vector<std::pair<std::string, std::string>>& query,
                  std::string_view body, Faults& faults) {
    const Route& route = *match.route;
    json out = json::object();
    for (const auto& [name, text] : match.values)
        add_text(route, name, text, out, faults);
    if (route.body_max != 0) {
        add_body(route, body, out, faults);
        for (const auto& [name, text] : query)
            faults.push_back({name, text, "none", "arguments of a change stand in the body"});
    } else {
        for (const auto& [name, text] : query)
            add_text(route, name, text, out, faults);
    }
    for (const Parameter& parameter : route.parameters)
        if (faults.empty() && parameter.is_required && !out.contains(parameter.name))
            faults.push_back({parameter.name, "nothing", "a value", "it is missing"});
    return out;
}

}  // namespace weir
